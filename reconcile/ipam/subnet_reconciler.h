#pragma once

#include <map>
#include <string>

#include "reconcile/ipam/context.h"

namespace berth::ipam {

// The life of Subnets: their phase follows from the Space; one whose claim is gone is deleted; one
// that is being deleted rests as long as its pool's grace period says.
class SubnetReconciler {
 public:
  explicit SubnetReconciler(Context& context) : context_(context) {}

  async::Task<Outcome> Reconcile(std::string key);

  // A Subnet that was made just now and that the watch has yet to bring: should it be gone again
  // before the watch tells of it, nobody else would notice.
  void Made(const Subnet& subnet) { unseen_.insert_or_assign(subnet.id.Key(), subnet); }
  // The watch has told of it.
  void Seen(const std::string& key) { unseen_.erase(key); }

 private:
  async::Task<Outcome> LookFor(std::string key);
  async::Task<Outcome> End(Subnet subnet);
  async::Task<Outcome> DropOrphan(Subnet subnet);
  async::Task<Step> Report(Subnet subnet);

  Context& context_;
  std::map<std::string, Subnet> unseen_;
};

}  // namespace berth::ipam
