#pragma once

#include <string>

#include "kube/error.h"

// What every command that runs a server does with its process.
namespace berth::server {

// Logs as told; SIGTERM and SIGINT for AwaitSignal alone; as many descriptors as the system allows.
// Before any thread is made.
void SetUpProcess(const std::string& log_format, const std::string& log_level);

// Waits for SIGTERM or SIGINT, and logs it.
void AwaitSignal();

// Says why, and gives the exit status.
int CannotStart(const kube::Error& error);

}  // namespace berth::server
