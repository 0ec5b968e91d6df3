#include "cloud/simulator/aliyun/cloud.h"

#include <array>
#include <utility>

#include "cloud/simulator/aliyun/wire.h"
#include "json/json.h"

namespace berth::cloud::simulator {
namespace {

VpcOptions In(VpcOptions options, const std::string& region) {
  options.region = region;
  return options;
}

}  // namespace

Cloud::Account::Account(const Options& options, const std::string& region, Ids& ids, Faults& faults)
    : client_tokens(options.client_tokens),
      vpc(In(options.vpc, region), ids),
      ecs(options.ecs, region, ids, vpc.vswitches(), faults),
      eflo(options.eflo, region, ids, vpc.vswitches(), faults) {}

Cloud::Cloud(Options options)
    : ids_(options.seed),
      throttle_(options.calls_per_minute),
      options_(std::move(options)),
      sts_(gate_, ids_) {
  AccountIn(kDefaultAccount, options_.vpc.region);
}

http::Response Cloud::Answer(const http::Request& request, async::WallTime now) {
  const Received received(request);
  Outcome outcome = Carry(received, now);
  const std::string request_id = ids_.Request();
  if (!outcome) return ErrorResponse(outcome.error(), received.host, request_id);
  return SuccessResponse(std::move(*outcome), request_id);
}

http::Response Cloud::Decline(const http::Request& request, const Refusal& refusal) {
  return ErrorResponse(refusal, Received(request).host, ids_.Request());
}

std::string Cloud::ActionOf(const http::Request& request) const { return Received(request).action; }

Refusal Cloud::RefusalWith(std::string code) const {
  return {400, std::move(code), "Refused, as somebody has asked for."};
}

void Cloud::EmptyLists(http::Response& response) const {
  auto answer = Json::Parse(response.body, 8);
  if (!answer) return;
  for (const auto& [outer, inner] :
       {std::pair{"EipAddresses", "EipAddress"}, {"NetworkInterfaceSets", "NetworkInterfaceSet"}}) {
    if (!answer->contains(outer)) continue;
    (*answer)["TotalCount"] = 0;
    (*answer)[outer][inner] = Json::Array();
  }
  if (answer->contains("Content") && (*answer)["Content"].contains("Data")) {
    (*answer)["Content"]["Total"] = 0;
    (*answer)["Content"]["Data"] = Json::Array();
  }
  if (answer->contains("NextToken")) (*answer)["NextToken"] = "";
  response.body = answer->to_string();
}

Outcome Cloud::Carry(const Received& request, async::WallTime now) {
  if (request.method != "GET" && request.method != "POST") {
    return Refuse(403, "UnsupportedHTTPMethod", "This http method is not supported.");
  }
  Call call{request.action, {}, {}, request.ActionParameters(), now};
  const Product* any = Find(request.version, call);
  const bool has = any && request.path == "/" && any->Has(request.action);
  if (!has || !any->IsOpen(request.action)) {
    auto caller = gate_.Admit(request, now);
    if (!caller) return std::unexpected(caller.error());
    call.caller = std::move(caller->name);
    call.account = std::move(caller->account);
  }
  if (!has) {
    return Refuse(404, "InvalidAction.NotFound",
                  "Specified api is not found, please check your url and method.");
  }
  Calls& calls = calls_[call.action];
  if (!throttle_.Take(call.action, now)) {
    ++calls.throttled;
    return std::unexpected(Throttled());
  }
  ++calls.carried_out;
  ClientTokens& client_tokens = AccountOf(call).client_tokens;
  if (auto earlier = client_tokens.Recall(call)) return std::move(*earlier);
  Outcome outcome = Find(request.version, call)->Do(call);
  if (outcome) client_tokens.Remember(call, *outcome);
  return outcome;
}

Product* Cloud::Find(const std::string& version, const Call& call) {
  Account& account = AccountOf(call);
  for (Product* product :
       std::array<Product*, 4>{&account.vpc, &account.ecs, &account.eflo, &sts_}) {
    if (product->version() == version) return product;
  }
  return nullptr;
}

// A region that nobody has opened is for the default one to refuse.
Cloud::Account& Cloud::AccountOf(const Call& call) {
  const std::string account = call.account.empty() ? kDefaultAccount : call.account;
  const auto found = accounts_.find({account, call["RegionId"]});
  return found == accounts_.end() ? AccountIn(account, options_.vpc.region) : *found->second;
}

VpcProduct& Cloud::vpc(const std::string& account, const std::string& region) {
  return AccountIn(account, region).vpc;
}

EcsProduct& Cloud::ecs(const std::string& account, const std::string& region) {
  return AccountIn(account, region).ecs;
}

EfloProduct& Cloud::eflo(const std::string& account, const std::string& region) {
  return AccountIn(account, region).eflo;
}

std::vector<const VpcProduct*> Cloud::vpcs() const {
  std::vector<const VpcProduct*> all;
  for (const auto& [key, account] : accounts_) all.push_back(&account->vpc);
  return all;
}

void Cloud::Settle(async::WallTime now) {
  for (const auto& [key, account] : accounts_) {
    account->vpc.Settle(now);
    account->ecs.Settle(now);
    account->eflo.Settle(now);
  }
}

Cloud::Account& Cloud::AccountIn(const std::string& account, const std::string& region) {
  const bool is_default = account == kDefaultAccount && region == options_.vpc.region;
  const auto key = is_default ? Accounts::key_type() : Accounts::key_type(account, region);
  auto& place = accounts_[key];
  if (!place) place = std::make_unique<Account>(options_, region, ids_, faults_);
  return *place;
}

}  // namespace berth::cloud::simulator
