module berth.dev/bench/peers/sandbox

go 1.26.0
