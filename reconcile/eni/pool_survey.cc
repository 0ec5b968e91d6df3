#include "reconcile/eni/pool_survey.h"

#include <algorithm>

#include "reconcile/eni/nic_stock.h"

namespace berth::eni {
namespace {

// As many as a spec can sensibly name; keeps sums of what it does name small.
constexpr int kMostAdapters = 1000;

void CountFlavors(const NodeSpec& spec, PoolSurvey& survey) {
  const int adapters = std::clamp(spec.adapters - 1, 0, kMostAdapters);
  if (spec.flavors.empty()) {
    survey.most_adapters = survey.secondaries = adapters;
    return;
  }
  for (const Flavor& flavor : spec.flavors) {
    const int count = std::clamp(flavor.count, 0, kMostAdapters);
    survey.most_adapters = std::min(survey.most_adapters + count, adapters);
    const bool standard = flavor.traffic_mode != kHighPerformance;
    if (flavor.type == kTrunkType && standard) survey.trunks = count;
    if (flavor.type == kSecondaryType) (standard ? survey.secondaries : survey.erdmas) = count;
  }
  if (!spec.trunk) survey.trunks = 0;
  if (!spec.erdma) survey.erdmas = 0;
}

void TakeFlavor(PoolSurvey& survey, bool trunk, bool erdma) {
  --survey.adapters;
  --(trunk ? survey.trunks : erdma ? survey.erdmas : survey.secondaries);
}

void CountNic(const NodeSpec& spec, const Nic& nic, PoolSurvey& survey) {
  if (nic.status == kInvalid) return;
  TakeFlavor(survey, nic.type == kTrunkType, IsErdma(nic));
  Lane& lane = IsErdma(nic) ? survey.erdma : survey.standard;
  const NicStock stock = NicStock::Of(nic);
  if (IsInPool(nic)) {
    lane.idle += stock.Idle(spec);
    lane.room += stock.Room(spec);
  } else if (IsOnItsWay(nic)) {
    // Terway does not tell the addresses of an ENI before it is attached. It has one at least.
    lane.coming += nic.ipv4.empty() ? 1 : stock.Idle(spec);
    lane.coming_room += stock.Room(spec);
  }
}

void CountAttempt(const NodeSpec& spec, const cloud::EniRequest& request, PoolSurvey& survey) {
  const bool erdma = request.traffic_mode == kHighPerformance;
  TakeFlavor(survey, request.trunk, erdma);
  Lane& lane = erdma ? survey.erdma : survey.standard;
  const NicStock stock = NicStock::Of(request);
  lane.coming += stock.Idle(spec);
  lane.coming_room += stock.Room(spec);
}

}  // namespace

PoolSurvey PoolSurvey::Of(const Node& node, const NodeStatus& status) {
  PoolSurvey survey;
  CountFlavors(node.spec, survey);
  survey.adapters = survey.most_adapters;
  for (const auto& [id, nic] : status.nics) CountNic(node.spec, nic, survey);
  for (const auto& [token, attempt] : status.attempts)
    CountAttempt(node.spec, attempt.request, survey);
  for (int* flavor : {&survey.trunks, &survey.erdmas, &survey.secondaries})
    *flavor = std::clamp(*flavor, 0, std::max(survey.adapters, 0));
  survey.adapters = std::max(survey.adapters, 0);
  return survey;
}

}  // namespace berth::eni
