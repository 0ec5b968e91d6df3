// The peer of the queue benchmark: client-go's work queue, put through the loops of bench/queue/queue.cc. It prints what
// Google Benchmark would: items a second of CPU time. One core: GOMAXPROCS is 1 unless set.
//
//	queue --seconds N     how long each loop runs, at least
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"
	"time"

	"k8s.io/client-go/util/workqueue"
)

const keyCount = 10_000

type result struct {
	Name           string  `json:"name"`
	ItemsPerSecond float64 `json:"items_per_second,omitempty"`
	BytesPerKey    float64 `json:"bytes_per_key,omitempty"`
}

func makeKeys() []string {
	keys := make([]string, keyCount)
	for i := range keys {
		keys[i] = fmt.Sprintf("namespace-%d/name-%d", i%100, i)
	}
	return keys
}

func cpuSeconds() float64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()).Seconds()
}

// repeat runs round, which works off every key once, for that many seconds; the first is not measured.
func repeat(name string, seconds float64, round func()) result {
	round()
	began, rounds := cpuSeconds(), 0
	for cpuSeconds()-began < seconds {
		round()
		rounds++
	}
	return result{Name: name, ItemsPerSecond: float64(rounds*keyCount) / (cpuSeconds() - began)}
}

// burst: all keys are added, then all are worked off.
func burst(keys []string, seconds float64) result {
	queue := workqueue.NewTyped[string]()
	return repeat("Burst", seconds, func() {
		for _, key := range keys {
			queue.Add(key)
		}
		for range keys {
			key, _ := queue.Get()
			queue.Done(key)
		}
	})
}

// single: each key is worked off as soon as it is added.
func single(keys []string, seconds float64) result {
	queue := workqueue.NewTyped[string]()
	return repeat("Single", seconds, func() {
		for _, key := range keys {
			queue.Add(key)
			got, _ := queue.Get()
			queue.Done(got)
		}
	})
}

// rateLimited: each key fails once, waits for the shortest time there is, and then succeeds.
func rateLimited(keys []string, seconds float64) result {
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[string](time.Nanosecond, time.Nanosecond)
	queue := workqueue.NewTypedRateLimitingQueue(limiter)
	return repeat("RateLimited", seconds, func() {
		for _, key := range keys {
			queue.Add(key)
		}
		for range keys {
			key, _ := queue.Get()
			queue.AddRateLimited(key)
			queue.Done(key)
		}
		for range keys {
			key, _ := queue.Get()
			queue.Forget(key)
			queue.Done(key)
		}
	})
}

// memory: what a key that waits costs, its own bytes included: an informer makes the string for the queue alone.
func memory(keys []string) result {
	before := heap()
	queue := workqueue.NewTyped[string]()
	for _, key := range keys {
		queue.Add(strings.Clone(key))
	}
	bytes := heap() - before
	runtime.KeepAlive(queue)
	return result{Name: "Memory", BytesPerKey: float64(bytes) / keyCount}
}

func heap() uint64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

func main() {
	seconds := flag.Float64("seconds", 1, "how long each loop runs, at least")
	flag.Parse()
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(1)
	}
	keys := makeKeys()
	results := []result{memory(keys), burst(keys, *seconds), single(keys, *seconds), rateLimited(keys, *seconds)}
	if err := json.NewEncoder(os.Stdout).Encode(map[string]any{"benchmarks": results}); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}
