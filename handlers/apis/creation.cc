#include "handlers/apis/creation.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <random>
#include <unordered_set>

#include "handlers/http.h"
#include "kube/age.h"
#include "kube/names.h"
#include "log/escape.h"
#include "log/format.h"

namespace berth::apis {
namespace {

constexpr std::size_t kMostOfABody = 3 * 1024 * 1024;  // as kube-apiserver's
constexpr std::size_t kMostProblems = 100;             // as kube-apiserver's decoder
constexpr std::size_t kMostOfAValue = 256;
constexpr std::array<std::string_view, 15> kMetadata = {"annotations",
                                                        "creationTimestamp",
                                                        "deletionGracePeriodSeconds",
                                                        "deletionTimestamp",
                                                        "finalizers",
                                                        "generateName",
                                                        "generation",
                                                        "labels",
                                                        "managedFields",
                                                        "name",
                                                        "namespace",
                                                        "ownerReferences",
                                                        "resourceVersion",
                                                        "selfLink",
                                                        "uid"};

// The members that a type does not know, and those that are given twice, by path.
class StrictReader {
 public:
  explicit StrictReader(const ResourceType& type) : type_(type) {}

  std::vector<std::string> Read(kube::JsonView object) {
    Members(object, "", [this](std::string_view key, kube::JsonView value) {
      if (key == "apiVersion" || key == "kind") return true;
      if (key == "metadata") return Metadata(value), true;
      return Member(type_.properties, key, value, std::string(key));
    });
    std::vector<std::string> problems = std::move(duplicates_);
    for (auto& unknown : unknown_) problems.push_back(std::move(unknown));
    if (problems.size() > kMostProblems) problems.resize(kMostProblems);
    return problems;
  }

 private:
  // `known(key, value)` says whether there is such a member, and looks into it.
  template <typename Known>
  void Members(kube::JsonView object, const std::string& path, Known known) {
    std::unordered_set<std::string_view> seen;
    object.ForEach([&](std::string_view key, kube::JsonView value) {
      const std::string at = path.empty() ? std::string(key) : Format("{}.{}", path, key);
      if (!seen.insert(key).second) Note(duplicates_, "duplicate", at);
      if (!known(key, value)) Note(unknown_, "unknown", at);
    });
  }

  void Metadata(kube::JsonView metadata) {
    Members(metadata, "metadata", [](std::string_view key, kube::JsonView) {
      return std::ranges::find(kMetadata, key) != kMetadata.end();
    });
  }

  bool Member(const Json& properties, std::string_view key, kube::JsonView value,
              const std::string& path) {
    const Json* schema = properties.find(key);
    if (schema == nullptr) return false;
    Value(*schema, value, path);
    return true;
  }

  void Value(const Json& schema, kube::JsonView value, const std::string& path) {
    if (const Json* items = schema.find("items"); items != nullptr && value.is_array()) {
      std::size_t index = 0;
      value.ForEachItem(
          [&](kube::JsonView item) { Value(*items, item, Format("{}[{}]", path, index++)); });
    } else if (const Json* properties = schema.find("properties"); properties != nullptr) {
      Members(value, path, [&](std::string_view key, kube::JsonView member) {
        return Member(*properties, key, member, Format("{}.{}", path, key));
      });
    }
  }

  static void Note(std::vector<std::string>& list, std::string_view what, std::string_view path) {
    if (list.size() < kMostProblems)
      list.push_back(Format("{} field \"{}\"", what, log::ToUtf8(path, kMostOfAValue)));
  }

  const ResourceType& type_;
  std::vector<std::string> duplicates_;
  std::vector<std::string> unknown_;
};

kube::Status UnsupportedOption(const char* option, std::string_view value,
                               std::string_view supported) {
  return kube::Invalid("CreateOptions", "meta.k8s.io", "",
                       {{"FieldValueNotSupported",
                         Format("Unsupported value: \"{}\": supported values: {}",
                                log::ToUtf8(value, kMostOfAValue), supported),
                         option}});
}

std::expected<void, kube::Status> CheckOptions(const kube::RequestTarget& target) {
  const std::string_view dry_run = target.Parameter("dryRun");
  if (!dry_run.empty() && dry_run != "All")
    return std::unexpected(UnsupportedOption("dryRun", dry_run, "\"All\""));
  const std::string_view validation = target.Parameter("fieldValidation");
  constexpr std::array<std::string_view, 4> kValidations = {"", "Ignore", "Strict", "Warn"};
  if (std::ranges::find(kValidations, validation) == kValidations.end())
    return std::unexpected(
        UnsupportedOption("fieldValidation", validation, R"("", "Ignore", "Strict", "Warn")"));
  return {};
}

std::expected<kube::JsonView, kube::Status> ReadBody(const drogon::HttpRequestPtr& request,
                                                     kube::JsonDocument& document) {
  const std::string& content_type = request->getHeader("content-type");
  if (!content_type.empty() && !http::IsMediaType(content_type, http::kJson))
    return std::unexpected(kube::UnsupportedMediaType(http::kJson));
  if (request->body().size() > kMostOfABody)
    return std::unexpected(kube::RequestEntityTooLarge(kMostOfABody));
  const auto object = document.Parse(request->body());
  if (!object) return std::unexpected(kube::BadRequest(object.error().message));
  if (!object->is_object()) return std::unexpected(kube::BadRequest("the body is not an object"));
  return *object;
}

std::string Joined(const std::vector<std::string>& problems) {
  std::string text;
  for (const auto& problem : problems) text += (text.empty() ? "" : ", ") + problem;
  return text;
}

// As kube-apiserver would: an object that is not kept may do without a name.
std::expected<void, kube::Status> CheckName(const ResourceType& type, const std::string& name) {
  if (name.empty()) return {};
  const auto problems = kube::SubdomainProblems(name);
  if (problems.empty()) return {};
  const std::string shown = log::ToUtf8(name, kMostOfAValue);
  std::vector<kube::StatusCause> causes;
  for (const auto& problem : problems)
    causes.push_back({"FieldValueInvalid", Format("Invalid value: \"{}\": {}", shown, problem),
                      "metadata.name"});
  return std::unexpected(kube::Invalid(type.kind, kGroup, shown, std::move(causes)));
}

std::string GeneratedName(std::string_view base) {
  static thread_local std::mt19937_64 random(std::random_device{}());
  constexpr std::size_t kMostOfABase = 58;  // so that the name is no longer than a label
  return std::string(log::Prefix(base, kMostOfABase)) + kube::NameSuffix(random());
}

}  // namespace

std::expected<Creation, kube::Status> ReadCreation(const drogon::HttpRequestPtr& request,
                                                   const kube::RequestTarget& target,
                                                   const ResourceType& type, const std::string& ns,
                                                   kube::JsonDocument& document) {
  const auto object = ReadBody(request, document);
  if (!object) return std::unexpected(object.error());
  if ((*object)["apiVersion"].StringOr(kGroupVersion) != kGroupVersion ||
      (*object)["kind"].StringOr(type.kind) != type.kind)
    return std::unexpected(
        kube::BadRequest(Format("the object is no {} of {}", type.kind, kGroupVersion)));
  if (const auto fine = CheckOptions(target); !fine) return std::unexpected(fine.error());
  const std::string_view validation = target.Parameter("fieldValidation");
  Creation creation{
      .call = {.ns = ns, .object = *object, .dry_run = !target.Parameter("dryRun").empty()},
      .name = std::string((*object)["metadata"]["name"].StringOr("")),
      .warnings = {}};
  if (validation != "Ignore") creation.warnings = StrictReader(type).Read(*object);
  if (validation == "Strict" && !creation.warnings.empty())
    return std::unexpected(kube::BadRequest(
        Format("{0} in version \"{1}\" cannot be handled as a {0}: strict decoding error: {2}",
               type.kind, kVersion, Joined(creation.warnings))));
  if ((*object)["metadata"]["namespace"].StringOr(ns) != ns)
    return std::unexpected(kube::BadRequest(
        "the namespace of the provided object does not match the namespace sent on the request"));
  const std::string_view base = (*object)["metadata"]["generateName"].StringOr("");
  if (creation.name.empty() && !base.empty()) creation.name = GeneratedName(base);
  if (const auto fine = CheckName(type, creation.name); !fine) return std::unexpected(fine.error());
  return creation;
}

Object NewObject(const Creation& creation) {
  Object object;
  object.ns = creation.call.ns;
  object.name = creation.name;
  const std::string_view base = creation.call.object["metadata"]["generateName"].StringOr("");
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  Json metadata;
  if (!base.empty()) metadata["generateName"] = log::ToUtf8(base, kMostOfAValue);
  if (!object.name.empty()) metadata["name"] = object.name;
  if (!object.ns.empty()) metadata["namespace"] = object.ns;
  metadata["creationTimestamp"] =
      kube::Timestamp(std::chrono::duration_cast<std::chrono::seconds>(now).count());
  object.metadata = metadata.to_string();
  return object;
}

std::string WarningHeader(const std::vector<std::string>& warnings) {
  std::string header;
  for (const auto& warning : warnings) {
    // A quoted string: Json escapes quotes and backslashes the same way, and what HTTP cannot say.
    std::string quoted = "\"";
    log::AppendEscaped(quoted, log::Prefix(warning, kMostOfAValue));
    header += Format("{}299 - {}\"", header.empty() ? "" : ", ", quoted);
  }
  return header;
}

}  // namespace berth::apis
