# An event and its repetition, in the bytes that kube/events_test.cc holds the recorder to, shown to the API server.
load helpers

setup_file() { make_namespace events; }
teardown_file() { drop_namespace; }

@test "describe shows an event and how often it came" {
  uid=$(create_pool office 10.20.0.0/16 | jq -r .metadata.uid)
  events=/apis/events.k8s.io/v1/namespaces/$NS/events
  event=$(jq --arg ns "$NS" --arg uid "$uid" '.metadata.namespace = $ns | .regarding += {namespace: $ns, uid: $uid}' "$root/kube/testdata/events/create.json")
  kubectl create --raw "$events" -f - <<<"$event"
  kubectl patch events.events.k8s.io "$(jq -r .metadata.name <<<"$event")" -n "$NS" --type merge --patch-file "$root/kube/testdata/events/patch.json"
  run kubectl describe subnetpool office -n "$NS"
  [ "$status" = 0 ]
  expect 'Normal  BlockReserved' '(x2 over ' "$(jq -r .reportingController <<<"$event")" '10.20.3.0/24 is reserved for node-1'
  run kubectl get events -n "$NS"
  expect 'BlockReserved   subnetpool/office'
}
