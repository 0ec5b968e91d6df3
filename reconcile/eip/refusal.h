#pragma once

#include <string>

#include "async/executor.h"
#include "http/error.h"

// The meaning of a cloud's refusal for an object. Plain, by the cloud's codes; O(1).
namespace berth::eip {

// A request is taken for 15 minutes, and an address that came of it is listed 2 minutes later:
// after this time without an answer nothing comes of it any more.
inline constexpr async::Duration kDoubted = std::chrono::minutes(18);

// Nobody may do this with our key. Whoever is in charge of it may change that without the object
// being touched.
bool IsOfPermission(const Error& error);
// It can be had another time: quota, money.
bool IsOfMeans(const Error& error);
// An attempt's token was used before, for a request that was not the same.
bool IsOfToken(const Error& error);

// No call got through, whatever it asked for: the network, TLS, the access key, the clock.
bool IsOfReach(const Error& error);

// Whether the cloud may have done, or may still do, what it was asked for. Only a code that is
// known to refuse says that it has not.
bool MayBeDone(const Error& error);

// Whether it was refused with a code that does not say whether it was done. One that is the answer
// again and again, and nothing has come of the first request, says that it is not.
bool IsUnclear(const Error& error);

// Whether it is the object's spec that has to change.
bool BlamesSpec(const Error& error);

// Whether a refusal of an attempt says that nothing came of it, and nothing will: not if an earlier
// request of it may still be on its way, or has succeeded and the cloud does not say so to this
// caller. `certain`: every earlier request was answered. `doubted`: for how long, else, there has
// been no other request. A missing permission says nothing of the request: it is repeated.
// `tagged`: what it came to would have been found by its tag; without, the doubt is never over.
bool EndsAttempt(const Error& error, bool certain, async::Duration doubted, bool tagged);

// The error in a sentence, with what to do about it, and without times that are others with each
// try.
std::string Sentence(const Error& error);

// Without "(request ID …)", which is another one with each try.
std::string WithoutRequestId(std::string message);

}  // namespace berth::eip
