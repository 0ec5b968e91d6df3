#pragma once

#include <map>
#include <string>

#include "cloud/eni.h"
#include "reconcile/eni/objects.h"
#include "reconcile/eni/pod_addresses.h"

// A Nic of status and the ENI that the cloud shows under its ID.
namespace berth::eni {

// Whether the tags say that the ENI was made for this Node, or by Terway or Berth for any.
bool HasTagOf(const Node& node, const cloud::Eni& eni);
bool HasCreatorTag(const cloud::Eni& eni);
// Whether the ENI was made for this Node and an instance that it had before, where it still is.
bool IsLeftBehind(const Node& node, const cloud::Eni& eni);
// Whether the tags say that the ENI is nobody's to use here, whatever a Node's spec says.
bool IsExcluded(const cloud::Eni& eni);
// Whether the pool leaves the ENI alone. `known` is the Nic of status, null without one.
bool IsUnschedulable(const Node& node, const cloud::Eni& eni, const Nic* known);

// Takes over all but the status. New addresses and prefixes are Valid. One that the ENI lacks is
// dropped, or Invalid if a pod has it. One that was Invalid is Valid again if a pod has it, else it
// was given back before and is given back again. A primary address is never dropped while the ENI
// shows no other. O((A + P) log P).
void MergeEni(Nic& nic, const cloud::Eni& eni, const PodAddresses& pods);
void MergeVSwitch(Nic& nic, const std::map<std::string, cloud::VSwitch>& vswitches);
// Takes back all marks for release, of the Nic and of its addresses.
void KeepAll(Nic& nic);

// Counts addresses that a Node in its warm-up has got.
void CountWarmUp(NodeStatus& status, int addresses);
// The Nic is InUse. Its addresses count for the warm-up if it was on its way.
void BeginUse(NodeStatus& status, Nic& nic);
// The node does not have the Nic any more: it goes, unless a pod has an address of it. Then it is
// Invalid, and so are these addresses.
void LoseNic(NodeStatus& status, const std::string& id, const PodAddresses& pods);

}  // namespace berth::eni
