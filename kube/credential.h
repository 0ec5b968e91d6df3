#pragma once

#include "http/credential.h"

namespace berth::kube {

using http::Credential;
using http::CredentialPtr;

}  // namespace berth::kube
