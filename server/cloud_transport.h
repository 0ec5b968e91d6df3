#pragma once

#include <filesystem>
#include <memory>

#include "async/executor.h"
#include "http/client.h"
#include "http/transport.h"

namespace berth::server {

// The way to a cloud over HTTPS. It trusts the CA in the file; without a file the system's CAs.
// kTerminal when the file cannot be read. Executor and client outlive it.
Result<std::unique_ptr<http::Transport>> OpenCloudTransport(async::Executor& executor,
                                                            http::Client& client,
                                                            const std::filesystem::path& ca_file);

}  // namespace berth::server
