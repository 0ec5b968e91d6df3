#pragma once

#include <cstddef>
#include <iterator>
#include <utility>
#include <vector>

#include "json/json.h"
#include "kube/memory/collection.h"
#include "kube/memory/server.h"

namespace berth::simulate {

// Objects as the API server had them, shared with it: nothing is copied, and each state of an
// object is read once, however often it is looked at. References are good for as long as the list.
class Documents {
 public:
  class Iterator {
   public:
    using value_type = Json;
    using difference_type = std::ptrdiff_t;
    using Place = kube::memory::Server::Objects::const_iterator;

    Iterator() = default;
    explicit Iterator(Place place) : place_(place) {}
    const Json& operator*() const { return (*place_)->document(); }
    const Json* operator->() const { return &**this; }
    Iterator& operator++() {
      ++place_;
      return *this;
    }
    Iterator operator++(int) { return Iterator(place_++); }
    friend bool operator==(const Iterator&, const Iterator&) = default;

   private:
    Place place_;
  };

  Documents() = default;
  explicit Documents(kube::memory::Server::Objects objects) : objects_(std::move(objects)) {}

  Iterator begin() const { return Iterator(objects_.begin()); }
  Iterator end() const { return Iterator(objects_.end()); }
  bool empty() const { return objects_.empty(); }
  std::size_t size() const { return objects_.size(); }
  const Json& operator[](std::size_t index) const { return objects_[index]->document(); }

 private:
  kube::memory::Server::Objects objects_;
};

}  // namespace berth::simulate
