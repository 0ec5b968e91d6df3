#include "handlers/apis/cloudcalls.h"

#include <algorithm>
#include <ranges>

#include "log/format.h"
#include "log/timestamp.h"

namespace berth::apis {
namespace {

using cloud::ActionHistory;
using cloud::CallRecord;

constexpr const char* kNothing = "<none>";

// As in 42ms, 1.30s.
std::string Short(async::Duration time) {
  const auto milliseconds = std::chrono::round<std::chrono::milliseconds>(time).count();
  if (milliseconds < 1000) return Format("{}ms", milliseconds);
  return Format("{:.2f}s", static_cast<double>(milliseconds) / 1000);
}

// "AllocateEipAddress" as objects may be named.
std::string NameOf(const std::string& action) {
  std::string name;
  for (const char c : action) {
    const char lower = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    const bool is_plain = (lower >= 'a' && lower <= 'z') || (lower >= '0' && lower <= '9');
    name += is_plain ? lower : '-';
  }
  const auto begin = name.find_first_not_of('-');
  if (begin == name.npos) return "unnamed";
  return name.substr(begin, name.find_last_not_of('-') - begin + 1);
}

Json CallJson(const CallRecord& call) {
  Json json;
  json["at"] = FormatMicroTime(call.at);
  json["code"] = call.code;
  if (call.http_code != 0) json["httpStatus"] = call.http_code;
  if (!call.message.empty()) json["message"] = call.message;
  json["latency"] = Short(call.latency);
  json["waited"] = Short(call.waited);
  if (!call.request_id.empty()) json["requestID"] = call.request_id;
  if (!call.resource.empty()) json["resource"] = call.resource;
  if (call.throttled) json["throttled"] = true;
  return json;
}

// Long when more calls are wanted than may be made.
async::Duration LongestWait(const ActionHistory& history) {
  return std::ranges::max(
      history.recent | std::views::transform([](const CallRecord& call) { return call.waited; }));
}

Json StatusOf(const ActionHistory& history) {
  Json status;
  status["action"] = history.action;
  status["calls"] = history.calls;
  status["errors"] = history.errors;
  status["throttled"] = history.throttled;
  Json& codes = status["codes"];
  for (const auto& [code, count] : history.codes) codes[code] = count;
  status["latency"] = Short(history.Latency());
  status["waited"] = Short(LongestWait(history));
  if (history.last_error) status["lastError"] = CallJson(*history.last_error);
  Json recent = Json::Array();
  for (const CallRecord& call : std::views::reverse(history.recent)) {
    recent.push_back(CallJson(call));
  }
  status["recent"] = std::move(recent);
  return status;
}

// In the order of the type's columns.
std::vector<Cell> CellsOf(const ActionHistory& history) {
  const CallRecord& last = history.recent.back();
  const auto& error = history.last_error;
  const auto since = std::chrono::floor<std::chrono::seconds>(last.at).time_since_epoch().count();
  const auto text = [](const std::string& given) {
    return Cell::Text(given.empty() ? kNothing : given);
  };
  return {Cell::Text(history.action),
          Cell::Number(history.calls),
          Cell::Number(history.errors),
          Cell::Number(history.throttled),
          Cell::Text(last.code),
          Cell::Text(Short(history.Latency())),
          Cell::Age(since),
          Cell::Text(Short(LongestWait(history))),
          error ? Cell::Text(error->code) : Cell::Text(kNothing),
          error ? text(error->request_id) : Cell::Text(kNothing),
          error ? text(error->message) : Cell::Text(kNothing)};
}

Json CallSchema(std::string_view description) {
  return ObjectSchema(
      description,
      {{"at", "string", "When it was sent.", "date-time"},
       {"code", "string",
        "The cloud's error code, or OK. Without an answer Timeout or Network; Unreadable for an "
        "answer that is not the cloud's; NotSent for a call that had no turn or no key."},
       {"httpStatus", "integer", "Of the answer; absent without one.", "int32"},
       {"message", "string", "What the cloud said of an error."},
       {"latency", "string", "From its sending to its answer."},
       {"waited", "string", "For its turn, before that."},
       {"requestID", "string", "The cloud's, for its support."},
       {"resource", "string", "Which of the cloud's resources it was about."},
       {"throttled", "boolean", "The cloud said that there were too many calls."}});
}

Json StatusSchema() {
  Json status = ObjectSchema(
      "What became of the action's calls.",
      {{"action", "string", "The action's name in the cloud's API."},
       {"calls", "integer", "Calls since the server started.", "int64"},
       {"errors", "integer", "Those of them that failed.", "int64"},
       {"throttled", "integer", "Those that the cloud throttled.", "int64"},
       {"codes", "integer{}", "How often each code was the answer; OK is one.", "int64"},
       {"latency", "string", "Of the recent calls, the median."},
       {"waited", "string", "Of the recent calls, the longest wait for a turn."}});
  status["properties"]["lastError"] = CallSchema("The last call that failed.");
  Json& recent = status["properties"]["recent"];
  recent = Schema({"", "array", "The last 20 calls, the newest first."});
  recent["items"] = CallSchema("A call.");
  return status;
}

}  // namespace

ResourceType CloudCallType() {
  ResourceType type("CloudCall");
  type.short_names = {"cc"};
  type.categories = {"berth"};
  type.description =
      "An action of the cloud's API that the server calls: how often, how fast, and what the cloud "
      "answered lately.";
  type.columns = {{"Action", "string", "Its name in the cloud's API.", 0},
                  {"Calls", "integer", "Calls since the start.", 0},
                  {"Errors", "integer", "Calls that failed.", 0},
                  {"Throttled", "integer", "Calls that the cloud throttled.", 0},
                  {"Last", "string", "What the last call was answered with.", 0},
                  {"Latency", "string", "The median of the recent calls.", 0},
                  {"Age", "date", "How long ago the last call was.", 0},
                  {"Waited", "string", "The longest wait of a recent call for its turn.", 1},
                  {"Last Error", "string", "The code of the last call that failed.", 1},
                  {"Request ID", "string", "The cloud's, of that call.", 1},
                  {"Message", "string", "What the cloud said of it.", 1}};
  type.properties = Json::Object();
  type.properties["status"] = StatusSchema();
  return type;
}

void PublishCloudCalls(LiveCollection& collection, cloud::CallHistory& history) {
  for (const ActionHistory* action : history.TakeDirty()) {
    LiveCollection::Draft draft{.ns = {}, .name = NameOf(action->action)};
    draft.cells = CellsOf(*action);
    draft.content["status"] = StatusOf(*action);
    collection.Put(std::move(draft));
  }
}

}  // namespace berth::apis
