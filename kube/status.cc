#include "kube/status.h"

#include <algorithm>

#include "kube/json_view.h"
#include "log/escape.h"
#include "log/format.h"

namespace berth::kube {
namespace {

constexpr std::size_t kMaxMessage = 4096;
constexpr std::size_t kMaxForeignText = 200;
constexpr std::chrono::seconds kMaxRetryAfter{3600};

// Writes the members of one JSON object, skipping empty ones as Go's omitempty does.
class Members {
 public:
  explicit Members(std::string& out) : out_(out) { out_ += '{'; }
  void End() { out_ += '}'; }

  void Text(std::string_view key, std::string_view value) {
    if (value.empty()) return;
    Key(key);
    out_ += '"';
    log::AppendEscaped(out_, value);
    out_ += '"';
  }
  void Number(std::string_view key, std::int64_t value) {
    if (value == 0) return;
    Key(key);
    out_ += std::to_string(value);
  }
  void Key(std::string_view key) {
    if (!first_) out_ += ',';
    first_ = false;
    out_ += '"';
    out_ += key;
    out_ += "\":";
  }

 private:
  std::string& out_;
  bool first_ = true;
};

bool IsEmpty(const StatusDetails& details) {
  return details.name.empty() && details.group.empty() && details.kind.empty() &&
         details.uid.empty() && details.causes.empty() && details.retry_after_seconds == 0;
}

void AppendCauses(std::string& out, const std::vector<StatusCause>& causes) {
  out += '[';
  for (std::size_t i = 0; i < causes.size(); ++i) {
    if (i > 0) out += ',';
    Members members(out);
    members.Text("reason", causes[i].reason);
    members.Text("message", causes[i].message);
    members.Text("field", causes[i].field);
    members.End();
  }
  out += ']';
}

void AppendDetails(std::string& out, const StatusDetails& details) {
  Members members(out);
  members.Text("name", details.name);
  members.Text("group", details.group);
  members.Text("kind", details.kind);
  members.Text("uid", details.uid);
  if (!details.causes.empty()) {
    members.Key("causes");
    AppendCauses(out, details.causes);
  }
  members.Number("retryAfterSeconds", details.retry_after_seconds);
  members.End();
}

// "workqueues.live.berth.dev", or the name alone in the core group.
std::string Qualified(std::string_view what, std::string_view group) {
  return group.empty() ? std::string(what) : Format("{}.{}", what, group);
}

std::string Quoted(std::string_view text) {
  std::string out = "\"";
  log::AppendEscaped(out, text);
  out += '"';
  return out;
}

Status About(int code, std::string reason, std::string_view group, std::string_view plural,
             std::string_view name, std::string message) {
  Status status{code, std::move(reason), std::move(message), {}};
  status.details.name = name;
  status.details.group = group;
  status.details.kind = plural;
  return status;
}

// The causes in one line: alone, or several in brackets without repetition. O(causes²): they are
// at most kMaxCauses.
std::string InOneLine(const std::vector<StatusCause>& causes, std::size_t more) {
  std::vector<std::string> lines;
  for (const auto& cause : causes) {
    std::string line =
        cause.field.empty() ? cause.message : Format("{}: {}", cause.field, cause.message);
    if (std::ranges::find(lines, line) == lines.end()) lines.push_back(std::move(line));
  }
  if (more > 0) lines.push_back(Format("and {} more", more));
  if (lines.size() == 1) return lines.front();
  std::string out = "[";
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) out += ", ";
    out += lines[i];
  }
  return out + "]";
}

}  // namespace

std::string ToJson(const Status& status) {
  const bool success = status.code >= 200 && status.code < 300;
  std::string out;
  Members members(out);
  members.Text("kind", "Status");
  members.Text("apiVersion", "v1");
  members.Key("metadata");
  Members metadata(out);
  metadata.Text("continue", status.continue_token);
  metadata.End();
  members.Text("status", success ? "Success" : "Failure");
  members.Text("message", status.message);
  members.Text("reason", status.reason);
  if (!IsEmpty(status.details)) {
    members.Key("details");
    AppendDetails(out, status.details);
  }
  if (!success) members.Number("code", status.code);
  members.End();
  return out;
}

Status Success(StatusDetails details) { return {200, {}, {}, std::move(details), {}}; }

Status BadRequest(std::string message) { return {400, "BadRequest", std::move(message), {}}; }

Status Unauthorized() { return {401, "Unauthorized", "Unauthorized", {}}; }

Status Forbidden(std::string_view group, std::string_view plural, std::string_view name,
                 std::string_view why) {
  std::string message;
  if (plural.empty()) {
    message = Format("forbidden: {}", why);
  } else if (name.empty()) {
    message = Format("{} is forbidden: {}", Qualified(plural, group), why);
  } else {
    message = Format("{} {} is forbidden: {}", Qualified(plural, group), Quoted(name), why);
  }
  return About(403, "Forbidden", group, plural, name, std::move(message));
}

Status NotFound(std::string_view group, std::string_view plural, std::string_view name) {
  return About(404, "NotFound", group, plural, name,
               Format("{} {} not found", Qualified(plural, group), Quoted(name)));
}

Status AlreadyExists(std::string_view group, std::string_view plural, std::string_view name) {
  return About(409, "AlreadyExists", group, plural, name,
               Format("{} {} already exists", Qualified(plural, group), Quoted(name)));
}

Status Conflict(std::string_view group, std::string_view plural, std::string_view name,
                std::string_view why) {
  return About(409, "Conflict", group, plural, name,
               Format("Operation cannot be fulfilled on {} {}: {}", Qualified(plural, group),
                      Quoted(name), why));
}

Status Invalid(std::string_view kind, std::string_view group, std::string_view name,
               std::vector<StatusCause> causes, std::size_t more) {
  if (causes.size() > kMaxCauses) {
    more += causes.size() - kMaxCauses;
    causes.resize(kMaxCauses);
  }
  Status status = About(422, "Invalid", group, kind, name,
                        Format("{} {} is invalid", Qualified(kind, group), Quoted(name)));
  if (!causes.empty()) status.message += ": " + InOneLine(causes, more);
  status.details.causes = std::move(causes);
  return status;
}

Status MethodNotAllowed(std::string_view group, std::string_view plural, std::string_view verb) {
  return About(405, "MethodNotAllowed", group, plural, {},
               Format("{} is not supported on resources of kind {}", verb,
                      Quoted(Qualified(plural, group))));
}

Status NotAcceptable(std::string_view accepted_types) {
  return {406,
          "NotAcceptable",
          Format("only the following media types are accepted: {}", accepted_types),
          {}};
}

Status UnsupportedMediaType(std::string_view accepted_types) {
  return {415,
          "UnsupportedMediaType",
          Format("the body of the request was in an unknown format - accepted media types "
                 "include: {}",
                 accepted_types),
          {}};
}

Status RequestEntityTooLarge(std::size_t limit_bytes) {
  return {413,
          "RequestEntityTooLarge",
          Format("Request entity is too large: limit is {}", limit_bytes),
          {}};
}

Status TooManyRequests(int retry_after_seconds) {
  Status status{429, "TooManyRequests", "Too many requests, please try again later.", {}};
  status.details.retry_after_seconds = retry_after_seconds;
  return status;
}

Status Expired(std::string message) { return {410, "Expired", std::move(message), {}}; }

Status InternalError(std::string_view why) {
  Status status{500, "InternalError", Format("Internal error occurred: {}", why), {}};
  status.details.causes.push_back({{}, std::string(why), {}});
  return status;
}

Status ServiceUnavailable(std::string message) {
  return {503, "ServiceUnavailable", std::move(message), {}};
}

namespace {

// Whether the request may have been carried out although the answer says it failed.
bool IsOpen(const Error& error) {
  if (error.code == 408 || error.code == 502 || error.code == 504) return true;
  if (error.reason == "Timeout" || error.reason == "ServerTimeout") return true;
  // etcd's "request timed out" and "leader changed" reach clients as a plain 500.
  return error.code == 500 && error.message.contains("etcdserver:");
}

// kube-apiserver's words for a webhook that said no: admission webhook "NAME" denied the request.
bool IsDenial(std::string_view message) {
  return message.starts_with("admission webhook \"") && message.contains("\" denied the request");
}

ErrorClass Classify(const Error& error, bool write) {
  if (IsDenial(error.message)) return ErrorClass::kTerminal;
  if (write && IsOpen(error)) return ErrorClass::kAmbiguous;
  switch (error.code) {
    case 404:
      return ErrorClass::kNotFound;
    case 408:
      return ErrorClass::kRetry;
    case 409:
      return error.reason == "AlreadyExists" ? ErrorClass::kTerminal : ErrorClass::kConflict;
    case 429:
      return ErrorClass::kThrottled;
    default:
      return error.code >= 500 ? ErrorClass::kRetry : ErrorClass::kTerminal;
  }
}

std::string WithoutStatus(int http_code, std::string_view body) {
  if (http_code >= 300 && http_code < 400) {
    return Format("the API server answered {}: redirects are not followed", http_code);
  }
  const std::size_t end = body.find_last_not_of(" \r\n\t");
  body = body.substr(0, end == std::string_view::npos ? 0 : end + 1);
  if (body.empty()) return Format("the API server answered {} without a reason", http_code);
  return Format("the API server answered {}: {}", http_code, log::Prefix(body, kMaxForeignText));
}

}  // namespace

Error ErrorFromStatus(int http_code, std::string_view body, std::chrono::seconds retry_after,
                      bool write) {
  Error error;
  error.code = http_code;
  JsonDocument document;
  const JsonView status = document.Parse(body).value_or(JsonView());
  if (status["kind"].StringOr("") == "Status") {
    error.reason = status["reason"].StringOr("");
    error.message = log::Prefix(status["message"].StringOr(""), kMaxMessage);
    if (retry_after.count() <= 0) {
      retry_after = std::chrono::seconds(status["details"]["retryAfterSeconds"].Int().value_or(0));
    }
  }
  if (IsDenial(error.message)) {
    error.code = 403;
    error.reason = "Forbidden";
  }
  if (error.message.empty()) error.message = WithoutStatus(http_code, body);
  error.retry_after = std::clamp(retry_after, std::chrono::seconds(0), kMaxRetryAfter);
  error.error_class = Classify(error, write);
  return error;
}

}  // namespace berth::kube
