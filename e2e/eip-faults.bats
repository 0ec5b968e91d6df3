# Elastic IPs when Berth gets another region or account with a restart, and when no call to the cloud succeeds for a while.
load helpers
load eip

setup_file() {
  load helpers
  load eip
  needs_loopback "the simulated cloud is a process beside the server"
  eventually 120 eip_webhooks_in_force
}

teardown_file() {
  load helpers
  load eip
  stop "$E2E_DIR" gate 10
  kubectl annotate eips --all --overwrite eip.alibabacloud.com/on-stuck=abandon
  kubectl delete eips --all --timeout=120s
}

# Whatever a test did, the next one finds the server as it was installed, and the cloud answers.
teardown() {
  rm -f "$E2E_DIR/tls-fails"
  in_cloud /refusal -X DELETE
  if [ -n "${own_id:-}" ]; then give_key "$own_id" "$own_secret"; fi
  if [ -n "${changed:-}" ]; then restart; fi
}

# restart [VARIABLE=VALUE...]: with another region or endpoint; see e2e/berth.
restart() {
  "$root/e2e/berth" stop "$E2E_DIR"
  env "$@" "$root/e2e/berth" start "$E2E_DIR"
}

# waits_with NAME REASON ID: the object is deleted, says why it is still there, and its address is in the cloud.
waits_with() {
  kubectl delete eip "$1" --wait=false
  eventually 120 deletion_seen "$1"
  ready_reason "$1" "$2"
  eip_is "$1" '{.status.conditions[?(@.type=="Ready")].status}' False
  cloud_is "$3" status Available
}

# --- Another region, another account

@test "in another region a deletion waits and releases nothing; back in its own the address is released" {
  create_eip region '{"bandwidth": "5"}'
  ready region
  id=$(id_of region)
  changed=yes
  restart E2E_ALIYUN_REGION=cn-beijing
  eventually 120 ready_reason region WrongRegion
  waits_with region WrongRegion "$id"
  [[ $(ready_message region) == *'give Berth the region cn-hangzhou'* ]]
  restart
  changed=
  eventually 120 eip_gone region
  cloud_lacks "$id"
  eventually 120 event region Released
}

@test "restarted with a key of another account a deletion waits and releases nothing; with its own key the address is released" {
  create_eip account '{"bandwidth": "5"}'
  ready account
  id=$(id_of account)
  own=$(eip_field account '{.status.account}')
  own_id=$(cat "$E2E_DIR/berth/cloud/accessKeyID") own_secret=$(cat "$E2E_DIR/berth/cloud/accessKeySecret")
  in_cloud /keys/LTAIother/42 -X PUT -d other-secret
  changed=yes
  give_key LTAIother other-secret
  restart
  eventually 120 ready_reason account WrongAccount
  waits_with account WrongAccount "$id"
  [[ $(ready_message account) == *"access key of account $own"* ]]
  give_key "$own_id" "$own_secret"
  restart
  changed=
  eventually 120 eip_gone account
  cloud_lacks "$id"
}

# --- Faults that pass

# still_ready NAME...: for whatever reason.
still_ready() {
  local name
  for name; do eip_is "$name" '{.status.conditions[?(@.type=="Ready")].status}' True || return; done
}
# in_sync NAME...: Ready, and the cloud's answer is in the status.
in_sync() {
  local name
  for name; do
    still_ready "$name" && eip_is "$name" '{.status.conditions[?(@.type=="Synced")].status}' True &&
      eip_is "$name" '{.status.observedGeneration}' "$(eip_field "$name" '{.metadata.generation}')" || return
  done
}

# survives_40s PREFIX BEGIN END: two EIPs stay Ready during a fault of 40 s, a third one is changed in it; 30 s after its end all are in sync.
survives_40s() {
  local name
  for name in "$1-a" "$1-b" "$1-changed"; do create_eip "$name" '{"bandwidth": "5"}'; done
  ready "$1-a" "$1-b" "$1-changed"
  id=$(id_of "$1-changed")
  "$2"
  kubectl patch eip "$1-changed" --type merge -p '{"spec":{"bandwidth":"20"}}'
  eventually 30 ready_reason "$1-changed" SyncFailed
  throughout 40 still_ready "$1-a" "$1-b"
  ready_reason "$1-changed" SyncFailed
  "$3"
  eventually 30 in_sync "$1-a" "$1-b" "$1-changed"
  cloud_is "$id" bandwidth 20
}

break_clock() { in_cloud /refusal/InvalidTimeStamp.Expired -X PUT -d ""; }
mend_clock() { in_cloud /refusal -X DELETE; }

@test "40 s of InvalidTimeStamp.Expired leave Ready alone, and 30 s later all are in sync" {
  survives_40s clock break_clock mend_clock
}

break_tls() { touch "$E2E_DIR/tls-fails"; }
mend_tls() { rm "$E2E_DIR/tls-fails"; }

@test "40 s of failed TLS handshakes leave Ready alone, and 30 s later all are in sync" {
  port=$(free_ports 1)
  spawn "$E2E_DIR" gate "$root/e2e/tls_gate.py" "$port" "$E2E_CLOUD_PORT" "$E2E_DIR/tls-fails"
  await "$E2E_DIR" gate 30 curl -fsS --noproxy '*' --cacert "$E2E_DIR/cloud/certs/ca.crt" "https://localhost:$port/ledger"
  changed=yes
  restart "E2E_ALIYUN_ENDPOINT=https://localhost:$port"
  survives_40s tls break_tls mend_tls
}
