#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>

#include "kube/request_target.h"
#include "kube/status.h"

// The options of gets, lists and watches, read and refused as kube-apiserver does it.
namespace berth::kube {

// `limit`; 0 for none, and for one below 0.
std::expected<std::size_t, Status> ReadLimit(const RequestTarget& target);

// `resourceVersion`; none when it is absent or empty. The error is the text that kube-apiserver
// has for it: a list is refused with 400 for it (NotAListVersion), anything else with 500
// (NotAVersion).
std::expected<std::optional<std::uint64_t>, std::string> ReadVersion(const RequestTarget& target);
Status NotAListVersion(const std::string& problem);
Status NotAVersion(const std::string& problem);

// A version from the future: the client may have spoken with a replica that is ahead.
Status TooLargeVersion(std::uint64_t asked, std::uint64_t current);

// Which of `resourceVersionMatch`, `resourceVersion`, `continue` and `sendInitialEvents` go
// together.
std::expected<void, Status> CheckListMatch(const RequestTarget& target);
std::expected<void, Status> CheckWatchMatch(const RequestTarget& target);
// A continued list has the version that it began with.
std::expected<void, Status> CheckContinue(const RequestTarget& target);

}  // namespace berth::kube
