# Elastic IPs on the tests' cluster and its simulated cloud.
chart_values+=(eip.enabled=true eip.region=cn-hangzhou)
serve_options+=(--aliyun-limit AllocateEipAddress=6000 --eip-resync 10s)
