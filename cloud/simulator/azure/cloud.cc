#include "cloud/simulator/azure/cloud.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "log/format.h"

namespace berth::cloud::simulator::azure {
namespace {

std::string BaseOf(const Cloud::Options& options) {
  return Format("/subscriptions/{}/resourceGroups/{}/providers/Microsoft.Network",
                options.subscription, options.resource_group);
}

std::string GatewayOf(const Cloud::Options& options) {
  return Format("{}/serviceGateways/{}", BaseOf(options), options.gateway);
}

constexpr std::string_view kTokenPath = "/oauth2/v2.0/token";
constexpr std::string_view kDiscoveryPath = "/v2.0/.well-known/openid-configuration";

// A parse error is a Malformed of the cloud.
Or<Json> BodyOf(const std::string& text) {
  auto body = Json::Parse(text, 32);
  if (!body) return Refuse(400, "InvalidRequestContent", "The request content was invalid.");
  return *std::move(body);
}

}  // namespace

struct Cloud::Call {
  ReceivedRequest request;
  ArmPath path;
  std::string action;
  std::string request_id;
  async::WallTime now;
};

Cloud::Cloud(Options options)
    : options_(std::move(options)),
      ids_(options_.seed),
      random_(options_.seed),
      limits_(options_.limits),
      login_(ids_),
      group_(BaseOf(options_), GatewayOf(options_), operations_),
      gateway_(group_) {}

std::string Cloud::ActionOf(const http::Request& request) const {
  const ReceivedRequest received(request);
  if (received.path.ends_with(kTokenPath)) return "GetToken";
  const auto path = ReadPath(received.path);
  return path ? azure::ActionOf(received.method, *path) : std::string();
}

Refusal Cloud::RefusalWith(std::string code) const {
  const std::string lower = Lower(code);
  int status = 400;
  if (lower == "toomanyrequests") status = 429;
  if (lower == "authorizationfailed") status = 403;
  if (lower == "resourcenotfound") status = 404;
  if (lower == "preconditionfailed") status = 412;
  if (lower == "internalservererror") status = 500;
  if (lower == "serviceunavailable") status = 503;
  if (lower == "gatewaytimeout") status = 504;
  if (lower == "anotheroperationinprogress" || lower.starts_with("canceledandsuperseded") ||
      lower == "referencedresourcenotprovisioned") {
    status = 409;
  }
  return {status, std::move(code), "Refused, as somebody has asked for."};
}

http::Response Cloud::Decline(const http::Request&, const Refusal& refusal) {
  return ErrorResponse(refusal, ids_.Request());
}

void Cloud::EmptyLists(http::Response& response) const {
  auto body = Json::Parse(response.body, 32);
  if (!body || !body->contains("value")) return;
  (*body)["value"] = Json::Array();
  body->erase("nextLink");
  response.body = body->to_string();
}

http::Response Cloud::Answer(const http::Request& request, async::WallTime now) {
  Settle(now);
  Call call{.request = ReceivedRequest(request), .request_id = ids_.Request(), .now = now};
  const std::string& path = call.request.path;
  if (path.ends_with(kTokenPath) && call.request.method == "POST") {
    const std::string tenant = path.substr(1, path.size() - kTokenPath.size() - 1);
    ++calls_["GetToken"].carried_out;
    return login_.Answer(call.request, tenant, now);
  }
  if (path.ends_with(kDiscoveryPath)) return Login::Discover(call.request);
  auto read = ReadPath(path);
  if (!read) return ErrorResponse(read.error(), call.request_id);
  call.path = *std::move(read);
  call.action = azure::ActionOf(call.request.method, call.path);
  return Carry(call);
}

http::Response Cloud::Carry(const Call& call) {
  if (auto admitted = login_.Admit(call.request, call.now); !admitted) {
    return ErrorResponse(admitted.error(), call.request_id);
  }
  Calls& calls = calls_[call.action];
  if (!limits_.Take(call.request.method, call.now)) {
    ++calls.throttled;
    return ErrorResponse({429, "TooManyRequests", "The request is being throttled."},
                         call.request_id);
  }
  ++calls.carried_out;
  try {
    auto answer = Route(call);
    return answer ? *std::move(answer) : ErrorResponse(answer.error(), call.request_id);
  } catch (const JsonError&) {  // a member of another type than it should be
    return ErrorResponse({400, "InvalidRequestContent", "The request content was invalid."},
                         call.request_id);
  }
}

Or<http::Response> Cloud::Route(const Call& call) {
  const ArmPath& path = call.path;
  if (call.request.Parameter("api-version").empty()) {
    return Refuse(400, "MissingApiVersionParameter", "The api-version is required.");
  }
  if (path.subscription != Lower(options_.subscription)) {
    return Refuse(404, "SubscriptionNotFound", "The subscription could not be found.");
  }
  if (path.type == "locations") return OnOperation(call);
  if (path.group != Lower(options_.resource_group)) {
    return Refuse(404, "ResourceGroupNotFound", "The resource group could not be found.");
  }
  if (path.type == "servicegateways") return OnGateway(call);
  if (call.action.empty() || !path.call.empty()) {
    return Refuse(404, "InvalidResourceType", "The resource type could not be found.");
  }
  return OnResource(call);
}

http::Response Cloud::OnOperation(const Call& call) const {
  const auto* operation = operations_.Find(call.path.item);
  if (!operation) {
    return ErrorResponse({404, "NotFound", "The operation was not found."}, call.request_id);
  }
  const bool is_open = operation->status == "InProgress";
  if (call.path.call == "operationresults") {
    http::Response answer = JsonResponse(is_open ? 202 : 200, Json(), call.request_id);
    if (!is_open && operation->failure) return ErrorResponse(*operation->failure, call.request_id);
    if (is_open) {
      answer.headers.push_back({"location", Format("https://{}{}?{}", call.request.host,
                                                   call.request.path, Query(call.request.query))});
      answer.headers.push_back({"retry-after", "1"});
    }
    return answer;
  }
  Json body;
  body["status"] = operation->status;
  if (!is_open && operation->failure) {
    body["error"]["code"] = operation->failure->code;
    body["error"]["message"] = operation->failure->message;
  }
  http::Response answer = JsonResponse(200, body, call.request_id);
  if (is_open) answer.headers.push_back({"retry-after", "1"});
  return answer;
}

Or<http::Response> Cloud::OnResource(const Call& call) {
  const ArmPath& path = call.path;
  const std::string& method = call.request.method;
  if (method == "GET" && path.name.empty()) {
    const std::string& after = call.request.Parameter("$skipToken");
    return Page(call, group_.List(path.type, after, options_.page + 1), "name");
  }
  if (method == "GET") {
    const auto shown = group_.Get(path.type, path.name);
    if (!shown) return std::unexpected(shown.error());
    return JsonResponse(200, *shown, call.request_id);
  }
  if (method != "PUT" && method != "DELETE") {
    return Refuse(405, "MethodNotAllowed", "The method is not allowed.");
  }
  return Write(call);
}

Or<http::Response> Cloud::Write(const Call& call) {
  const ArmPath& path = call.path;
  const Conditions conditions{.if_match = call.request.Header("if-match"),
                              .if_none_match = call.request.Header("if-none-match")};
  Or<Accepted> accepted;
  if (call.request.method == "PUT") {
    auto body = BodyOf(call.request.body);
    if (!body) return std::unexpected(body.error());
    accepted =
        group_.Put(path.type, path.name, *std::move(body), conditions, Draw(call.action, call.now));
  } else {
    accepted = group_.Delete(path.type, path.name, conditions, Draw(call.action, call.now));
  }
  if (!accepted) return std::unexpected(accepted.error());
  return Begun(call, *accepted);
}

Or<http::Response> Cloud::OnGateway(const Call& call) {
  const ArmPath& path = call.path;
  const bool reads = call.request.method == "GET";
  if (path.name.empty() && reads) return Page(call, {*GatewayJson()}, "name");
  if (Lower(path.name) != Lower(options_.gateway)) return NoResource("serviceGateways", path.name);
  const std::string after = call.request.Parameter("$skipToken");
  if (path.call.empty() && reads) return JsonResponse(200, *GatewayJson(), call.request_id);
  if (path.call == "services" && reads) {
    return Page(call, gateway_.ListServices(after, options_.page + 1), "name");
  }
  if (path.call == "addresslocations" && reads) {
    return Page(call, gateway_.ListLocations(after, options_.page + 1), "addressLocation");
  }
  if (call.request.method == "POST") return Post(call);
  return Refuse(405, "MethodNotAllowed", "The method is not allowed.");
}

Or<http::Response> Cloud::Post(const Call& call) {
  auto body = BodyOf(call.request.body);
  if (!body) return std::unexpected(body.error());
  const bool of_services = call.path.call == "updateservices";
  if (!of_services && call.path.call != "updateaddresslocations") {
    return Refuse(404, "InvalidResourceType", "The call could not be found.");
  }
  const auto checked = of_services ? gateway_.CheckServices(*body) : gateway_.CheckLocations(*body);
  if (!checked) return std::unexpected(checked.error());
  Plan plan = Draw(call.action, call.now);
  auto apply = [this, of_services,
                update = *std::move(body)](const std::optional<Refusal>& failure) -> Check {
    if (failure) return {};
    return of_services ? gateway_.UpdateServices(update) : gateway_.UpdateLocations(update);
  };
  const bool draws_200 =
      static_cast<double>(random_() >> 11) * 0x1.0p-53 < options_.posts_done_at_once;
  if (plan.at_once || (draws_200 && !plan.failure && operations_.under_way() == 0)) {
    if (auto done = apply(std::nullopt); !done) return std::unexpected(done.error());
    // With the headers of a long-running one, as Azure has it.
    return Begun(call, {200, Json(), plan.at_once ? "" : "00000000-0000-4000-8000-00000000done"});
  }
  if (plan.ends) plan.ends = last_update_ = std::max(*plan.ends, last_update_);
  return Begun(
      call, {202, Json(), operations_.Begin(plan.ends, std::move(plan.failure), std::move(apply))});
}

Or<Json> Cloud::GatewayJson() const {
  Json gateway;
  gateway["name"] = options_.gateway;
  gateway["id"] = GatewayOf(options_);
  gateway["type"] = "Microsoft.Network/serviceGateways";
  gateway["etag"] = "W/\"00000000-0000-4000-8000-00000000cafe\"";
  gateway["location"] = options_.location;
  gateway["sku"]["name"] = "Standard";
  gateway["sku"]["tier"] = "Regional";
  gateway["properties"]["provisioningState"] = "Succeeded";
  return gateway;
}

http::Response Cloud::Page(const Call& call, std::vector<Json> items, std::string_view name) const {
  Json body;
  std::string next;
  if (items.size() > options_.page) {
    items.resize(options_.page);
    next = TextAt(items.back(), name);
    next = CanonicalAddress(next).value_or(Lower(next));
  }
  body["value"] = Json::Array(std::move(items));
  if (!next.empty()) {
    Parameters query = call.request.query;
    query["$skipToken"] = next;
    body["nextLink"] =
        Format("https://{}{}?{}", call.request.host, call.request.path, Query(query));
  }
  return JsonResponse(200, body, call.request_id);
}

http::Response Cloud::Begun(const Call& call, const Accepted& accepted) const {
  const bool has_body = accepted.status == 200 || accepted.status == 201;
  http::Response answer = JsonResponse(accepted.status, accepted.body, call.request_id);
  if (!has_body) answer.body.clear();
  if (accepted.operation.empty()) return answer;
  const auto address = [&](std::string_view what) {
    return Format(
        "https://{}/subscriptions/{}/providers/Microsoft.Network/locations/{}/{}/{}"
        "?api-version={}",
        call.request.host, options_.subscription, options_.location, what, accepted.operation,
        call.request.Parameter("api-version"));
  };
  answer.headers.push_back({"azure-asyncoperation", address("operations")});
  if (call.request.method != "PUT") {
    answer.headers.push_back({"location", address("operationResults")});
  }
  answer.headers.push_back({"retry-after", "1"});
  return answer;
}

Plan Cloud::Draw(const std::string& action, async::WallTime now) {
  Plan plan;
  if (const auto fault = faults_.Take(action, {Fault::Kind::kFallsBack, Fault::Kind::kSticks})) {
    plan.failure = RefusalWith(fault->code.empty() ? "InternalServerError" : fault->code);
    if (fault->kind == Fault::Kind::kSticks) return plan;
  }
  const auto range = (options_.most_operation - options_.least_operation).count();
  const auto extra =
      range <= 0 ? 0 : static_cast<long>(random_() % static_cast<std::uint64_t>(range));
  const async::Duration time = options_.least_operation + async::Duration(extra);
  plan.at_once = time == time.zero() && !plan.failure;
  plan.ends = now + std::chrono::duration_cast<async::WallTime::duration>(time);
  return plan;
}

}  // namespace berth::cloud::simulator::azure
