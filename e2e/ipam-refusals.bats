# Others refuse what Berth creates: a quota, a policy. Claims wait, say why, and the API server is not stormed.
load helpers
load ipam

berth=system:serviceaccount:berth-system:berth

setup_file() {
  make_namespace refusals
  eventually 120 webhooks_in_force
}

teardown_file() {
  kubectl delete validatingadmissionpolicy,validatingadmissionpolicybinding no-subnets --ignore-not-found
  kubectl delete resourcequota no-subnets -n "$NS" --ignore-not-found
  drop_ipam_namespace
}

setup() { needs_loopback "the API server's audit log"; }

# How often Berth has asked for a Subnet in the namespace.
creates() {
  jq -n --arg ns "$NS" --arg berth "$berth" '[inputs | select(.stage == "ResponseComplete" and .user.username == $berth and .verb == "create"
    and .objectRef.resource == "subnets" and .objectRef.namespace == $ns)] | length' "$E2E_DIR/logs/audit.log"
}
message_has() { field "$1" "$2" '{.status.message}' | grep -F "$3"; }
# quota N: so many Subnets may there be. The API server goes by the status, which no controller of this control plane writes.
quota() {
  kubectl create quota no-subnets -n "$NS" --hard=count/subnets.plexaubnet.io="$1"
  kubectl patch quota no-subnets -n "$NS" --subresource=status --type=merge \
    -p "{\"status\": {\"hard\": {\"count/subnets.plexaubnet.io\": \"$1\"}, \"used\": {\"count/subnets.plexaubnet.io\": \"0\"}}}"
}
# A Subnet can be created by nobody.
in_force() {
  ! jq -n --arg ns "$NS" '{apiVersion: "plexaubnet.io/v1alpha1", kind: "Subnet", metadata: {name: "probe", namespace: $ns},
    spec: {poolRef: "none", cidr: "10.99.0.0/24", clusterID: "probe"}}' | kubectl create --dry-run=server -f -
}

# seldom: ten seconds pass in which Berth asks a few times at most, however many claims wait. It was 2,000 and more.
seldom() {
  local before until=$((SECONDS + 10))
  before=$(creates)
  while [ "$SECONDS" -lt "$until" ]; do kubectl get subnetclaims -n "$NS" >/dev/null; done
  [ $(($(creates) - before)) -le "$1" ] || fail "$(($(creates) - before)) creates in 10 s"
}

@test "a quota: claims say so, are tried seldom, and are bound once it is raised" {
  ready_pool quota 10.60.0.0/16
  quota 0
  eventually 120 in_force
  for i in 1 2 3 4 5; do create_claim "q$i" quota "q$i" '{"blockSize": 24}'; done
  for i in 1 2 3 4 5; do
    reason_becomes subnetclaim "q$i" SubnetRefused
    eventually 30 message_has subnetclaim "q$i" 'exceeded quota: no-subnets'
  done
  message_has subnetclaim q1 'raise the ResourceQuota'
  [ "$(kubectl get events -n "$NS" --field-selector reason=SubnetRefused,involvedObject.name=q1 -o name | wc -l)" -ge 1 ]
  # Until the pauses are seconds long.
  eventually 120 seldom 20
  kubectl delete resourcequota no-subnets -n "$NS"
  for i in 1 2 3 4 5; do bound "q$i" 60; done
  consistent quota 5
}

@test "a policy: the claim has its words, and is bound once it is gone" {
  ready_pool policy 10.61.0.0/16
  jq -n --arg ns "$NS" '{apiVersion: "v1", kind: "List", items: [
    {apiVersion: "admissionregistration.k8s.io/v1", kind: "ValidatingAdmissionPolicy", metadata: {name: "no-subnets"},
     spec: {failurePolicy: "Fail", matchConstraints: {resourceRules: [{apiGroups: ["plexaubnet.io"], apiVersions: ["*"], operations: ["CREATE"], resources: ["subnets"]}],
            namespaceSelector: {matchLabels: {"kubernetes.io/metadata.name": $ns}}},
            validations: [{expression: "false", message: "network changes are frozen"}]}},
    {apiVersion: "admissionregistration.k8s.io/v1", kind: "ValidatingAdmissionPolicyBinding", metadata: {name: "no-subnets"},
     spec: {policyName: "no-subnets", validationActions: ["Deny"]}}]}' | kubectl create -f -
  eventually 120 in_force
  create_claim frozen policy frozen '{"blockSize": 24}'
  reason_becomes subnetclaim frozen SubnetRefused
  message_has subnetclaim frozen 'network changes are frozen'
  message_has subnetclaim frozen 'change the policy that denies it'
  kubectl delete validatingadmissionpolicybinding no-subnets
  bound frozen 60
}

@test "a Subnet by hand that has the name of another block is in nobody's way" {
  ready_pool named 10.62.0.0/16
  kubectl create -f - <<END
{apiVersion: plexaubnet.io/v1alpha1, kind: Subnet, metadata: {name: named-10-62-0-0-24, namespace: $NS}, spec: {poolRef: named, cidr: 10.62.9.0/24, clusterID: hand}}
END
  phase_becomes subnet named-10-62-0-0-24 Allocated
  create_claim c named c '{"blockSize": 24}'
  bound c
  field_is subnetclaim c '{.status.allocatedCIDR}' 10.62.0.0/24
  [ "$(subnets_of named | "$root/e2e/disjoint.py")" = 2 ]
}
