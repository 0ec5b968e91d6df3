#pragma once

#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "handlers/admission/webhooks.h"
#include "kube/api.h"
#include "reconcile/runtime/desk.h"
#include "reconcile/runtime/identity.h"
#include "reconcile/runtime/verdict.h"

namespace berth::admission {

// A verdict on an object of this kind and name as the API server is told it.
Response ResponseOf(runtime::Verdict verdict, const kube::Resource& resource,
                    std::string_view name);

template <typename T>
  requires requires(T& object) { object.id; }
runtime::Identity& IdentityOf(T& object) {
  return object.id;
}

// The rules of a system's kinds as webhooks: reviews are read as objects of a T, judged on the
// control thread by what the system knows of the others, and answered. When the control thread is
// not ready, or not in time, an object is judged by itself and a warning says so. T has
// `static kube::Result<T> From(JsonView)` and either an Identity `id` or an IdentityOf(T&).
template <typename System, typename Knowledge>
class Rules {
 public:
  // An answer to an update that need not be judged, for example because it only removes a
  // finalizer; none for others.
  using Pass = std::optional<Response> (*)(const Request& update);

  // `known_to` is called for a system that is synced. The desk outlives the webhooks' last review.
  Rules(Webhooks& webhooks, runtime::Desk<System>& desk, Knowledge (*known_to)(const System&),
        Pass pass)
      : webhooks_(webhooks), desk_(desk), known_to_(known_to), pass_(pass) {}

  // Creations and updates. An object that was stored and cannot be read is no `before`.
  template <typename T>
  void Judge(const kube::Resource& resource,
             runtime::Verdict (*judge)(const T& now, const T* before, const Knowledge& known)) {
    webhooks_.On(
        Phase::kValidate, resource, {Operation::kCreate, Operation::kUpdate},
        [*this, resource, judge](const Request& request, async::Executor& home,
                                 Webhooks::Reply reply) {
          if (auto passed = PassOf(request)) return reply(std::move(*passed));
          auto now = Read<T>(request, request.object);
          // The schema refuses what does not read as an object of its kind, where there
          // is a schema.
          if (!now) return reply(Response::Deny(kube::BadRequest(now.error().message)));
          Ask(home, resource, request.name, std::move(reply),
              [judge, now = std::make_unique<T>(std::move(*now)), before = BeforeOf<T>(request)](
                  const Knowledge& known) { return judge(*now, before.get(), known); });
        });
  }

  // Deleting an unreadable object is allowed.
  template <typename T>
  void JudgeDeletion(const kube::Resource& resource,
                     runtime::Verdict (*judge)(const T& object, const Knowledge& known)) {
    webhooks_.On(Phase::kValidate, resource, {Operation::kDelete},
                 [*this, resource, judge](const Request& request, async::Executor& home,
                                          Webhooks::Reply reply) {
                   auto object = Read<T>(request, request.old_object);
                   if (!object) return reply(Response::Allow());
                   Ask(home, resource, request.name, std::move(reply),
                       [judge, object = std::make_unique<T>(std::move(*object))](
                           const Knowledge& known) { return judge(*object, known); });
                 });
  }

  // Defaults that follow from the object alone, added to the response. An unreadable object is left
  // to Judge.
  template <typename T>
  void FillIn(const kube::Resource& resource, std::initializer_list<Operation> operations,
              void (*fill_in)(const T& now, const T* before, kube::JsonView spec,
                              Response& response)) {
    webhooks_.On(Phase::kMutate, resource, operations,
                 [*this, fill_in](const Request& request, async::Executor&, Webhooks::Reply reply) {
                   Response response;
                   const kube::JsonView spec = request.object["spec"];
                   if (!PassOf(request) && spec.is_object()) {
                     if (const auto now = Read<T>(request, request.object))
                       fill_in(*now, BeforeOf<T>(request).get(), spec, response);
                   }
                   reply(std::move(response));
                 });
  }

  // An object of a review as a value; the review says its namespace where the object does not.
  template <typename T>
  static kube::Result<T> Read(const Request& request, kube::JsonView object) {
    auto read = T::From(object);
    if (read && IdentityOf(*read).ns.empty()) IdentityOf(*read).ns = request.ns;
    return read;
  }

 private:
  std::optional<Response> PassOf(const Request& request) const {
    if (request.operation != Operation::kUpdate) return std::nullopt;
    return pass_(request);
  }

  template <typename T>
  static std::unique_ptr<const T> BeforeOf(const Request& request) {
    if (request.operation != Operation::kUpdate) return nullptr;
    auto read = Read<T>(request, request.old_object);
    return read ? std::make_unique<const T>(std::move(*read)) : nullptr;
  }

  // Only the verdict is made on the control thread: memory that one thread allocates and another
  // frees is slow, and the verdict of an allowed object allocates nothing.
  template <typename Question>
  void Ask(async::Executor& home, const kube::Resource& resource, std::string_view name,
           Webhooks::Reply reply, Question question) const {
    struct Judged {
      runtime::Verdict verdict;
      bool alone;  // nothing was known of other objects
    };
    desk_.AskWithDeadline(
        home,
        [known_to = known_to_, question = std::move(question)](System* system) {
          const bool alone = !system || !system->synced();
          return Judged{question(alone ? Knowledge() : known_to(*system)), alone};
        },
        [&resource, name = std::string(name), reply = std::move(reply)](Judged judged) mutable {
          Response response = ResponseOf(std::move(judged.verdict), resource, name);
          if (judged.alone) {
            response.Warn(
                "Berth does not know the other objects yet: conflicts with them were not looked "
                "for");
          }
          reply(std::move(response));
        });
  }

  Webhooks& webhooks_;
  runtime::Desk<System>& desk_;
  Knowledge (*known_to_)(const System&);
  Pass pass_;
};

}  // namespace berth::admission
