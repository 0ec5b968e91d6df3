# ENIs of nodes on the tests' cluster and its simulated cloud, which would throttle as the real one does.
chart_values+=(eni.enabled=true)
serve_options+=(--eni)
