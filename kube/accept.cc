#include "kube/accept.h"

namespace berth::kube {
namespace {

std::string_view Trim(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

// Calls `visit(media_type, parameters)` for each range of an Accept header until it returns true.
template <typename Visit>
bool VisitAccept(std::string_view accept, Visit visit) {
  while (!accept.empty()) {
    const auto end = accept.find_first_of(",\x1f");  // a repeated header is joined with 0x1f
    const std::string_view range = accept.substr(0, end);
    const auto semicolon = range.find(';');
    const std::string_view parameters =
        semicolon == std::string_view::npos ? "" : range.substr(semicolon);
    if (visit(Trim(range.substr(0, semicolon)), parameters)) return true;
    if (end == std::string_view::npos) return false;
    accept.remove_prefix(end + 1);
  }
  return false;
}

bool HasParameter(std::string_view parameters, std::string_view name, std::string_view value) {
  while (!parameters.empty()) {
    parameters.remove_prefix(1);
    const auto end = parameters.find(';');
    const std::string_view parameter = Trim(parameters.substr(0, end));
    if (parameter.size() == name.size() + 1 + value.size() && parameter.starts_with(name) &&
        parameter[name.size()] == '=' && parameter.ends_with(value)) {
      return true;
    }
    if (end == std::string_view::npos) return false;
    parameters.remove_prefix(end);
  }
  return false;
}

bool IsJsonRange(std::string_view media_type) {
  return media_type == "application/json" || media_type == "*/*" || media_type == "application/*";
}

}  // namespace

std::optional<Form::Kind> NegotiateForm(std::string_view accept) {
  if (Trim(accept).empty()) return Form::Kind::kObject;
  std::optional<Form::Kind> kind;
  VisitAccept(accept, [&](std::string_view media_type, std::string_view parameters) {
    if (!IsJsonRange(media_type)) return false;
    if (!parameters.contains("as=")) {
      kind = Form::Kind::kObject;
      return true;
    }
    if (!HasParameter(parameters, "g", "meta.k8s.io") || !HasParameter(parameters, "v", "v1"))
      return false;
    if (HasParameter(parameters, "as", "Table")) kind = Form::Kind::kTable;
    if (HasParameter(parameters, "as", "PartialObjectMetadata") ||
        HasParameter(parameters, "as", "PartialObjectMetadataList")) {
      kind = Form::Kind::kPartial;
    }
    return kind.has_value();
  });
  return kind;
}

bool WantsAggregatedDiscovery(std::string_view accept) {
  bool wanted = false;
  VisitAccept(accept, [&](std::string_view media_type, std::string_view parameters) {
    if (!IsJsonRange(media_type)) return false;
    if (!parameters.contains("as=")) return true;
    wanted = HasParameter(parameters, "as", "APIGroupDiscoveryList") &&
             HasParameter(parameters, "v", "v2") &&
             HasParameter(parameters, "g", "apidiscovery.k8s.io");
    return wanted;
  });
  return wanted;
}

}  // namespace berth::kube
