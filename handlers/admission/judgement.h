#pragma once

#include <string_view>

#include "handlers/admission/review.h"
#include "kube/api.h"
#include "reconcile/runtime/verdict.h"

// What the webhooks of all systems answer alike.
namespace berth::admission {

inline constexpr std::string_view kNotReady =
    "Berth does not know the other objects yet: conflicts with them were not looked for";

// A verdict on an object of this kind and name as the API server is told it.
Response ResponseOf(runtime::Verdict verdict, const kube::Resource& resource,
                    std::string_view name);

// What does not read as an object of its kind is the schema's to refuse; it comes here only where
// there is no schema.
Response Unreadable(const kube::Error& error);

}  // namespace berth::admission
