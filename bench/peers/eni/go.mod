module berth.dev/bench/peers/eni

go 1.26.0
