# The aggregated API, seen by someone who looks at Berth's work queues with kubectl. The queue "housekeeping" gets an item from time to time.
load helpers

setup_file() { eventually 120 kubectl get workqueues housekeeping; }

@test "the API is available" {
  kubectl wait apiservice/v1alpha1.live.berth.dev --for=condition=Available --timeout=120s
}

@test "get shows a table" {
  run kubectl get workqueues
  [ "$status" = 0 ]
  expect NAME DEPTH housekeeping
}

@test "get -o wide shows at least as many columns" {
  narrow=$(kubectl get workqueues | awk 'NR == 1 {print NF}')
  wide=$(kubectl get workqueues -o wide | awk 'NR == 1 {print NF}')
  [ "$wide" -ge "$narrow" ]
}

@test "get -o yaml shows the object" {
  run kubectl get workqueues housekeeping -o yaml
  [ "$status" = 0 ]
  expect 'apiVersion: live.berth.dev/v1alpha1' 'kind: WorkQueue' 'name: housekeeping' 'depth:'
}

@test "get -o json shows a list that can be watched from" {
  output=$(kubectl get --raw /apis/live.berth.dev/v1alpha1/workqueues)
  expect_json .kind WorkQueueList
  expect_json '.metadata.resourceVersion | test("^[0-9]+$")' true
  expect_json '[.items[] | select(.metadata.name == "housekeeping")] | length' 1
}

@test "get -o name" {
  run kubectl get workqueues -o name
  [ "$status" = 0 ]
  expect workqueue.live.berth.dev/housekeeping
}

@test "a field selector picks one queue" {
  run kubectl get workqueues --field-selector metadata.name=housekeeping -o name
  [ "$status" = 0 ]
  [ "$output" = workqueue.live.berth.dev/housekeeping ]
}

@test "get -w shows a change" {
  watch_lines 120 2 kubectl get workqueues housekeeping -w --no-headers
  expect housekeeping
}

@test "get --watch-only shows changes of all queues as they happen" {
  watch_lines 120 1 kubectl get workqueues --watch-only --no-headers --output-watch-events
  expect MODIFIED
}

@test "a name that is not there is NotFound" {
  run kubectl get workqueues no-such-queue
  [ "$status" -ne 0 ]
  expect NotFound '"no-such-queue" not found'
}

@test "delete is refused with MethodNotAllowed" {
  run kubectl delete workqueues housekeeping
  [ "$status" -ne 0 ]
  expect MethodNotAllowed
  kubectl get workqueues housekeeping
}

@test "describe" {
  run kubectl describe workqueue housekeeping
  [ "$status" = 0 ]
  expect housekeeping WorkQueue Depth
}

@test "wait until a queue is empty" {
  kubectl wait workqueues/housekeeping --for=jsonpath='{.status.depth}'=0 --timeout=120s
}

@test "explain has words for the fields" {
  eventually 120 kubectl explain workqueues
  run kubectl explain workqueues
  expect live.berth.dev WorkQueue status DESCRIPTION
  run kubectl explain workqueues.status --recursive
  [ "$status" = 0 ]
  expect depth
}

@test "api-resources lists it" {
  run kubectl api-resources --api-group=live.berth.dev --no-headers
  [ "$status" = 0 ]
  expect workqueues live.berth.dev/v1alpha1 WorkQueue
}

@test "the group's discovery document" {
  output=$(kubectl get --raw /apis/live.berth.dev/v1alpha1)
  expect_json .kind APIResourceList
  expect_json .groupVersion live.berth.dev/v1alpha1
  expect_json '.resources[] | select(.name == "workqueues") | .kind' WorkQueue
  expect_json '.resources[] | select(.name == "workqueues") | .verbs | sort | join(" ")' 'get list watch'
}

@test "a namespace can be created and deleted while the API is there" {
  kubectl create namespace e2e-live-gone
  kubectl delete namespace e2e-live-gone --timeout=120s
}
