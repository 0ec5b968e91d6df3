#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "json/json.h"
#include "kube/error.h"
#include "kube/json_view.h"
#include "kube/status.h"

// AdmissionReview admission.k8s.io/v1, in and out.
namespace berth::admission {

enum class Operation : std::uint8_t { kCreate, kUpdate, kDelete, kConnect };

std::string_view Name(Operation operation);

// The parts of a review that handlers read. Views into the parsed body: valid until the handler
// returns, so a handler that answers later copies what it keeps.
struct Request {
  std::string_view uid;
  std::string_view group;
  std::string_view resource;
  std::string_view sub_resource;
  std::string_view ns;
  std::string_view name;  // empty on a create with generateName
  Operation operation = Operation::kCreate;
  bool dry_run = false;
  std::string_view user;      // the name of who asks
  kube::JsonView object;      // absent on delete
  kube::JsonView old_object;  // absent on create
};

// A handler's verdict. Allow unless Deny was called.
class Response {
 public:
  static Response Allow() { return {}; }
  // The message is cut at 8 KiB; of causes the first 64 are told, 1 KiB of each.
  static Response Deny(kube::Status status);

  // One JSON Patch operation; `path` is a JSON pointer whose parent exists. Meaningless in a
  // validating webhook.
  Response& Add(const std::string& path, Json value);
  Response& Replace(const std::string& path, Json value);
  Response& Remove(const std::string& path);

  // Shown to the user by kubectl. What exceeds 4,096 bytes in all is cut to 256, or dropped.
  Response& Warn(std::string_view text);
  Response& Audit(std::string key, std::string value);

  bool allowed() const { return allowed_; }

  // The whole AdmissionReview that answers `uid`.
  std::string ToJson(std::string_view uid) const;

 private:
  void Patch(std::string_view operation, std::string_view path, const Json* value);

  bool allowed_ = true;
  kube::Status status_;
  std::string patch_;  // the operations, as JSON without the brackets
  std::vector<std::string> warnings_;
  std::size_t warning_bytes_ = 0;
  std::vector<std::pair<std::string, std::string>> audit_;
};

// Fails with a sentence that says what is missing or wrong. O(size of the parsed review's top
// levels).
kube::Result<Request> Decode(kube::JsonView review);

}  // namespace berth::admission
