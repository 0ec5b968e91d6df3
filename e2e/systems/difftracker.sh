# Load balancers and NAT gateways of a simulated Azure on the tests' cluster.
chart_values+=(difftracker.enabled=true azure.cloudConfigSecret=azure-cloud-provider)
serve_options+=(--service-gateway)
printed_shows+=('service/web condition met' 'pod "crawler-1" deleted')
tour_shows+=('service/dns condition met' nat-egress-a 'pod "crawler-2" deleted' PutLoadBalancer)
