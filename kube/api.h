#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>

#include "async/task.h"
#include "kube/error.h"
#include "kube/json_view.h"
#include "kube/transport.h"

namespace berth::kube {

// A kind of object as the API's paths name it.
struct Resource {
  std::string_view group;  // "" for the core's
  std::string_view version;
  std::string_view plural;
  std::string_view kind;
  bool namespaced = true;
};

// "/apis/GROUP/VERSION/namespaces/NS/PLURAL/NAME/SUBRESOURCE". Without a name the collection;
// without a namespace that of all namespaces. Names are escaped as paths want it.
std::string PathOf(const Resource& resource, std::string_view ns, std::string_view name = "",
                   std::string_view subresource = "");

struct CallOptions {
  std::chrono::milliseconds timeout{10'000};
  bool ahead = false;  // of the client's rate limit
};

struct ListOptions {
  std::string label_selector;
  std::string field_selector;
  std::string resource_version;  // "" for the newest, "0" for whatever the server has at hand
  int limit = 500;               // objects a page; 0 for all
  std::string continue_token;    // from the page before
  CallOptions call;              // of each page
};

struct CreateOptions {
  std::string field_manager;
  bool dry_run = false;
  CallOptions call;
};

// A strategic merge patch merges lists by the keys of their items; of built-in kinds only.
enum class PatchType { kMerge, kJson, kApply, kStrategic };

struct PatchOptions {
  std::string subresource;
  std::string field_manager;  // kApply must have one
  bool force = false;         // kApply: take fields over from other managers
  bool dry_run = false;
  CallOptions call;
};

enum class Propagation { kDefault, kBackground, kForeground, kOrphan };

struct DeleteOptions {
  std::string uid;               // only if it is still this one
  std::string resource_version;  // only if it is still as it was then
  Propagation propagation = Propagation::kDefault;
  bool dry_run = false;
  CallOptions call;
};

// The API server's verbs as tasks. Each gives the answer's body, JSON, or a typed error with
// retry_after where the server asked for one. There is no Replace: a PUT of what was read a moment
// ago undoes what others wrote since; patch instead. Arguments are taken in before a function
// returns, so only the transport must outlive the task.
class Api {
 public:
  using Body = async::Task<Result<std::string>>;

  explicit Api(Transport& transport) : transport_(&transport) {}

  Body Get(const Resource& resource, std::string_view ns, std::string_view name,
           const CallOptions& options = {}) const;

  // One page.
  Body List(const Resource& resource, std::string_view ns, const ListOptions& options = {}) const;

  struct Page {
    JsonView list;  // while it is being visited
    bool first;     // of a pass: what pages before it brought is void
  };
  using Visit = std::function<void(const Page& page)>;
  // Every page of one consistent list, from the beginning. When the server has forgotten that list
  // half-way (410) it begins anew, a few times. Ends with the list's resourceVersion.
  Body ListAll(const Resource& resource, std::string_view ns, ListOptions options,
               Visit visit) const;

  Body Create(const Resource& resource, std::string_view ns, std::string body,
              const CreateOptions& options = {}) const;

  Body Patch(const Resource& resource, std::string_view ns, std::string_view name, PatchType type,
             std::string body, const PatchOptions& options = {}) const;

  Body Delete(const Resource& resource, std::string_view ns, std::string_view name,
              const DeleteOptions& options = {}) const;

 private:
  Transport* transport_;
};

}  // namespace berth::kube
