# Helpers of the tests of elastic IPs; after "load helpers".

# eip NAME [SPEC_FIELDS]: an EIP's manifest.
eip() {
  jq -n --arg name "$1" --argjson spec "${2:-{\}}" '{apiVersion: "eip.alibabacloud.com/v1alpha1", kind: "EIP", metadata: {name: $name}, spec: $spec}'
}
create_eip() { eip "$@" | kubectl create -f -; }
eip_webhooks_in_force() { eip probe '{"bandwidth": "0"}' | kubectl create --dry-run=server -f - 2>&1 | grep -F spec.bandwidth; }
refused() {
  run create_eip "$@"
  [ "$status" != 0 ] || fail "$1 was not refused"
}

# eip_field NAME JSONPATH, eip_is NAME JSONPATH VALUE
eip_field() { kubectl get eip "$1" -o "jsonpath=$2"; }
eip_is() {
  local got
  got=$(eip_field "$1" "$2") || return
  [ "$got" = "$3" ] || fail "eip $1: $2 is \"$got\", not \"$3\""
}
ready() { kubectl wait eip "$@" --for=condition=Ready --timeout=120s; }
ready_reason() { eip_is "$1" '{.status.conditions[?(@.type=="Ready")].reason}' "$2"; }
ready_message() { eip_field "$1" '{.status.conditions[?(@.type=="Ready")].message}'; }
id_of() { eip_field "$1" '{.status.allocationID}'; }
eip_gone() { ! kubectl get eip "$1"; }

deletion_seen() { [ "$(eip_field "$1" '{.status.observedGeneration}')" = "$(eip_field "$1" '{.metadata.generation}')" ]; }

# give_key ID SECRET: as if the Secret had been changed.
give_key() {
  printf '%s' "$1" >"$E2E_DIR/berth/cloud/accessKeyID"
  printf '%s' "$2" >"$E2E_DIR/berth/cloud/accessKeySecret"
}

# event NAME REASON: it has been told of the object.
event() {
  kubectl get events.events.k8s.io -A -o json | jq -e --arg name "$1" --arg reason "$2" '.items[] | select(.regarding.kind == "EIP" and .regarding.name == $name and .reason == $reason)'
}

# cloud_is ID FIELD VALUE
cloud_is() {
  local got
  got=$(in_cloud "/eips/$1" | jq -r ".$2") || return
  [ "$got" = "$3" ] || fail "$1: $2 is \"$got\", not \"$3\""
}
cloud_lacks() { ! in_cloud "/eips/$1"; }

# All are there and ready.
all_ready() { # PREFIX N
  local count
  count=$(kubectl get eips -o json | jq --arg prefix "$1" '[.items[] | select(.metadata.name | startswith($prefix)) | select(any(.status.conditions[]?; .type == "Ready" and .status == "True"))] | length')
  [ "$count" = "$2" ] || fail "$count of $2 are ready"
}
