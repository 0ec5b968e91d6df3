#pragma once

#include "http/error.h"

namespace berth::kube {

using berth::Error;
using berth::ErrorClass;
using berth::Result;
using berth::Terminal;

}  // namespace berth::kube
