// The diff of cloud-provider-azure's DiffTracker restated: after each event all nodes and pods of the cluster are walked
// and compared with a mirror of the cloud's locations. Prints one JSON object.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand"
	"os"
	"runtime"
	"sort"
	"syscall"
)

type pod struct {
	inbound  map[string]struct{}
	outbound string
}

type node struct{ pods map[string]*pod }

type tracker struct {
	cluster map[string]*node                          // by node IP
	cloud   map[string]map[string]map[string]struct{} // node IP, address, services
}

type change struct {
	location, address string
	services          []string
}

func (t *tracker) podAt(nodeIP, address string) *pod {
	n := t.cluster[nodeIP]
	if n == nil {
		n = &node{pods: map[string]*pod{}}
		t.cluster[nodeIP] = n
	}
	p := n.pods[address]
	if p == nil {
		p = &pod{inbound: map[string]struct{}{}}
		n.pods[address] = p
	}
	return p
}

func same(p *pod, services map[string]struct{}) bool {
	size := len(p.inbound)
	if p.outbound != "" {
		size++
		if _, found := services[p.outbound]; !found {
			return false
		}
	}
	if size != len(services) {
		return false
	}
	for service := range p.inbound {
		if _, found := services[service]; !found {
			return false
		}
	}
	return true
}

// diff walks everything, and applies what it finds.
func (t *tracker) diff() []change {
	var changes []change
	for nodeIP, n := range t.cluster {
		addresses := t.cloud[nodeIP]
		for address, p := range n.pods {
			if same(p, addresses[address]) {
				continue
			}
			services := []string{}
			for service := range p.inbound {
				services = append(services, service)
			}
			if p.outbound != "" {
				services = append(services, p.outbound)
			}
			changes = append(changes, change{nodeIP, address, services})
		}
	}
	for nodeIP, addresses := range t.cloud {
		n := t.cluster[nodeIP]
		for address := range addresses {
			if n == nil || n.pods[address] == nil {
				changes = append(changes, change{nodeIP, address, nil})
			}
		}
	}
	for _, c := range changes {
		if len(c.services) == 0 {
			delete(t.cloud[c.location], c.address)
			continue
		}
		if t.cloud[c.location] == nil {
			t.cloud[c.location] = map[string]map[string]struct{}{}
		}
		set := map[string]struct{}{}
		for _, service := range c.services {
			set[service] = struct{}{}
		}
		t.cloud[c.location][c.address] = set
	}
	return changes
}

// CPU time, the garbage collector's included: other programs on the machine do not count.
func cpuMicroseconds() float64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return float64(usage.Utime.Nano()+usage.Stime.Nano()) / 1e3
}

const (
	endpoints = 50
	pods      = 100
)

func place(index, nodes int) (string, string) {
	n := index % nodes
	return fmt.Sprintf("10.200.%d.%d", n/250, n%250), fmt.Sprintf("10.%d.%d.%d", index/62500, index/250%250, index%250)
}

func main() {
	services := flag.Int("services", 2000, "load balancers; a quarter as many egresses, 2.5 times as many nodes")
	events := flag.Int("events", 100, "")
	flag.Parse()
	egresses, nodes := *services/4, *services*5/2
	t := &tracker{cluster: map[string]*node{}, cloud: map[string]map[string]map[string]struct{}{}}
	for i := 0; i < *services*endpoints; i++ {
		nodeIP, address := place(i, nodes)
		t.podAt(nodeIP, address).inbound[fmt.Sprintf("%08x-5c3a-4b13-8b55-0a1e0f9a2f10", i/endpoints)] = struct{}{}
	}
	for i := 0; i < egresses*pods; i++ {
		nodeIP, address := place(500000+i, nodes)
		t.podAt(nodeIP, address).outbound = fmt.Sprintf("egress-%d", i/pods)
	}
	t.diff()
	dice := rand.New(rand.NewSource(1))
	took := make([]float64, 0, *events)
	found := 0
	for i := 0; i < *events; i++ {
		pod := dice.Intn(egresses * pods)
		nodeIP, address := place(500000+pod, nodes)
		began := cpuMicroseconds()
		if t.cluster[nodeIP].pods[address] == nil {
			t.podAt(nodeIP, address).outbound = fmt.Sprintf("egress-%d", pod/pods)
		} else {
			delete(t.cluster[nodeIP].pods, address)
		}
		found += len(t.diff())
		took = append(took, cpuMicroseconds()-began)
	}
	if found != *events {
		fmt.Fprintf(os.Stderr, "error: %d changes of %d events\n", found, *events)
		os.Exit(1)
	}
	sort.Float64s(took)
	sum := 0.0
	for _, each := range took {
		sum += each
	}
	runtime.KeepAlive(t)
	json.NewEncoder(os.Stdout).Encode(map[string]float64{
		"event_p99_us":  took[len(took)*99/100],
		"event_mean_us": sum / float64(len(took)),
	})
}
