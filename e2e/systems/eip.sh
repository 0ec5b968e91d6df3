# Elastic IPs on the tests' cluster and its simulated cloud.
chart_values+=(eip.enabled=true aliyun.region=cn-hangzhou)
serve_options+=(--aliyun-limit AllocateEipAddress=6000 --eip-resync 10s)
printed_shows+=('eip.eip.alibabacloud.com/web condition met')
tour_shows+=('eip.eip.alibabacloud.com/web condition met' 'was released' ReleaseEipAddress)
