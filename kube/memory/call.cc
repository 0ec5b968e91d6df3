#include "kube/memory/call.h"

#include <charconv>

#include "kube/memory/body.h"
#include "log/format.h"

namespace berth::kube::memory {
namespace {

std::string_view OptionsKind(Method method) {
  switch (method) {
    case Method::kPost:
      return "CreateOptions";
    case Method::kPut:
      return "UpdateOptions";
    case Method::kPatch:
      return "PatchOptions";
    case Method::kDelete:
      return "DeleteOptions";
    case Method::kGet:
      break;
  }
  return "ListOptions";
}

Status Unsupported(Method method, std::string field, std::string_view value,
                   std::string_view supported) {
  return Invalid(OptionsKind(method), "meta.k8s.io", "",
                 {{"FieldValueNotSupported",
                   Format("Unsupported value: {}: supported values: {}", value, supported),
                   std::move(field)}});
}

// Media types that kube-apiserver answers in and the server in memory does not.
bool IsOnlyMissingHere(std::string_view accept) {
  return accept.contains("application/yaml") ||
         accept.contains("application/vnd.kubernetes.protobuf");
}

bool IsList(const Call& call) { return call.method == Method::kGet && call.name.empty(); }

// As kube-apiserver's code has it: core.ConfigMap.
std::string GoType(const Resource& resource) {
  if (resource.custom) return "unstructured.Unstructured";
  const std::string& group = resource.group;
  return (group.empty() ? "core" : group.substr(0, group.find('.'))) + "." + resource.kind;
}

// Metadata of an object was asked for and there is a list, or the other way round.
std::optional<Status> WrongPartial(const Request& request, const Call& call) {
  const bool list = IsList(call);
  const bool asked_list = request.accept.contains("as=PartialObjectMetadataList");
  if (call.form.kind != Form::Kind::kPartial || list == asked_list || call.target.Flag("watch"))
    return std::nullopt;
  if (call.resource().custom && !list) return Unexpected("content is not a list");
  return Status{
      406,
      "NotAcceptable",
      Format("you requested PartialObjectMetadata{}, but the requested object is {} (*{}{})",
             asked_list ? "List" : "", list ? "a list" : "not a list", GoType(call.resource()),
             list ? "List" : ""),
      {}};
}

Outcome<void> ReadForm(const Request& request, Call& call) {
  const auto kind = NegotiateForm(request.accept);
  if (!kind) {
    if (IsOnlyMissingHere(request.accept))
      return std::unexpected(
          NotAcceptable("application/json (the API server in memory has no other)"));
    const bool unknown_form = request.accept.contains("as=");
    if (call.resource().custom || unknown_form) return std::unexpected(NotAcceptable(kBodyTypes));
    const std::string_view streams =
        ", application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch";
    return std::unexpected(Status{406,
                                  "NotAcceptable",
                                  Format("406: Not Acceptable\n\nAvailable representations: {}{}",
                                         kBodyTypes, IsList(call) ? streams : ""),
                                  {}});
  }
  call.form.kind = *kind;
  if (auto wrong = WrongPartial(request, call)) return std::unexpected(std::move(*wrong));
  const std::string_view include = call.target.Parameter("includeObject");
  if (include == "None") {
    call.form.include = IncludeObject::kNone;
  } else if (include == "Object") {
    call.form.include = IncludeObject::kObject;
  } else if (!include.empty() && include != "Metadata" && *kind == Form::Kind::kTable) {
    return std::unexpected(
        BadRequest(Format("Unable to convert to Table as requested: includeObject: Invalid value: "
                          "\"{}\": must be 'Metadata', 'Object', 'None', or empty",
                          include)));
  }
  return {};
}

Outcome<void> ReadWriteOptions(Call& call) {
  const std::string_view dry_run = call.target.Parameter("dryRun");
  call.dry_run = dry_run == "All";
  if (!dry_run.empty() && !call.dry_run)
    return std::unexpected(
        Unsupported(call.method, "dryRun", Format("[\"{}\"]", dry_run), "\"All\""));
  const std::string_view validation = call.target.Parameter("fieldValidation");
  if (!validation.empty() && validation != "Ignore" && validation != "Warn" &&
      validation != "Strict") {
    return std::unexpected(Unsupported(call.method, "fieldValidation", Format("\"{}\"", validation),
                                       R"("", "Ignore", "Strict", "Warn")"));
  }
  return {};
}

// A parameter that Go reads as an int64.
Outcome<void> CheckNumber(const Call& call, std::string_view name) {
  const std::string_view text = call.target.Parameter(name);
  if (text.empty()) return {};
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size()) return {};
  return std::unexpected(BadRequest(
      Format("strconv.ParseInt: parsing \"{}\": {}", text,
             error == std::errc::result_out_of_range ? "value out of range" : "invalid syntax")));
}

Outcome<void> CheckNumbers(const Call& call) {
  if (call.method == Method::kDelete) {
    if (auto fine = CheckNumber(call, "gracePeriodSeconds"); !fine) return fine;
  }
  const bool collection = call.name.empty() && call.method != Method::kPost;
  return collection ? CheckNumber(call, "timeoutSeconds") : Outcome<void>();
}

Outcome<void> CheckForce(const Call& call) {
  if (call.method != Method::kPatch || call.target.Count("force") == 0 ||
      call.content_type.starts_with("application/apply-patch"))
    return {};
  return std::unexpected(Invalid(
      "PatchOptions", "meta.k8s.io", "",
      {{"FieldValueForbidden", "Forbidden: may not be specified for non-apply patch", "force"}}));
}

// Patches have types of their own.
Outcome<void> CheckBodyType(const Call& call) {
  if (call.method == Method::kPatch || (call.method == Method::kDelete && call.body.empty()))
    return {};
  if (!IsBodyType(call.content_type)) return std::unexpected(UnsupportedMediaType(kBodyTypes));
  // kube-apiserver 1.36 says that it takes it, and panics.
  if (call.method != Method::kDelete && call.resource().custom && IsProtobuf(call.content_type))
    return std::unexpected(UnsupportedMediaType(kCustomBodyTypes));
  return {};
}

// Where the path leads to nothing, and what cannot be done there. Custom resources are served by
// other code than built-in ones, and the two refuse in different words.
std::optional<Response> Misplaced(const Call& call, bool deeper) {
  const Resource& resource = call.resource();
  const bool scoped = !call.ns.empty();
  const bool across = resource.namespaced && !scoped;
  if (deeper || (scoped && !resource.namespaced) ||
      (across && (!call.name.empty() || (resource.custom && call.method != Method::kGet))))
    return resource.custom ? NoSuchPage() : NoSuchResource();
  if (!call.subresource.empty() && (call.subresource != "status" || !call.view.version->has_status))
    return resource.custom ? Answer(NotFoundHere(call)) : NoSuchResource();
  const bool on_item = !call.name.empty();
  if (!call.subresource.empty() &&
      (call.method == Method::kPost || call.method == Method::kDelete)) {
    if (!resource.custom) return NoSuchMethod();
    return Answer(MethodNotAllowed(resource.group, resource.plural,
                                   call.method == Method::kPost ? "create" : "delete"));
  }
  const bool needs_item = call.method == Method::kPut || call.method == Method::kPatch;
  if (resource.custom)
    return needs_item && !on_item ? std::optional(Answer(BadRequest("name must be provided")))
                                  : std::nullopt;
  const bool collection_delete = call.method == Method::kDelete && !on_item;
  if ((needs_item && !on_item) || (call.method == Method::kPost && (on_item || across)) ||
      (collection_delete && (across || !resource.deletes_collection)))
    return NoSuchMethod();
  return std::nullopt;
}

}  // namespace

Response Answer(const Status& status) {
  Response response(status.code, ToJson(status));
  response.retry_after = status.details.retry_after_seconds;
  return response;
}

Response Plain(std::string text, int code) {
  Response response(code, std::move(text));
  response.content_type = "text/plain; charset=utf-8";
  return response;
}

Status NotFoundHere(const Call& call) {
  return NotFound(call.resource().group, call.resource().plural, call.name);
}

Status ConflictHere(const Call& call, std::string_view why) {
  return Conflict(call.resource().group, call.resource().plural, call.name, why);
}

Status InvalidHere(const Call& call, const Value& object, Causes causes) {
  return Invalid(TextAt(object, "kind"), call.resource().group, TextAt(object, "metadata", "name"),
                 std::move(causes));
}

Status Unexpected(std::string message) { return {500, "", std::move(message), {}}; }

Response NoSuchPage() { return Plain("404 page not found\n", 404); }

Response NoSuchResource() {
  return Answer({404, "NotFound", "the server could not find the requested resource", {}});
}

Response NoSuchMethod() {
  return Answer({405,
                 "MethodNotAllowed",
                 "the server does not allow this method on the requested resource",
                 {}});
}

std::optional<ResourcePath> ReadPath(const RequestTarget& target) {
  const auto& parts = target.path;
  ResourcePath path;
  std::size_t at = 0;
  if (parts.size() > 2 && parts[0] == "api") {
    path.version = parts[1];
    at = 2;
  } else if (parts.size() > 3 && parts[0] == "apis") {
    path.group = parts[1];
    path.version = parts[2];
    at = 3;
  } else {
    return std::nullopt;
  }
  if (parts[at] == "namespaces" && parts.size() > at + 2) {
    // A namespace has subresources of its own; any other third part is a resource inside it.
    const std::string& third = parts[at + 2];
    if (third != "status" && third != "finalize") {
      path.ns = parts[at + 1];
      at += 2;
    }
  }
  path.plural = parts[at];
  if (parts.size() > at + 1) path.name = parts[at + 1];
  if (parts.size() > at + 2) path.subresource = parts[at + 2];
  path.deeper = parts.size() > at + 3;
  return path;
}

std::expected<Call, Response> ReadCall(const Request& request, RequestTarget target, View view,
                                       ResourcePath path) {
  Call call;
  call.method = request.method;
  call.view = std::move(view);
  call.ns = std::move(path.ns);
  call.name = std::move(path.name);
  call.subresource = std::move(path.subresource);
  call.target = std::move(target);
  call.body = request.body;
  call.content_type = request.content_type.substr(0, request.content_type.find(';'));
  if (auto refused = Misplaced(call, path.deeper)) return std::unexpected(std::move(*refused));
  if (auto fine = ReadForm(request, call); !fine) return std::unexpected(Answer(fine.error()));
  if (auto fine = CheckNumbers(call); !fine) return std::unexpected(Answer(fine.error()));
  if (call.method != Method::kGet) {
    if (auto fine = CheckForce(call); !fine) return std::unexpected(Answer(fine.error()));
    if (auto fine = ReadWriteOptions(call); !fine) return std::unexpected(Answer(fine.error()));
    if (auto fine = CheckBodyType(call); !fine) return std::unexpected(Answer(fine.error()));
  }
  return call;
}

}  // namespace berth::kube::memory
