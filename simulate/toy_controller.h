#pragma once

#include <functional>
#include <memory>
#include <string>

#include "async/executor.h"
#include "kube/error.h"
#include "kube/transport.h"
#include "simulate/process.h"

// A small system with everything that makes controllers hard: a Gadget wants `spec.size` Parts of
// its own and one slot in a depot, which is not Kubernetes'. Parts and slot go when it goes.
namespace berth::simulate {

// Mistakes that people make; the simulation finds each.
enum class ToyBug {
  kNone,
  kActsOnStaleCache,  // counts what it sees in its cache, and makes what seems to be missing
  kForgetsInACrash,   // takes a slot under a new name each time it tries
  kMissesADelete,     // has no finalizer: a slot is given back when the deletion is seen
};

// The service outside. An outcome comes later, once, unless the handle is gone by then; within
// kLongest of being asked it is carried out or never.
class Depot {
 public:
  static constexpr auto kLongest = std::chrono::seconds(10);
  using Done = std::function<void(kube::Result<std::string> slot)>;

  virtual ~Depot() = default;
  // The slot held under `token`; the same one when asked again.
  virtual async::Handle Acquire(std::string token, Done done) = 0;
  // Gives it back; no error when there is none.
  virtual async::Handle Release(std::string token, Done done) = 0;
};

// The CustomResourceDefinitions, as JSON.
extern const char* const kGadgetKind;
extern const char* const kPartKind;

struct ToyOptions {
  ToyBug bug = ToyBug::kNone;
  std::string identity;
  bool elect = false;  // stand for election, work only while leading
};

// A replica of the controller, at work until it is destroyed.
std::unique_ptr<Program> StartToy(async::Executor& executor, kube::Transport& transport,
                                  Depot& depot, ToyOptions options);

}  // namespace berth::simulate
