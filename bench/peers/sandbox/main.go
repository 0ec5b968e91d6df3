// The allocation of fast-sandbox's registry restated: a scan of all agents under one lock, which takes the least allocated
// one of those that have the image, else of all. Prints one JSON object.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand"
	"os"
	"slices"
	"sync"
	"syscall"
	"unsafe"
)

type agent struct {
	sync.Mutex
	namespace, pool, name string
	capacity, allocated   int
	ports                 map[int]bool
	images                []string
}

type registry struct {
	sync.RWMutex
	agents map[string]*agent
}

func (r *registry) allocate(namespace, pool, image string, ports []int) *agent {
	r.RLock()
	defer r.RUnlock()
	var best *agent
	bestScore := 1 << 30
	for _, a := range r.agents {
		a.Lock()
		fits := a.namespace == namespace && a.pool == pool && a.allocated < a.capacity
		for _, port := range ports {
			fits = fits && !a.ports[port]
		}
		score := a.allocated
		if fits && !slices.Contains(a.images, image) {
			score += 1000
		}
		a.Unlock()
		if fits && score < bestScore {
			best, bestScore = a, score
		}
	}
	if best == nil {
		return nil
	}
	best.Lock()
	defer best.Unlock()
	best.allocated++
	for _, port := range ports {
		best.ports[port] = true
	}
	return best
}

func (r *registry) release(a *agent, ports []int) {
	a.Lock()
	defer a.Unlock()
	a.allocated--
	for _, port := range ports {
		delete(a.ports, port)
	}
}

type held struct {
	agent *agent
	ports []int
}

// CPU time of the process in microseconds: other programs on the machine do not count.
func microseconds() float64 {
	var time syscall.Timespec
	const processCPUTime = 2
	syscall.Syscall(syscall.SYS_CLOCK_GETTIME, processCPUTime, uintptr(unsafe.Pointer(&time)), 0)
	return float64(time.Sec)*1e6 + float64(time.Nsec)/1e3
}

func main() {
	agents := flag.Int("agents", 1000, "")
	allocations := flag.Int("allocations", 20000, "")
	flag.Parse()
	const slots, images = 10, 50
	random := rand.New(rand.NewSource(1))
	image := func(i int) string { return fmt.Sprintf("registry.example.com/image:%d", i%images) }
	r := &registry{agents: map[string]*agent{}}
	for i := 0; i < *agents; i++ {
		a := &agent{namespace: "default", pool: "pool", name: fmt.Sprintf("pool-agent-%d", i), capacity: slots, ports: map[int]bool{}}
		for j := 0; j < 5; j++ {
			a.images = append(a.images, image(i+j))
		}
		r.agents[a.name] = a
	}
	var all []held
	allocate := func() float64 {
		var ports []int
		if random.Intn(3) == 0 {
			ports = []int{8000 + random.Intn(20)}
		}
		wanted := image(random.Intn(images))
		began := microseconds()
		a := r.allocate("default", "pool", wanted, ports)
		took := microseconds() - began
		if a == nil {
			fmt.Fprintln(os.Stderr, "error: no slot")
			os.Exit(1)
		}
		all = append(all, held{a, ports})
		return took
	}
	// The slots that are taken before are not measured: the scan is slow.
	for _, a := range r.agents {
		for i := 0; i < slots/2; i++ {
			a.allocated++
			all = append(all, held{a, nil})
		}
	}
	times := make([]float64, 0, *allocations)
	for i := 0; i < *allocations; i++ {
		times = append(times, allocate())
		chosen := random.Intn(len(all))
		r.release(all[chosen].agent, all[chosen].ports)
		all[chosen] = all[len(all)-1]
		all = all[:len(all)-1]
	}
	slices.Sort(times)
	json.NewEncoder(os.Stdout).Encode(map[string]any{"agents": *agents, "allocate_p99_us": times[len(times)*99/100], "allocate_p50_us": times[len(times)/2]})
}
