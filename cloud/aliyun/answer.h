#pragma once

#include "cloud/answer.h"
#include "http/transport.h"

namespace berth::cloud::aliyun {

using cloud::Answer;
using cloud::Member;
using cloud::Text;

// Reads what came back of a call. An error has an HTTP status above 299, or, of EFLO, a Code that
// is a number other than 0. An error's reason is the cloud's code, its class that of the
// table in error_table.h, and its message the cloud's, cut at kMaxMessage, with the request ID at
// its end. Without an answer, or with one that is no JSON object or over kMaxAnswer, the reason is
// empty and a call that was sent is kAmbiguous if it `writes`, else kRetry; but an HTTP status of
// 3xx or 4xx is kRetry, 429 kThrottled, and a connection that was not made, a TLS failure among
// them, kRetry. `secrets` are blotted out of messages, codes and request IDs, and so is the
// text that the cloud says it signed, where keys may stand in other forms.
Answer ReadAnswer(const Result<http::Response>& response, bool writes, Secrets secrets);

}  // namespace berth::cloud::aliyun
