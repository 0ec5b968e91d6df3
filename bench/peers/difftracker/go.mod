module berth.dev/bench/peers/difftracker

go 1.26.0
