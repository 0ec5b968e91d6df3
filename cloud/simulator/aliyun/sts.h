#pragma once

#include <set>
#include <string>
#include <string_view>

#include "cloud/simulator/aliyun/gate.h"
#include "cloud/simulator/aliyun/product.h"
#include "cloud/simulator/ids.h"

namespace berth::cloud::simulator {

// Security Token Service: keys for a while, for who shows a token of a cluster's service account,
// and which account a key belongs to.
class StsProduct : public Product {
 public:
  StsProduct(Gate& gate, Ids& ids) : gate_(gate), ids_(ids) {}

  std::string_view version() const override { return "2015-04-01"; }
  bool Has(std::string_view action) const override {
    return action == kAssumeRole || action == "GetCallerIdentity";
  }
  bool IsOpen(std::string_view action) const override { return action == kAssumeRole; }
  Outcome Do(const Call& call) override;

  // The tokens that stand for the role, until they are revoked. Callers with the role's keys are
  // known by its ARN.
  void Trust(std::string oidc_token, std::string role_arn);
  void Revoke(const std::string& oidc_token) { trusted_.erase(oidc_token); }

 private:
  static constexpr std::string_view kAssumeRole = "AssumeRoleWithOIDC";

  Outcome AssumeRoleWithOidc(const Call& call);

  Gate& gate_;
  Ids& ids_;
  std::map<std::string, std::string> trusted_;  // token to role
};

}  // namespace berth::cloud::simulator
