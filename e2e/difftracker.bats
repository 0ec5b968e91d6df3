# Load balancers of Services and NAT gateways of egress pods, seen by someone who has kubectl; Azure is a simulated one. There is no kubelet: nodes, the
# status of pods and EndpointSlices are written by the tests.
load helpers
load difftracker

setup_file() {
  load helpers
  load difftracker
  needs_loopback "the simulated Azure is a process beside the server"
  make_namespace difftracker
  export RUN=$RANDOM
  make_node "dt-$RUN-1" 10.77.0.1
  make_node "dt-$RUN-2" 10.77.0.2
  # Resources of somebody else, some with names that look like Berth's.
  in_azure /resources/natGateways/corp-egress -X PUT -d '{"sku": {"name": "StandardV2"}, "location": "westeurope", "tags": {"team": "network"}}'
  in_azure /resources/publicIPAddresses/corp-pip -X PUT -d '{"sku": {"name": "StandardV2"}, "location": "westeurope", "properties": {"publicIPAllocationMethod": "Static"}}'
  in_azure /resources/loadBalancers/kubernetes -X PUT -d '{"sku": {"name": "Standard"}, "location": "westeurope", "tags": {"berth.dev/cluster": "another"}}'
  others >"$BATS_FILE_TMPDIR/others"
}

teardown_file() {
  load helpers
  load difftracker
  [ -n "${RUN:-}" ] || return 0
  azure_faults '[]'
  kubectl delete svc,endpointslices --all -n "$NS" --timeout=120s
  kubectl delete pods --all -n "$NS" --force --grace-period=0 --wait=false
  kubectl delete node "dt-$RUN-1" "dt-$RUN-2"
  drop_namespace
}

teardown() {
  azure_faults '[]'
  if ! running "$E2E_DIR" berth; then "$root/e2e/berth" start "$E2E_DIR"; fi
}

# others: what is not Berth's, byte for byte.
others() { azure_state | jq -S '[.natGateways[], .publicIPAddresses[], .loadBalancers[] | select(.name == "corp-egress" or .name == "corp-pip" or .name == "kubernetes")]'; }

@test "a Service gets a load balancer and its address; endpoints that came early are synced" {
  slice web-1 web "10.244.1.1 dt-$RUN-1" "10.244.1.2 dt-$RUN-2"
  create_service web
  provisioned web
  uid=$(uid_of web)
  in_group loadBalancers "$uid"
  [ -n "$(ingress_of web)" ]
  eventually 30 has_addresses "$uid" '10.244.1.1 10.244.1.2'
  run kubectl get svc web -n "$NS" -o 'jsonpath={.metadata.finalizers}'
  expect servicegateway.azure.com/service-cleanup
  run kubectl get tsvc
  expect NAME TYPE OWNER STATE IP DESIRED SYNCED BUFFERED RETRIES NEXT-RETRY BLOCKED-BY "lb-$uid" "$NS/web" Created
  run kubectl get locations
  expect NODE ADDRESSES PENDING-ADD PENDING-REMOVE LAST-SYNC ERROR 10.77.0.1 "dt-$RUN-1"
}

@test "a pod that moves from one slice to another is not lost" {
  uid=$(uid_of web)
  slice web-2 web "10.244.1.2 dt-$RUN-2" "10.244.1.3 dt-$RUN-1"
  slice web-1 web "10.244.1.1 dt-$RUN-1"
  eventually 30 has_addresses "$uid" '10.244.1.1 10.244.1.2 10.244.1.3'
  kubectl delete endpointslice web-1 -n "$NS"
  eventually 30 has_addresses "$uid" '10.244.1.2 10.244.1.3'
}

@test "a change of the protocol changes the load balancer and keeps the address" {
  uid=$(uid_of web)
  before=$(ingress_of web)
  kubectl patch svc web -n "$NS" --type=json -p '[{"op": "replace", "path": "/spec/ports/0/protocol", "value": "UDP"}]'
  is_udp() { azure_state | jq -e --arg name "$uid" '.loadBalancers[] | select(.name == $name) | .properties.loadBalancingRules[0].properties.protocol | ascii_downcase == "udp"'; }
  eventually 30 is_udp
  provisioned web
  [ "$(ingress_of web)" = "$before" ]
}

@test "a Service that becomes a ClusterIP loses all, and gets it again as a LoadBalancer" {
  uid=$(uid_of web)
  kubectl patch svc web -n "$NS" --type=merge -p '{"spec":{"type":"ClusterIP"}}'
  eventually 60 nothing_of "$uid"
  no_finalizer() { [ -z "$(kubectl get svc web -n "$NS" -o 'jsonpath={.metadata.finalizers}{.status.loadBalancer.ingress}')" ]; }
  eventually 30 no_finalizer
  kubectl patch svc web -n "$NS" --type=merge -p '{"spec":{"type":"LoadBalancer"}}'
  provisioned web
  eventually 30 has_addresses "$uid" '10.244.1.2 10.244.1.3'
}

@test "Services that the gateway cannot serve are refused, with the field and the reason" {
  run -1 create_service bad '{"sessionAffinity": "ClientIP"}'
  expect spec.sessionAffinity UnsupportedSessionAffinity
  run -1 create_service bad '{"loadBalancerIP": "1.2.3.4"}'
  expect UnsupportedLoadBalancerIP
  run -1 create_service bad '{"ports": [{"port": 80, "targetPort": "http"}]}'
  expect UnsupportedNamedTargetPort
  run -1 create_service bad '{"ports": [{"name": "a", "port": 80, "targetPort": 1}, {"name": "b", "port": 81, "targetPort": 1}]}'
  expect UnsupportedBackendPortCollision
  run -1 create_service bad '{}' '{"service.beta.kubernetes.io/azure-load-balancer-internal": "True"}'
  expect UnsupportedInternalLoadBalancer
  run -1 create_service bad '{}' '{"service.beta.kubernetes.io/azure-load-balancer-tcp-idle-timeout": "3"}'
  expect InvalidIdleTimeout
  create_service others-class '{"sessionAffinity": "ClientIP", "loadBalancerClass": "example.com/lb"}'
  kubectl delete svc others-class -n "$NS"
}

@test "an egress lives from its first pod to its last, and a pod until the cloud has let go of its address" {
  egress=egress-$RUN-a
  egress_pod p1 "$egress" "dt-$RUN-1" 10.77.0.1 10.244.2.1
  egress_pod p2 "$egress" "dt-$RUN-2" 10.77.0.2 10.244.2.2
  eventually 60 has_addresses "$egress" '10.244.2.1 10.244.2.2'
  in_group natGateways "$egress"
  in_group publicIPAddresses "$egress-pip"
  run kubectl get pod p1 -n "$NS" -o 'jsonpath={.metadata.finalizers}'
  expect servicegateway.azure.com/pod-cleanup
  drop_pod p1
  eventually 60 gone pod p1
  has_addresses "$egress" 10.244.2.2
  drop_pod p2
  eventually 90 gone pod p2
  eventually 60 nothing_of "$egress"
}

@test "one address that the cloud refuses does not keep the others out" {
  uid=$(uid_of web)
  azure_faults '[{"action": "UpdateAddressLocations", "code": "InvalidAddress", "count": 1}]'
  slice web-3 web "10.244.1.8 dt-$RUN-1" "10.244.1.9 dt-$RUN-2"
  eventually 90 has_addresses "$uid" '10.244.1.2 10.244.1.3 10.244.1.8 10.244.1.9'
}

@test "a server killed while it creates and while it deletes leaves nothing behind" {
  egress=egress-$RUN-b
  create_service dying
  egress_pod p3 "$egress" "dt-$RUN-1" 10.77.0.1 10.244.2.3
  provisioned dying
  eventually 60 has_addresses "$egress" 10.244.2.3
  dying=$(uid_of dying)
  create_service killed
  kubectl delete svc dying -n "$NS" --wait=false
  drop_pod p3
  uid=$(uid_of killed)
  eventually 30 in_group publicIPAddresses "$uid-pip"
  kill_berth
  provisioned killed
  eventually 90 gone svc dying
  eventually 90 gone pod p3
  eventually 30 nothing_of "$dying"
  eventually 30 nothing_of "$egress"
}

@test "objects that came and went while the server was down are reconciled" {
  for i in 1 2 3 4; do create_service "old-$i"; done
  provisioned old-1 old-2 old-3 old-4
  mapfile -t uids < <(for i in 1 2 3 4; do uid_of "old-$i"; done)
  "$root/e2e/berth" stop "$E2E_DIR"
  for i in 1 2 3 4; do kubectl delete svc "old-$i" -n "$NS" --wait=false; done
  for i in 1 2 3 4 5; do create_service "new-$i"; done
  "$root/e2e/berth" start "$E2E_DIR"
  provisioned new-1 new-2 new-3 new-4 new-5
  for uid in "${uids[@]}"; do eventually 60 nothing_of "$uid"; done
  kubectl delete svc new-1 new-2 new-3 new-4 new-5 -n "$NS" --timeout=120s
}

@test "a write that was applied and not answered leaves nothing behind" {
  azure_faults '[{"action": "PutLoadBalancer", "applied-then-timeout": true, "count": 1}, {"action": "UpdateServices", "code": "InternalServerError", "count": 2}]'
  create_service lost
  uid=$(uid_of lost)
  provisioned lost
  kubectl delete svc lost -n "$NS" --timeout=90s
  eventually 30 nothing_of "$uid"
}

@test "resources of others are byte for byte as they were" {
  diff "$BATS_FILE_TMPDIR/others" <(others)
}
