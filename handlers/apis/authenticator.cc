#include "handlers/apis/authenticator.h"

#include <drogon/utils/Utilities.h>
#include <trantor/net/EventLoop.h>

#include <algorithm>

#include "handlers/apis/digest.h"
#include "handlers/http.h"
#include "json/json.h"
#include "log/escape.h"
#include "log/log.h"

namespace berth::apis {
namespace {

constexpr std::size_t kTokens = 1024;
constexpr std::chrono::seconds kTokenLifetime{10};
constexpr std::chrono::seconds kRefusalLifetime{5};
constexpr const char* kAuthenticated = "system:authenticated";
constexpr const char* kAnonymous = "system:anonymous";

std::string Lower(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

// The token of "Bearer TOKEN"; "" where there is none. What is not plain ASCII is no token, and the
// API server could not be asked about it.
std::string BearerToken(std::string_view authorization) {
  constexpr std::string_view kScheme = "bearer ";
  if (Lower(std::string(authorization.substr(0, kScheme.size()))) != kScheme) return {};
  const std::string_view token = authorization.substr(kScheme.size());
  const bool plain = std::ranges::all_of(token, [](char c) { return c > 0x20 && c < 0x7f; });
  return plain ? std::string(token) : std::string();
}

bool IsUtf8(const std::string& text) { return log::ToUtf8(text, text.size()) == text; }

// Names that are not UTF-8 cannot be asked about: JSON cannot say them.
bool IsUtf8(const User& user) {
  const auto all = [](const std::vector<std::string>& texts) {
    return std::ranges::all_of(texts, [](const std::string& text) { return IsUtf8(text); });
  };
  return IsUtf8(user.name) && IsUtf8(user.uid) && all(user.groups) &&
         std::ranges::all_of(user.extra, [&](const auto& entry) {
           return IsUtf8(entry.first) && all(entry.second);
         });
}

// The ConfigMap holds lists as JSON in text. A list that cannot be read is an error, never an empty
// one: no allowed names means that every name is.
kube::Result<void> ReadTextList(kube::JsonView data, const std::string& key,
                                std::vector<std::string>& list) {
  const std::string_view text = data[key].StringOr("");
  if (text.empty()) return {};
  kube::JsonDocument document;
  const auto parsed = document.Parse(text);
  bool understood = parsed && parsed->is_array();
  if (understood) {
    parsed->ForEachItem([&](kube::JsonView item) {
      understood = understood && item.is_string();
      list.emplace_back(item.StringOr(""));
    });
  }
  if (!understood) return kube::Terminal(key + " in the ConfigMap is not a list of texts");
  return {};
}

// Adds system:authenticated, as every API server does.
User Completed(User user) {
  if (user.name != kAnonymous &&
      std::ranges::find(user.groups, kAuthenticated) == user.groups.end()) {
    user.groups.emplace_back(kAuthenticated);
  }
  return user;
}

std::expected<User, kube::Status> UserFromReview(const std::string& body) {
  kube::JsonDocument document;
  const auto review = document.Parse(body);
  const kube::JsonView status = review ? (*review)["status"] : kube::JsonView();
  if (!status["authenticated"].Bool().value_or(false)) return std::unexpected(kube::Unauthorized());
  const kube::JsonView in = status["user"];
  User user{.name = std::string(in["username"].StringOr("")),
            .uid = std::string(in["uid"].StringOr(""))};
  if (user.name.empty()) return std::unexpected(kube::Unauthorized());
  in["groups"].ForEachItem(
      [&](kube::JsonView group) { user.groups.emplace_back(group.StringOr("")); });
  in["extra"].ForEach([&](std::string_view key, kube::JsonView values) {
    auto& list = user.extra[std::string(key)];
    values.ForEachItem([&](kube::JsonView value) { list.emplace_back(value.StringOr("")); });
  });
  return Completed(std::move(user));
}

}  // namespace

kube::Result<RequestHeaderConfig> RequestHeaderConfig::FromConfigMap(kube::JsonView config_map) {
  const kube::JsonView data = config_map["data"];
  if (!data.is_object()) return kube::Terminal("the ConfigMap has no data");
  RequestHeaderConfig config;
  config.client_ca_pem = data["requestheader-client-ca-file"].StringOr("");
  const std::pair<const char*, std::vector<std::string>*> lists[] = {
      {"requestheader-allowed-names", &config.allowed_names},
      {"requestheader-username-headers", &config.username_headers},
      {"requestheader-uid-headers", &config.uid_headers},
      {"requestheader-group-headers", &config.group_headers},
      {"requestheader-extra-headers-prefix", &config.extra_prefixes}};
  for (const auto& [key, list] : lists) {
    if (const auto read = ReadTextList(data, key, *list); !read)
      return std::unexpected(read.error());
  }
  return config;
}

RequestHeaderConfig RequestHeaderConfig::Usual(std::string client_ca_pem,
                                               std::vector<std::string> allowed_names) {
  return {.client_ca_pem = std::move(client_ca_pem),
          .allowed_names = std::move(allowed_names),
          .username_headers = {"X-Remote-User"},
          .uid_headers = {"X-Remote-Uid"},
          .group_headers = {"X-Remote-Group"},
          .extra_prefixes = {"X-Remote-Extra-"}};
}

Authenticator::Authenticator(kube::Client* client, NameOfPeer name_of_peer)
    : client_(client),
      name_of_peer_(std::move(name_of_peer)),
      tokens_(kTokens, kTokenLifetime),
      refused_(kTokens, kRefusalLifetime) {}

std::expected<User, kube::Status> Authenticator::FromHeaders(
    const drogon::HttpRequestPtr& request, const RequestHeaderConfig& config) const {
  User user;
  for (const auto& header : config.username_headers) {
    const auto values = http::Values(request, header);
    if (values.empty()) continue;
    // Two names for one caller: somebody upstream did not strip what it should have.
    if (values.size() > 1 || !user.name.empty()) return std::unexpected(kube::Unauthorized());
    user.name = values.front();
  }
  if (user.name.empty()) return std::unexpected(kube::Unauthorized());
  for (const auto& header : config.uid_headers) {
    if (const auto values = http::Values(request, header); !values.empty())
      user.uid = values.front();
  }
  for (const auto& header : config.group_headers) {
    for (auto& group : http::Values(request, header)) user.groups.push_back(std::move(group));
  }
  for (const auto& prefix : config.extra_prefixes) {
    const std::string lower = Lower(prefix);
    for (const auto& [name, unused] : request->headers()) {
      if (!name.starts_with(lower)) continue;
      auto& values = user.extra[Lower(drogon::utils::urlDecode(name.substr(lower.size())))];
      for (auto& value : http::Values(request, name)) values.push_back(std::move(value));
    }
  }
  if (!IsUtf8(user)) return std::unexpected(kube::Unauthorized());
  return Completed(std::move(user));
}

void Authenticator::Authenticate(const drogon::HttpRequestPtr& request, Done done) {
  const auto config = config_.load();
  const std::string& authorization = request->getHeader("authorization");
  if (request->peerCertificate() && config) {
    const auto name = name_of_peer_(request, {config, &config->client_ca_pem});
    if (!name) {
      log::Warn("client certificate has expired or is not of the current request-header CA",
                {{"peer", request->peerAddr().toIp()}});
      return done(std::unexpected(kube::Unauthorized()));
    }
    const bool allowed =
        config->allowed_names.empty()
            ? !name->empty()
            : std::ranges::find(config->allowed_names, *name) != config->allowed_names.end();
    if (!allowed) {
      log::Warn("client certificate is not the front proxy's",
                {{"commonName", *name}, {"peer", request->peerAddr().toIp()}});
      return done(std::unexpected(kube::Unauthorized()));
    }
    // The front proxy strips the caller's own credentials; both at once is not its request.
    if (!authorization.empty()) return done(std::unexpected(kube::Unauthorized()));
    return done(FromHeaders(request, *config));
  }
  const std::string token = BearerToken(authorization);
  if (!token.empty() && client_) return ReviewToken(token, std::move(done));
  done(std::unexpected(kube::Unauthorized()));
}

std::expected<User, kube::Status> Authenticator::Remember(const std::string& key,
                                                          const std::string& review) {
  auto user = UserFromReview(review);
  if (user) {
    tokens_.Put(key, *user);
  } else {
    refused_.Put(key, user.error());
  }
  return user;
}

void Authenticator::ReviewToken(const std::string& token, Done done) {
  const std::string key = Digest(token);
  if (auto user = tokens_.Get(key)) return done(std::move(*user));
  if (auto refusal = refused_.Get(key)) return done(std::unexpected(std::move(*refusal)));
  Json review;
  review["apiVersion"] = "authentication.k8s.io/v1";
  review["kind"] = "TokenReview";
  review["spec"] = Json::Object();
  review["spec"]["token"] = token;
  trantor::EventLoop* loop = trantor::EventLoop::getEventLoopOfCurrentThread();
  client_->Send(
      {.method = kube::Method::kPost,
       .path = "/apis/authentication.k8s.io/v1/tokenreviews",
       .body = review.to_string(),
       .ahead = true},
      [this, loop, key, done = std::move(done)](kube::Result<kube::Response> answer) {
        std::expected<User, kube::Status> user = std::unexpected(kube::Unauthorized());
        if (answer) {
          user = Remember(key, answer->body);
        } else {
          log::Warn("token review failed", {{"error", answer.error().message}});
          user = std::unexpected(kube::ServiceUnavailable("the token cannot be reviewed now"));
        }
        loop->queueInLoop([done, user = std::move(user)] { done(user); });
      });
}

}  // namespace berth::apis
