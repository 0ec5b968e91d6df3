#include "handlers/admission/rules.h"

#include <utility>

#include "kube/status.h"

namespace berth::admission {

Response ResponseOf(runtime::Verdict verdict, const kube::Resource& resource,
                    std::string_view name) {
  Response response;
  if (verdict.refusal) {
    response = Response::Deny(std::move(*verdict.refusal));
  } else if (!verdict.causes.empty()) {
    response = Response::Deny(kube::Invalid(resource.kind, resource.group, name,
                                            std::move(verdict.causes), verdict.more));
  }
  for (const std::string& warning : verdict.warnings) response.Warn(warning);
  return response;
}

}  // namespace berth::admission
