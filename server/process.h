#pragma once

#include <string>

#include "kube/error.h"

// Work on the process that every command with a server does.
namespace berth::server {

// Logs as told; SIGTERM and SIGINT for AwaitSignal alone; as many descriptors as the system allows;
// large blocks of memory are given back as soon as they are free.
// Before any thread is made.
void SetUpProcess(const std::string& log_format, const std::string& log_level);

// Waits for SIGTERM or SIGINT, and logs it.
void AwaitSignal();

// Says why, and gives the exit status.
int CannotStart(const kube::Error& error);

// Gives free pages of the heap back, after a burst. Takes milliseconds. From any thread.
void ReleaseFreeMemory();

// Gives memory back that only the start needed: free pages of the heap, and resident pages of the
// program and its libraries that were never written, of which most are symbols and code that will
// not be used again. A page that is used again comes back from the page cache, by a minor fault.
// Once, when all has been started. From any thread.
void ReleaseStartupMemory();

}  // namespace berth::server
