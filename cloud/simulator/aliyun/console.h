#pragma once

#include <string>

#include "cloud/simulator/aliyun/cloud.h"
#include "cloud/simulator/console.h"
#include "http/transport.h"

// The parts of OutOfBand.
namespace berth::cloud::simulator {

// Of ECS and EFLO, and what they need. `id` is the rest of the path; empty for the whole list. A
// body that is no JSON, or of other types than it should be, throws JsonError.
http::Response OnInstances(Cloud& cloud, const http::Request& request, const std::string& id);
http::Response OnEnis(Cloud& cloud, const http::Request& request, const std::string& id);
http::Response OnVSwitches(Cloud& cloud, const http::Request& request);
http::Response OnFaults(Cloud& cloud, const http::Request& request);

}  // namespace berth::cloud::simulator
