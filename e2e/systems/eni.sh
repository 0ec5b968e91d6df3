# ENIs of nodes on the tests' cluster. Its simulated cloud takes any number of calls, so that a thousand ENIs are attached in seconds.
chart_values+=(eni.enabled=true)
serve_options+=(--eni --aliyun-limit "CreateNetworkInterface=60000,AttachNetworkInterface=60000,DetachNetworkInterface=60000,DeleteNetworkInterface=60000,DescribeNetworkInterfaces=60000")
printed_shows+=('node.network.alibabacloud.com/worker-3 condition met' 'node.network.alibabacloud.com "worker-3" deleted')
tour_shows+=('node.network.alibabacloud.com/worker-3 condition met' 'node.network.alibabacloud.com "worker-3" deleted' AttachNetworkInterface)
