#include "kube/memory/cluster.h"

#include "kube/age.h"
#include "kube/memory/watch.h"
#include "kube/names.h"
#include "log/format.h"

namespace berth::kube::memory {

std::int64_t Cluster::UnixNow() const {
  return std::chrono::floor<std::chrono::seconds>(Now()).time_since_epoch().count();
}

std::string Cluster::Date() const { return Timestamp(UnixNow()); }

std::string Cluster::NewUid() {
  // Version 4 of RFC 9562.
  const std::uint64_t high = (Random() & ~0xF000ULL) | 0x4000;
  const std::uint64_t low = (Random() & ~(3ULL << 62)) | (2ULL << 62);
  return Format("{:08x}-{:04x}-{:04x}-{:04x}-{:012x}", high >> 32, high >> 16 & 0xFFFF,
                high & 0xFFFF, low >> 48, low & 0xFFFF'FFFF'FFFF);
}

std::string Cluster::NewSuffix() { return NameSuffix(Random()); }

ObjectPtr Cluster::Put(Resource& resource, const std::string& key, Value object) {
  object["metadata"].insert_or_assign("resourceVersion", std::to_string(++version_));
  auto stored = std::make_shared<const Object>(std::move(object));
  Announce(resource, resource.objects.Put(key, stored));
  return stored;
}

ObjectPtr Cluster::Remove(Resource& resource, const std::string& key) {
  Value object = resource.objects.Find(key)->value;
  object["metadata"].insert_or_assign("resourceVersion", std::to_string(++version_));
  auto last = std::make_shared<const Object>(std::move(object));
  Announce(resource, resource.objects.Remove(key, last));
  return last;
}

void Cluster::Announce(Resource& resource, const Change& change) {
  Publish(resource, change, UnixNow());
  for (const Listener& listener : listeners_) listener(resource, change);
}

}  // namespace berth::kube::memory
