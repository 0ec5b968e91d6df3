# `berth demo`, seen by someone who has kubectl and no cluster. Needs none: the API server is the demo's own.
NEEDS_CLUSTER=no
load helpers

setup_file() {
  export DEMO=$BATS_FILE_TMPDIR/demo
  # The newest that was built here, else any.
  export USER_HOME=$HOME
  kubectl=$(compgen -G "${BERTH_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/berth}/controlplane/*/kubectl" | head -n 1)
  [ -n "$kubectl" ] || kubectl=$("$root/e2e/controlplane/kubectl")
  export PATH=$(dirname "$kubectl"):$PATH KUBECONFIG=$DEMO/state/kubeconfig HOME=$BATS_FILE_TMPDIR NS=default
  spawn "$DEMO" berth "${BERTH_BIN:-$root/build/release/server/berth}" demo --port 0 --state-dir "$DEMO/state"
  await "$DEMO" berth 120 grep -q '^  curl ' "$DEMO/logs/berth.log"
  eventually 120 without_warning >/dev/null
}

teardown_file() {
  stop "$DEMO" berth
  [ "$(cat "$DEMO/run/berth.exit")" = 0 ]
}

# Until Berth has read all objects its webhooks warn that they cannot compare.
without_warning() { pool probe 10.0.0.0/16 | kubectl create --dry-run=server --warnings-as-errors -f -; }

teardown() { kubectl delete subnetpools --all --timeout=120s >/dev/null; }

# apply_pool NAME CIDR [SPEC_FIELDS]
apply_pool() { pool "$@" | kubectl apply -f -; }

type_all() {
  run type_printed "$DEMO/logs/berth.log"
  [ "$status" = 0 ] || fail "$output"
  source_systems
  expect "${printed_shows[@]}" '/apis/live.berth.dev/v1alpha1/workqueues'
  delete_all
  kubectl delete services,pods --all --grace-period=0 --timeout=60s
}

@test "every command that it prints can be typed" { type_all; }

@test "every command that it prints can be typed with the oldest kubectl that is supported" {
  find_client kubectl
  export PATH=$(dirname "$client"):$PATH
  run kubectl version --client
  expect 'Client Version: v1.28.'
  type_all
}

@test "a printed command that never ends is ended and named" {
  printf 'Wait:\n  sleep 1000   # refused\n' >"$BATS_TEST_TMPDIR/text"
  typing_deadline=1
  run type_printed "$BATS_TEST_TMPDIR/text"
  [ "$status" = 1 ]
  expect 'ended after 1 s: sleep 1000'
}

@test "the tour applies every example, shows commands and output, and leaves the cluster until it is ended" {
  log=$BATS_TEST_TMPDIR/tour
  BERTH_BIN=${BERTH_BIN:-$root/build/release/server/berth} "$root/scripts/demo" --tour >"$log" 2>&1 3>&- &
  tour=$!
  eventually 240 grep -q 'The cluster is yours until Ctrl-C' "$log" || { kill "$tour"; cat "$log"; false; }
  config=$(sed -n 's/^  export KUBECONFIG=//p' "$log")
  run kubectl --kubeconfig "$config" get subnetclaim shop -n network -o 'jsonpath={.status.allocatedCIDR}'
  kill "$tour"
  wait "$tour" || [ "$?" = 143 ]
  [ "$output" = 10.0.0.0/24 ]
  output=$(cat "$log")
  for example in "$root"/docs/examples/*.yaml; do
    verb=apply
    if [ "${example##*/}" = sandboxrequest.yaml ]; then verb=create; fi  # a call, not an object that is kept
    expect "$ kubectl $verb -f docs/examples/${example##*/}"
  done
  source_systems
  expect "${tour_shows[@]}"
  expect_not 'any key'
  run kubectl --kubeconfig "$config" get subnetpools
  [ "$status" -ne 0 ]
}

# type_documented FILE: runs the commands of a document, the indented lines that begin with "$ ", in order, each with its here-document. A command whose
# output is shown as an error has to fail. Fails itself when there are no commands.
type_documented() {
  local line command= shown= typed=0
  while IFS= read -r line <&9; do
    if [[ $command == *'<<END'* && $command != *$'\nEND' ]]; then
      command+=$'\n'${line#    }
    elif [[ $line == '    $ '* || $line != '    '* ]]; then
      if [ -n "$command" ]; then type_one "$command" "$shown" || return 1; typed=$((typed + 1)); fi
      command= shown=
      if [[ $line == '    $ '* ]]; then command=${line#*$ }; fi
    elif [ -z "$shown" ]; then
      shown=${line#    }
    fi
  done 9< <(cat "$1" && echo)
  ((typed > 0))
}

type_one() {
  local status=0 expected=0
  printf '\n$ %s\n' "$1"
  case $2 in 'Error from server'* | 'The '*' is invalid:'*) expected=1 ;; esac
  type_command "$1" || status=$?
  ((status == expected)) || fail "status $status, not $expected, as shown by: $2"
}

@test "the commands of README and of each system's document work in the order in which they are printed" {
  dir=$BATS_TEST_TMPDIR/documented
  spawn "$dir" berth "${BERTH_BIN:-$root/build/release/server/berth}" demo --port 0 --state-dir "$dir/state"
  await "$dir" berth 120 grep -q '^  curl ' "$dir/logs/berth.log"
  cd "$root"
  documents=(README.md)
  for system in charts/berth/files/systems/*.yaml; do documents+=(docs/"$(basename "$system" .yaml)"*.md); done
  for document in "${documents[@]}"; do
    KUBECONFIG=$dir/state/kubeconfig run type_documented "$document"
    [ "$status" = 0 ] || { stop "$dir" berth; fail "$document: $output"; }
  done
  stop "$dir" berth
}

@test "api-resources lists the CRDs, the aggregated API and what every cluster has" {
  run kubectl api-resources
  [ "$status" = 0 ]
  expect 'plexaubnet.io/v1alpha1' SubnetPool SubnetClaim SubnetPoolClaim live.berth.dev/v1alpha1 WorkQueue ConfigMap
}

@test "get shows the CRD's columns" {
  apply_pool office 10.20.0.0/16
  run kubectl get subnetpools
  [ "$status" = 0 ]
  [[ ${lines[0]} =~ ^NAME\ +CIDR\ +STRATEGY\ +ALLOCATED\ +AGE$ ]]
  [[ ${lines[1]} =~ ^office\ +10.20.0.0/16\ +Linear\ +(0\ +)?[0-9]+s$ ]]
  run kubectl get subnetpools -A --show-labels
  expect NAMESPACE default LABELS
}

@test "get -o yaml, -o name, -o jsonpath and by category" {
  apply_pool office 10.20.0.0/16
  run kubectl get subnetpool office -o yaml
  expect 'kind: SubnetPool' 'cidr: 10.20.0.0/16' 'defaultBlockSize: 24'
  run kubectl get berth -o name
  expect subnetpool.plexaubnet.io/office workqueue.live.berth.dev/housekeeping
  run kubectl get subnetpool office -o 'jsonpath={.spec.strategy}'
  [ "$output" = Linear ]
}

@test "apply creates, leaves alone what is the same, and configures what changed" {
  run apply_pool office 10.20.0.0/16
  [ "$output" = 'subnetpool.plexaubnet.io/office created' ]
  run apply_pool office 10.20.0.0/16
  [ "$output" = 'subnetpool.plexaubnet.io/office unchanged' ]
  run apply_pool office 10.20.0.0/16 '{"defaultBlockSize": 26}'
  [ "$output" = 'subnetpool.plexaubnet.io/office configured' ]
  run kubectl get subnetpool office -o 'jsonpath={.spec.defaultBlockSize} {.metadata.generation}'
  [ "$output" = '26 2' ]
  run apply_pool office 10.20.0.0/16
  [ "$output" = 'subnetpool.plexaubnet.io/office configured' ]
}

@test "apply --server-side is refused with what to do instead" {
  run kubectl apply --server-side -f <(pool office 10.20.0.0/16)
  [ "$status" = 1 ]
  expect 'the API server in memory keeps no managed fields: apply without --server-side'
}

@test "a manifest with a mistake is refused, with the field and what was meant" {
  run kubectl apply -f "$root/docs/examples/pool-refused.yaml"
  [ "$status" = 1 ]
  [ "$output" = 'The SubnetPool "typo" is invalid: spec.cidr: Invalid value: "10.20.0.5/16": host bits are set; the canonical form is "10.20.0.0/16"' ]
}

@test "a field that the schema does not know is refused, and so is a wrong type" {
  run apply_pool office 10.20.0.0/16 '{"colour": "red"}'
  [ "$status" -ne 0 ]
  expect 'unknown field "spec.colour"'
  run apply_pool office 10.20.0.0/16 '{"strategy": "Best"}'
  [ "$status" -ne 0 ]
  expect 'spec.strategy: Unsupported value: "Best"'
}

@test "patch, label and annotate" {
  apply_pool office 10.20.0.0/16
  kubectl patch subnetpool office --type=merge -p '{"spec":{"defaultBlockSize":27}}'
  kubectl patch subnetpool office --type=json -p '[{"op":"replace","path":"/spec/strategy","value":"Buddy"}]'
  kubectl label subnetpool office team=network
  kubectl annotate subnetpool office note='hello there'
  run kubectl get subnetpools -l team=network -o 'jsonpath={.items[0].spec}'
  expect_json '.defaultBlockSize' 27
  expect_json '.strategy' Buddy
  kubectl label subnetpool office team-
  run kubectl get subnetpools -l team=network
  expect 'No resources found'
}

@test "an edit without a change and one with" {
  apply_pool office 10.20.0.0/16
  run env EDITOR=true kubectl edit subnetpool office
  expect 'Edit cancelled, no changes made.'
  run env EDITOR='sed -i s/Linear/Buddy/' kubectl edit subnetpool office
  expect 'subnetpool.plexaubnet.io/office edited'
}

@test "get -w follows a pool from its creation to its end" {
  kubectl get subnetpools -w --output-watch-events >"$BATS_TEST_TMPDIR/watch" 3>&- &
  watcher=$!
  pool first 10.1.0.0/16 | kubectl create -f -
  eventually 120 grep -q 'ADDED .*first' "$BATS_TEST_TMPDIR/watch"
  kubectl label subnetpool first a=b
  kubectl delete subnetpool first
  eventually 120 grep -q 'DELETED .*first' "$BATS_TEST_TMPDIR/watch"
  kill "$watcher"
  wait "$watcher" || :
  grep -q 'MODIFIED .*first .*10.1.0.0/16' "$BATS_TEST_TMPDIR/watch"
}

@test "wait for a field and for the end" {
  apply_pool office 10.20.0.0/16
  kubectl wait subnetpool/office --for=jsonpath='{.spec.defaultBlockSize}'=24 --timeout=120s
  kubectl wait subnetpool/office --for=delete --timeout=120s 3>&- &
  waiter=$!
  kubectl delete subnetpool office
  wait "$waiter"
}

@test "delete waits for finalizers, and a name that is not there is NotFound" {
  apply_pool held 10.20.0.0/16
  kubectl patch subnetpool held --type=merge -p '{"metadata":{"finalizers":["example.com/hold"]}}'
  run kubectl delete subnetpool held --timeout=1s
  [ "$status" -ne 0 ]
  [ -n "$(kubectl get subnetpool held -o 'jsonpath={.metadata.deletionTimestamp}')" ]
  kubectl patch subnetpool held --type=json -p '[{"op":"remove","path":"/metadata/finalizers"}]'
  run kubectl get subnetpool held
  [ "$status" -ne 0 ]
  expect 'Error from server (NotFound): subnetpools.plexaubnet.io "held" not found'
}

@test "describe shows fields and events" {
  apply_pool office 10.20.0.0/16
  run kubectl describe subnetpool office
  [ "$status" = 0 ]
  expect 'Name:         office' 'Cidr:' '10.20.0.0/16' 'Events:' '<none>'
  uid=$(kubectl get subnetpool office -o 'jsonpath={.metadata.uid}')
  kubectl create -f - <<END
{"apiVersion": "v1", "kind": "Event", "metadata": {"name": "office.1", "namespace": "default"}, "type": "Normal", "reason": "Surveyed", "message": "all is well",
 "involvedObject": {"apiVersion": "plexaubnet.io/v1alpha1", "kind": "SubnetPool", "name": "office", "namespace": "default", "uid": "$uid"}}
END
  run kubectl describe subnetpool office
  expect Surveyed 'all is well'
  kubectl delete event office.1
}

@test "explain has words for the fields" {
  run kubectl explain subnetpools
  [ "$status" = 0 ]
  expect 'GROUP:      plexaubnet.io' 'KIND:       SubnetPool' 'range of addresses' spec
  run kubectl explain subnetpools.spec.strategy
  expect 'How a block is chosen' Linear Buddy
  run kubectl explain workqueues.status --recursive
  expect live.berth.dev depth
}

@test "work queues: table, wide, watch" {
  run kubectl get workqueues -o wide
  [ "$status" = 0 ]
  expect NAME DEPTH ADDS DELAYED housekeeping
  watch_lines 120 2 kubectl get workqueues housekeeping -w --no-headers
}

@test "what can only be created is created, without a word about its schema" {
  apply_pool office 10.20.0.0/16
  cat >"$BATS_TEST_TMPDIR/order" <<END
{"apiVersion": "live.berth.dev/v1alpha1", "kind": "PoolRecalculation", "metadata": {"name": "now", "namespace": "default"}, "spec": {"pool": "office"}}
END
  run eventually 120 kubectl create -f "$BATS_TEST_TMPDIR/order"
  expect 'poolrecalculation.live.berth.dev/now created'
}

@test "a namespace, with pools in it, comes and goes" {
  kubectl create namespace lab
  NS=lab apply_pool inside 10.20.0.0/16
  kubectl delete namespace lab --timeout=120s
  run kubectl get subnetpools -n lab
  expect 'No resources found'
}

@test "create makes what its subcommands can" {
  kubectl create configmap settings --from-literal=k=v
  kubectl create secret generic hidden --from-literal=k=v
  kubectl create serviceaccount bot
  kubectl create service clusterip web --tcp=80
  run kubectl get configmap/settings secret/hidden -o 'jsonpath={.items[0].data.k} {.items[1].data.k}'
  [ "$output" = 'v dg==' ]
  run kubectl get all
  expect service/web
  kubectl delete configmap/settings secret/hidden serviceaccount/bot service/web
}

@test "a pod runs on a node, is an endpoint of its service, and ends in time" {
  kubectl run web --image=example.com/web --port=8080 --labels=app=web
  kubectl wait pod/web --for=condition=Ready --timeout=120s
  kubectl expose pod web --port=80 --target-port=8080
  eventually 120 is_endpoint true
  run kubectl get nodes -o wide
  [[ ${lines[0]} =~ ^NAME\ +STATUS\ +ROLES\ +AGE\ +VERSION\ +INTERNAL-IP\ +EXTERNAL-IP ]]
  [[ ${lines[3]} =~ ^worker-3\ +Ready\ .*\ 172\.16\.0\.3\  ]]
  run kubectl get pods -l app=web -o wide
  [[ ${lines[0]} =~ ^NAME\ +READY\ +STATUS\ +RESTARTS\ +AGE\ +IP\ +NODE ]]
  [[ ${lines[1]} =~ ^web\ +1/1\ +Running\ +0\ +[0-9]+s\ +10\.128\.[0-9.]+\ +worker- ]]
  run kubectl get endpointslices -l kubernetes.io/service-name=web
  [[ ${lines[0]} =~ ^NAME\ +ADDRESSTYPE\ +PORTS\ +ENDPOINTS\ +AGE$ ]]
  [[ ${lines[1]} =~ ^web-[a-z0-9]{5}\ +IPv4\ +8080\ +10\.128\. ]]
  kubectl annotate pod web berth.dev/ready=false
  kubectl wait pod/web --for=condition=Ready=false --timeout=120s
  eventually 120 is_endpoint false
  run kubectl describe pod web
  expect '/172.16.0.' Running '10.128.'
  kubectl delete pod web --grace-period=3 --wait=false
  run kubectl get pod web
  expect Terminating
  kubectl wait pod/web --for=delete --timeout=120s
  kubectl delete service web
  eventually 120 no_slices
}

is_endpoint() { [ "$(kubectl get endpointslices -l kubernetes.io/service-name=web -o 'jsonpath={.items[*].endpoints[*].conditions.ready}')" = "$1" ]; }
no_slices() { [ -z "$(kubectl get endpointslices -o name)" ]; }

@test "auth can-i says yes, and whoami who" {
  run kubectl auth can-i create subnetpools
  [ "$output" = yes ]
  run kubectl auth whoami
  expect system:masters
}

@test "a field that is left out is warned of" {
  run kubectl create --validate=warn -f <(pool office 10.20.0.0/16 '{"colour": "red"}')
  [ "$status" = 0 ]
  expect 'Warning: unknown field "spec.colour"' created
}

@test "what a webhook warns of is shown" {
  apply_pool office 10.20.0.0/16
  run kubectl create -f - <<END
{"apiVersion": "plexaubnet.io/v1alpha1", "kind": "SubnetClaim", "metadata": {"name": "shop", "namespace": "default"}, "spec": {"poolRef": "nowhere", "clusterID": "shop", "blockSize": 24}}
END
  expect Warning: nowhere
  kubectl delete subnetclaim shop
}

@test "what an owner owned goes with it" {
  apply_pool owner 10.20.0.0/16
  uid=$(kubectl get subnetpool owner -o 'jsonpath={.metadata.uid}')
  kubectl create -f - <<END
{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "owned", "namespace": "default", "ownerReferences": [
  {"apiVersion": "plexaubnet.io/v1alpha1", "kind": "SubnetPool", "name": "owner", "uid": "$uid"}]}}
END
  kubectl delete subnetpool owner
  kubectl wait configmap/owned --for=delete --timeout=120s
}

@test "without the token nobody is anybody" {
  server=$(kubectl config view -o 'jsonpath={.clusters[0].cluster.server}')
  http -k "$server/apis/plexaubnet.io/v1alpha1/subnetpools"
  expect_code 401
  expect_json .reason Unauthorized
  http -K "$DEMO/state/curl" "$server/apis/plexaubnet.io/v1alpha1/subnetpools"
  expect_code 200
}
