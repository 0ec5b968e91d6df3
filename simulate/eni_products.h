#pragma once

#include <string>
#include <vector>

#include "cloud/simulator/aliyun/cloud.h"

namespace berth::simulate {

// The ENIs and servers of ECS and EFLO together. IDs tell which of them has
// one.
class EniProducts {
 public:
  explicit EniProducts(cloud::simulator::Cloud& cloud) : cloud_(cloud) {}

  static bool IsEflo(const std::string& id) {
    return id.starts_with("leni-") || id.starts_with("e01-");
  }
  // The product of an ENI or a server.
  cloud::simulator::EniProduct& Of(const std::string& id) const {
    if (IsEflo(id)) return cloud_.eflo();
    return cloud_.ecs();
  }
  // Null for none.
  const cloud::Eni* Find(const std::string& eni) const { return Of(eni).Find(eni); }
  bool HasServer(const std::string& id) const { return Of(id).instances().contains(id); }
  // Good until the next call of the cloud.
  std::vector<const cloud::simulator::EniRecord*> All() const {
    std::vector<const cloud::simulator::EniRecord*> all;
    for (const auto* product : cloud_.eni_products()) {
      for (const auto& [id, record] : product->enis()) all.push_back(&record);
    }
    return all;
  }

 private:
  cloud::simulator::Cloud& cloud_;
};

}  // namespace berth::simulate
