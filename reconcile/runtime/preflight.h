#pragma once

#include <string>
#include <utility>
#include <vector>

#include "async/task.h"
#include "kube/api.h"
#include "kube/json_view.h"

// The parts of `berth preflight` that systems share.
namespace berth::runtime {

// An object that would behave otherwise under Berth than its users may expect.
struct Finding {
  std::string object;  // "SubnetPool namespace/name"
  std::string what;
  std::string advice;
  friend bool operator==(const Finding&, const Finding&) = default;
};

// All objects of a kind, in memory at once; none when the cluster does not have the kind.
template <typename T>
async::Task<kube::Result<std::vector<T>>> ReadAll(kube::Api api, kube::Resource resource) {
  std::vector<T> objects;
  kube::Result<void> understood;
  const auto listed =
      co_await api.ListAll(resource, "", {}, [&objects, &understood](const kube::Api::Page& page) {
        if (page.first) objects.clear();
        page.list["items"].ForEachItem([&](kube::JsonView item) {
          auto object = T::From(item);
          if (object) {
            objects.push_back(std::move(*object));
          } else {
            understood = std::unexpected(object.error());
          }
        });
      });
  if (!listed && listed.error().code == 404) co_return std::vector<T>();
  if (!listed) co_return std::unexpected(listed.error());
  if (!understood) co_return std::unexpected(understood.error());
  co_return objects;
}

}  // namespace berth::runtime
