// How an address comes to an object: attempts, and what is known of them.
#include <algorithm>
#include <utility>

#include "log/format.h"
#include "reconcile/eip/reconciler.h"
#include "reconcile/eip/refusal.h"

namespace berth::eip {
namespace {

using namespace std::chrono_literals;

// An object is not known to have no address before two searches, so far apart, have found none.
constexpr auto kUnfound = 2s;
// A search of longer ago is of another question, and does not count.
constexpr auto kSearchAnew = 3min;
// How often it is tried whether the API server keeps a status by now.
constexpr auto kNotKeptFor = 1min;

// Whether spec asks for another address than the attempt did.
bool IsOutdated(const Object& object) {
  cloud::EipRequest wanted = object.NextAttempt().request;
  wanted.client_token = object.attempt.request.client_token;
  return wanted != object.attempt.request;
}

// Tags that Berth has put on the object's own address: those of the attempt or, if its status was
// lost, those of spec that it has.
cloud::Tags GivenTags(const Object& object, const cloud::Tags& has) {
  cloud::Tags given = object.attempt.request.tags;
  for (const auto& [key, value] : object.spec.tags) {
    const auto found = has.find(key);
    if (!object.attempt && found != has.end() && found->second == value) given.emplace(key, value);
  }
  given.erase(std::string(kOwnerTag));
  return given;
}

// Why spec is not followed.
std::string WhyTheSame(bool tagged) {
  if (tagged) {
    return "; a request had no answer that says whether it was carried out, so the same is asked "
           "for until it is certain that nothing came of it, for 18 minutes, and spec is followed "
           "then";
  }
  return Format(
      "; a request had no answer that says whether it was carried out, and with {} tags in "
      "spec.tags an EIP that came of it cannot be looked for, so the same is asked for on. If "
      "there is none in the cloud's console, create another EIP object, and delete this one with "
      "the annotation {}=abandon",
      kMostTags, kOnStuckAnnotation);
}

}  // namespace

async::Task<Reconciler::Next> Reconciler::Begin(Pass* pass, Attempt attempt) {
  pass->doing = "Create";
  Memory& memory = pass->memory;
  const bool accounted = memory.accounted == pass->object.attempt.number;
  // An object without a count may have lost its status, and have used this token before.
  const bool is_first_use = accounted || pass->object.attempt.number > 0;
  Json facts;
  facts["attempt"] = attempt.ToJson();
  facts["region"] = pass->here.region;
  facts["account"] = pass->here.account;
  for (const char* name : {"allocationID", "eipAddress", "status", "origin"}) {
    facts[name] = Json::null();
  }
  auto written = co_await TellTry(
      pass, {.progressing = true, .reason = "Creating", .message = "allocating an EIP"},
      std::move(facts));
  if (!written) co_return std::unexpected(std::move(written.error()));
  if (pass->object.attempt.request.client_token != attempt.request.client_token) {
    co_return std::unexpected(
        Error{.error_class = ErrorClass::kRetry,
              .reason = "StatusNotKept",
              .message = "the API server does not keep status.attempt, without which nothing is "
                         "allocated: install the CustomResourceDefinition of this version of Berth",
              .retry_after = kNotKeptFor});
  }
  memory.fresh_attempt = accounted ? attempt.number : 0;
  if (accounted) memory.accounted = attempt.number;
  memory.certain_attempt = is_first_use ? attempt.number : 0;
  memory.over_attempt = 0;
  memory.missing_since.reset();
  pass->sight = {};
  co_return std::nullopt;
}

async::Task<Reconciler::Next> Reconciler::Find(Pass* pass) {
  pass->doing = "Create";
  auto found = co_await VpcOf(*pass).EipsTagged(std::string(kOwnerTag), pass->object.id.uid);
  if (!found) co_return Unread(pass, std::move(found.error()));
  Reached();
  std::erase_if(*found, [](const cloud::Eip& eip) { return eip.status == "Releasing"; });
  if (std::ranges::contains(*found, pass->object.allocation_id, &cloud::Eip::allocation_id)) {
    pass->sight.searched = true;
    pass->sight.owned = true;
    co_return std::nullopt;
  }
  if (found->empty()) {
    // One list may be incomplete. The repetition of an attempt is safe all the same; a new attempt,
    // or the end of the object, is not.
    const bool repeats = pass->object.attempt && pass->object.id.deleting == 0;
    auto& since = pass->memory.unfound_since;
    const auto now = parts_.executor.Now();
    if (!since || now - *since > kSearchAnew) since = now;
    if (!repeats && now - *since < kUnfound) co_return runtime::Requeue{kUnfound};
    pass->sight.searched = true;
    co_return std::nullopt;
  }
  const cloud::Eip& eip = found->front();
  if (found->size() > 1) {
    Record(*pass, kube::EventType::kWarning, "ReconcileFailed", "Create",
           Format("{} too has the tag {} of this object, and is left alone",
                  found->back().allocation_id, kOwnerTag));
  }
  if (pass->object.attempt) co_return co_await Allocated(pass, {eip.allocation_id, eip.address});
  co_return co_await Own(pass, eip.allocation_id, eip.address, Origin::kCreated, eip.tags);
}

// Whether an object that was to stay still is. Nothing is bought for one that was deleted since, or
// that is no longer to have another address in place of a lost one; nor to settle the doubt about
// one that is abandoned.
async::Task<bool> Reconciler::IsStillWanted(const Pass* pass) {
  const Object* now = parts_.latest.Get(pass->object.id.Key());
  if (!now || now->id.uid != pass->object.id.uid) co_return false;
  if (pass->object.id.deleting != 0) co_return now->on_stuck != "abandon";
  co_return now->id.deleting == 0 &&
      now->IsReplacementWithdrawn() == pass->object.IsReplacementWithdrawn();
}

async::Task<bool> Reconciler::IsToBeSent(const Pass* pass) {
  if (!co_await IsStillWanted(pass)) co_return false;
  // The pass may end before the answer is here.
  pass->memory.doubted_since = parts_.executor.Now();
  pass->memory.unfound_since.reset();
  co_return true;
}

async::Task<Reconciler::Next> Reconciler::Allocate(Pass* pass) {
  pass->doing = "Create";
  Memory& memory = pass->memory;
  const std::int64_t number = pass->object.attempt.number;
  if (memory.over_attempt == number) co_return co_await EndAttempt(pass, memory.over_error);
  const bool certain = memory.certain_attempt == number;
  // Until the answer is here.
  const std::int64_t fresh = std::exchange(memory.fresh_attempt, 0);
  const auto accounted = std::exchange(memory.accounted, std::nullopt);
  memory.certain_attempt = 0;
  const auto doubted_since = memory.doubted_since;
  const auto unfound_since = memory.unfound_since;
  auto made = co_await VpcOf(*pass).AllocateEip(pass->object.attempt.request,
                                                [this, pass] { return IsToBeSent(pass); });
  // The doubt is again that about the requests before this one.
  if (!made && !MayBeDone(made.error())) {
    memory.doubted_since = doubted_since;
    memory.unfound_since = unfound_since;
  }
  const bool same_code =
      !made && IsUnclear(made.error()) && memory.doubted_code == made.error().reason;
  if (same_code) memory.doubted_since = doubted_since;
  if (!made && made.error().reason == cloud::kNotSent) memory.fresh_attempt = fresh;
  if (!made && !MayBeDone(made.error()) && !IsOfToken(made.error())) memory.accounted = accounted;
  pass->allocated = made.has_value();
  if (made) memory.unlisted = made->allocation_id;
  if (made) co_return co_await Allocated(pass, std::move(*made));
  co_return co_await NotAllocated(pass, std::move(made.error()), certain);
}

async::Task<Reconciler::Next> Reconciler::Allocated(Pass* pass, cloud::AllocatedEip eip) {
  if (pass->object.id.deleting == 0) {
    co_return co_await Own(pass, std::move(eip.allocation_id), std::move(eip.address),
                           Origin::kCreated);
  }
  // Not written down: asked again, the cloud says the same, and there is nothing to keep.
  pass->memory.unclaimed = eip.allocation_id;
  pass->memory.unclaimed_in = pass->here;
  pass->object.place = pass->here;
  pass->object.allocation_id = std::move(eip.allocation_id);
  pass->object.origin = Origin::kCreated;
  pass->sight = {.unclaimed = true};
  co_return std::nullopt;
}

async::Task<Reconciler::Next> Reconciler::NotAllocated(Pass* pass, Error error, bool certain) {
  Memory& memory = pass->memory;
  const auto now = parts_.executor.Now();
  if (!MayBeDone(error) && certain) memory.certain_attempt = memory.doubted_attempt;
  if (MayBeDone(error)) {
    const std::string code = IsUnclear(error) ? error.reason : "";
    if (code.empty() || code != memory.doubted_code) memory.doubted_since = now;
    memory.doubted_code = code;
  }
  // The address of the earlier request has the tag, unless there was no room for it.
  if (IsOfToken(error) && !pass->sight.searched) co_return std::nullopt;
  if (IsOfToken(error)) {
    error.message = Format(
        "the token {} was used before, for another request: somebody has changed the status, and "
        "an EIP may have been allocated that is not known here; it is looked for by its tag {} "
        "every 5 minutes. If there is none in the cloud's console, create another EIP object, and "
        "delete this one with the annotation {}=abandon",
        pass->object.attempt.request.client_token, kOwnerTag, kOnStuckAnnotation);
  }
  const bool tagged = pass->object.attempt.IsTagged();
  const bool doubt_over = tagged && now - memory.doubted_since >= kDoubted;
  // A refusal that may pass is no reason to ask again for what nobody wants any more.
  const bool other = pass->object.id.deleting == 0 && IsOutdated(pass->object);
  const bool outdated =
      other && error.reason != cloud::kNotSent && ((certain && !MayBeDone(error)) || doubt_over);
  // A deleted object's address was looked for by its tag and by its token, after the last moment at
  // which a request could have had an effect.
  const bool refused = (!MayBeDone(error) || IsUnclear(error)) && !IsOfReach(error) &&
                       error.error_class != ErrorClass::kThrottled;
  const bool in_vain = refused && pass->object.id.deleting != 0 && pass->sight.searched &&
                       pass->sight.doubt_over && doubt_over;
  if (!outdated && !in_vain && !EndsAttempt(error, certain, now - memory.doubted_since, tagged)) {
    const bool clear = certain && !MayBeDone(error);
    if ((BlamesSpec(error) || (other && IsUnclear(error))) && !clear &&
        pass->object.id.deleting == 0) {
      error.message += WhyTheSame(tagged);
    }
    co_return std::unexpected(std::move(error));
  }
  memory.over_attempt = pass->object.attempt.number;
  memory.over_error = error;
  co_return co_await EndAttempt(pass, std::move(error));
}

// Nothing came of it: what comes next is another attempt.
async::Task<Reconciler::Next> Reconciler::EndAttempt(Pass* pass, Error error) {
  Json facts;
  pass->object.attempt.Settle(facts);
  facts["region"] = Json::null();
  facts["account"] = Json::null();
  auto written =
      co_await Tell(pass, {.reason = ReasonFor(pass->object, error), .message = Sentence(error)},
                    std::move(facts));
  if (!written) co_return std::unexpected(std::move(written.error()));
  pass->memory.failure = pass->object.told_message;
  if (pass->object.id.deleting != 0) co_return std::nullopt;
  co_return std::unexpected(std::move(error));
}

async::Task<Reconciler::Next> Reconciler::Import(Pass* pass, step::Import import) {
  if (!import.warning.empty()) {
    Record(*pass, kube::EventType::kWarning, "ReconcileFailed", "Sync", import.warning);
  }
  cloud::Tags tags = pass->sight.eip ? pass->sight.eip->tags : cloud::Tags();
  return Own(pass, pass->object.spec.allocation_id, std::move(import.address), import.origin,
             std::move(tags));
}

// Written down before anything is done to it.
async::Task<Reconciler::Next> Reconciler::Own(Pass* pass, std::string id, std::string address,
                                              Origin origin, cloud::Tags tags) {
  const bool is_new = pass->object.allocation_id != id;
  Json facts;
  facts["allocationID"] = id;
  facts["eipAddress"] = address;
  facts["origin"] = origin == Origin::kCreated ? "Created" : "Imported";
  facts["region"] = pass->here.region;
  facts["account"] = pass->here.account;
  if (origin == Origin::kCreated) {
    const cloud::Tags given = GivenTags(pass->object, tags);
    // The tags of an address that it had before are known.
    if (is_new) facts["tags"] = given.empty() ? Json::null() : TextsOf(given);
    facts["attempts"] = pass->object.attempt.number;
    if (pass->object.on_foreign == "adopt" && !pass->object.attempt) facts["adopted"] = true;
  }
  // Attempts that came to nothing are not those of an import.
  if (origin == Origin::kImported && pass->object.allocation_id.empty()) {
    facts["attempts"] = Json::null();
  }
  pass->memory.unfound_since.reset();
  pass->memory.accounted.reset();
  auto written = co_await Tell(pass,
                               {.progressing = true,
                                .reason = pass->object.id.deleting != 0 ? "Deleting" : "Creating",
                                .message = Format("setting up {}", id)},
                               std::move(facts));
  if (!written) co_return std::unexpected(std::move(written.error()));
  if (is_new && origin == Origin::kCreated) {
    Record(*pass, kube::EventType::kNormal, "Created", "Create",
           Format("{} {} ({})", pass->allocated ? "allocated" : "found again", id, address));
  }
  pass->sight = {};
  co_return std::nullopt;
}

}  // namespace berth::eip
