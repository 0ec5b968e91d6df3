#include "server/cloud_front.h"

#include <trantor/net/EventLoop.h>

#include <set>
#include <utility>

#include "json/json.h"
#include "log/format.h"

namespace berth::server {
namespace {

namespace simulator = cloud::simulator;

// How long a call whose answer is lost is kept open; clients give up sooner.
constexpr std::chrono::seconds kLongest{60};
constexpr const char* kOwner = "account";  // whom all keys speak for

http::Request Read(const drogon::HttpRequestPtr& request) {
  http::Request read{
      .method = request->methodString(),
      .url = Format("https://{}{}", request->getHeader("host"), http::RawPath(request)),
      .body = std::string(request->body()),
      .timeout = kLongest};
  if (!request->query().empty()) read.url += "?" + request->query();
  for (const auto& [name, value] : request->headers()) read.headers.push_back({name, value});
  return read;
}

Json Show(const simulator::EipRecord& record) {
  const cloud::Eip& eip = record.eip;
  Json json;
  json["allocationID"] = eip.allocation_id;
  json["address"] = eip.address;
  json["status"] = eip.status;
  json["bandwidth"] = eip.bandwidth;
  json["bandwidthPackageID"] = eip.bandwidth_package_id;
  json["resourceGroupID"] = eip.resource_group_id;
  json["name"] = eip.name;
  json["description"] = eip.description;
  json["instanceID"] = eip.instance_id;
  json["instanceChargeType"] = eip.instance_charge_type;
  json["deletionProtection"] = eip.deletion_protection;
  json["lockReason"] = record.lock_reasons.empty() ? "" : *record.lock_reasons.begin();
  Json tags;
  for (const auto& [key, value] : eip.tags) tags[key] = value;
  json["tags"] = std::move(tags);
  return json;
}

Json Ledger(const simulator::Cloud& cloud) {
  std::uint64_t allocated = 0;
  std::uint64_t released = 0;
  for (const simulator::LedgerEntry& entry : cloud.vpc().ledger()) {
    ++(entry.event == simulator::LedgerEntry::Event::kAllocated ? allocated : released);
  }
  Json ledger;
  ledger["eips"] = cloud.vpc().size();
  ledger["allocated"] = allocated;
  ledger["released"] = released;
  Json calls;
  Json throttled;
  for (const auto& [action, count] : cloud.calls()) {
    calls[action] = count.carried_out;
    throttled[action] = count.throttled;
  }
  ledger["calls"] = std::move(calls);
  ledger["throttled"] = std::move(throttled);
  return ledger;
}

struct Answer {
  int code = 200;
  Json body;
};

Answer Wrong(int code, const std::string& message) {
  Answer answer{code};
  answer.body["message"] = message;
  return answer;
}

Answer ChangeEip(simulator::VpcProduct& vpc, const std::string& id, const std::string& body) {
  Json change;
  try {
    change = Json::parse(body);
  } catch (const std::exception&) {
    return Wrong(400, "the body is not JSON");
  }
  if (!change.is_object()) return Wrong(400, "the body is not a JSON object");
  cloud::Eip& eip = vpc.Edit(id);
  for (const auto& member : change.object_range()) {
    const std::string text = member.value().as<std::string>();
    if (member.key() == "name") {
      eip.name = text;
    } else if (member.key() == "description") {
      eip.description = text;
    } else if (member.key() == "deletionProtection") {
      eip.deletion_protection = text == "true";
    } else if (member.key() == "instanceID") {
      eip.instance_id = text;
      eip.instance_type = text.empty() ? "" : "EcsInstance";
      eip.status = text.empty() ? "Available" : "InUse";
    } else if (member.key() == "lockReason") {
      vpc.SetLocks(id, text.empty() ? std::set<std::string>() : std::set{text});
    } else {
      return Wrong(400, "there is no " + std::string(member.key()) + " to change");
    }
  }
  return {200, Show(*vpc.FindRecord(id))};
}

Answer OnEips(simulator::VpcProduct& vpc, const http::Request& request, const std::string& id) {
  if (id.empty()) {
    Json list = Json::Array();
    for (const cloud::Eip& eip : vpc.Eips()) {
      list.push_back(Show(*vpc.FindRecord(eip.allocation_id)));
    }
    return {200, std::move(list)};
  }
  const simulator::EipRecord* eip = vpc.FindRecord(id);
  if (!eip) return Wrong(404, "there is no " + id);
  if (request.method == "PATCH") return ChangeEip(vpc, id, request.body);
  const Answer answer{200, Show(*eip)};
  if (request.method == "DELETE") vpc.DeleteEip(id);
  return answer;
}

Answer OnKeys(simulator::Gate& keys, const http::Request& request, const std::string& id) {
  if (id.empty()) return Wrong(404, "name the key: /keys/ID");
  if (request.method == "PUT") {
    const auto slash = id.find('/');
    simulator::Key key{.id = id.substr(0, slash), .secret = request.body, .caller = kOwner};
    if (slash != id.npos) key.account = id.substr(slash + 1);
    keys.Add(std::move(key));
    return {};
  }
  if (request.method != "DELETE") return Wrong(405, "a key is not shown");
  keys.Revoke(id);
  return {};
}

Answer OutOfBand(simulator::Cloud& cloud, const http::Request& request, std::string_view path) {
  const auto slash = path.find('/', 1);
  const std::string_view what = path.substr(1, slash == path.npos ? path.npos : slash - 1);
  const std::string id(slash == path.npos ? "" : path.substr(slash + 1));
  if (what == "ledger") return {200, Ledger(cloud)};
  if (what == "eips") return OnEips(cloud.vpc(), request, id);
  if (what == "keys") return OnKeys(cloud.keys(), request, id);
  if (what == "packages" && request.method == "POST") {
    Answer made;
    made.body["bandwidthPackageID"] = cloud.vpc().CreatePackage(100);
    return made;
  }
  return Wrong(404, "there is nothing here");
}

// Drogon wants answers on the connection's thread.
http::Callback Home(http::Callback callback) {
  auto* loop = trantor::EventLoop::getEventLoopOfCurrentThread();
  return [loop, callback = std::move(callback)](const drogon::HttpResponsePtr& response) {
    loop->queueInLoop([callback, response] { callback(response); });
  };
}

}  // namespace

CloudFront::CloudFront(const SimulateCloudOptions& options) {
  loop_.Run([&] { cloud_ = std::make_unique<SimulatedCloud>(loop_, options); });
}

CloudFront::~CloudFront() {
  loop_.Run([this] {
    calls_.clear();
    cloud_.reset();
  });
}

void CloudFront::AddKey(std::string id, std::string secret) {
  loop_.Run([&] {
    cloud_->cloud().keys().Add(
        {.id = std::move(id), .secret = std::move(secret), .caller = kOwner});
  });
}

void CloudFront::Serve(const drogon::HttpRequestPtr& request, http::Callback callback) {
  loop_.Post([this, read = Read(request), path = std::string(http::RawPath(request)),
              home = Home(std::move(callback))]() mutable {
    if (path == "/") return Call(std::move(read), std::move(home));
    if (path.starts_with("/refusal")) {
      const auto code = path.find('/', 1);
      const bool refuse = read.method == "PUT" && code != path.npos;
      cloud_->RefuseAll(refuse ? path.substr(code + 1) : "");
      return home(http::Respond(200, "{}"));
    }
    cloud_->cloud().vpc().Settle(loop_.WallNow());
    const Answer answer = OutOfBand(cloud_->cloud(), read, path);
    home(http::Respond(answer.code, answer.body.to_string()));
  });
}

void CloudFront::Call(http::Request request, http::Callback callback) {
  const std::uint64_t id = ++last_call_;
  calls_[id] = cloud_->Send(std::move(request), [this, id, callback = std::move(callback)](
                                                    const Result<http::Response>& answer) {
    const auto ended = calls_.extract(id);
    callback(answer ? http::Respond(answer->code, answer->body) : http::Respond(504, "{}"));
  });
}

}  // namespace berth::server
