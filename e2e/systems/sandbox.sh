# Sandboxes on the tests' cluster; its agents are simulated, at the loopback addresses that the tests give to their pods.
chart_values+=(sandbox.enabled=true)
serve_options+=(--sandbox --sandbox-agent-port "${E2E_AGENT_PORT:-5758}")
printed_shows+=('sandbox.sandbox.fast.io/web condition met')
tour_shows+=('sandbox.sandbox.fast.io/web condition met')
