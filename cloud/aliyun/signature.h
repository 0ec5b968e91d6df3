#pragma once

#include <map>
#include <string>
#include <string_view>

#include "cloud/query.h"

namespace berth::cloud::aliyun {

// Both ways of signing want parameters sorted by name.
using cloud::ParseQuery;
using cloud::Query;
using Parameters = cloud::Parameters;

// Lower-case hexadecimal.
std::string Sha256(std::string_view text);

// The parts that ACS3-HMAC-SHA256 signs.
struct Acs3 {
  std::string method = "POST";
  std::string path = "/";
  Parameters query;
  std::map<std::string, std::string> headers;  // those that are signed; names in lower case
  std::string payload_hash;                    // Sha256 of the body

  std::string Canonical() const;
  std::string Signature(std::string_view secret) const;
  // "host;x-acs-action;…"
  std::string SignedHeaders() const;
  // The header's value.
  std::string Authorization(std::string_view key_id, std::string_view secret) const;
};

// The value of `Signature` for a call of the RPC style, signature version 1.0: HMAC-SHA1 over all
// other parameters.
std::string SignatureV1(std::string_view method, const Parameters& parameters,
                        std::string_view secret);

}  // namespace berth::cloud::aliyun
