// The peer of the eni benchmark: Terway's task queue restated. Each task is a goroutine, which attaches its ENI, waits, and then
// asks for that ENI alone, with Terway's pauses, until it is InUse; here it never is. The requests go through net/http and
// encoding/json to a stand-in of the cloud inside the process, which answers as the one of bench/eni/eni.cc does.
//
//	eni --tasks N --window SECONDS --scale F     all pauses and the window are multiplied by F
//
// It prints one JSON object: describes in the window, bytes a task, goroutines, threads.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand"
	"net/http"
	"net/url"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	initialDelay = 3 * time.Second
	pollBase     = 3 * time.Second
	pollFactor   = 1.5
	pollJitter   = 0.5
	pollSteps    = 8
	attachLimit  = 2 * time.Minute
	addresses    = 10
)

// cloud shows every ENI as Attaching.
type cloud struct {
	describes atomic.Int64
	latency   time.Duration
}

func (c *cloud) RoundTrip(request *http.Request) (*http.Response, error) {
	timer := time.NewTimer(c.latency)
	defer timer.Stop()
	select {
	case <-request.Context().Done():
		return nil, request.Context().Err()
	case <-timer.C:
	}
	query := request.URL.Query()
	body := `{"RequestId":"4C467B38-3910-447D-87BC-AC049166F216"}`
	if query.Get("Action") == "DescribeNetworkInterfaces" {
		c.describes.Add(1)
		body = describe(query.Get("NetworkInterfaceId.1"))
	}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Request: request,
		Body: io.NopCloser(strings.NewReader(body))}, nil
}

func describe(id string) string {
	var text bytes.Buffer
	fmt.Fprintf(&text, `{"RequestId":"4C467B38-3910-447D-87BC-AC049166F216","NetworkInterfaceSets":{"NetworkInterfaceSet":[`+
		`{"NetworkInterfaceId":"%[1]s","Status":"Attaching","Type":"Secondary","InstanceId":"i-%[1]s",`+
		`"MacAddress":"00:16:3e:12:34:56","VSwitchId":"vsw-bp16usj2p27htro3nlxya","PrivateIpSets":{"PrivateIpSet":[`, id)
	for i := range addresses {
		if i > 0 {
			text.WriteByte(',')
		}
		fmt.Fprintf(&text, `{"PrivateIpAddress":"172.17.0.%d","Primary":%t}`, i+10, i == 0)
	}
	text.WriteString("]}}]}}")
	return text.String()
}

type networkInterface struct {
	NetworkInterfaceID string `json:"NetworkInterfaceId"`
	Status             string
	Type               string
	InstanceID         string `json:"InstanceId"`
	MacAddress         string
	VSwitchID          string `json:"VSwitchId"`
	PrivateIPSets      struct {
		PrivateIPSet []struct {
			PrivateIPAddress string `json:"PrivateIpAddress"`
			Primary          bool
		} `json:"PrivateIpSet"`
	} `json:"PrivateIpSets"`
}

type client struct{ http http.Client }

func (c *client) call(ctx context.Context, action, eni string, into any) error {
	query := url.Values{"Action": {action}, "NetworkInterfaceId.1": {eni}, "RegionId": {"cn-hangzhou"}}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://ecs.cn-hangzhou.aliyuncs.com/?"+query.Encode(), nil)
	if err != nil {
		return err
	}
	response, err := c.http.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	return json.NewDecoder(response.Body).Decode(into)
}

func (c *client) status(ctx context.Context, eni string) (*networkInterface, error) {
	var answer struct {
		NetworkInterfaceSets struct{ NetworkInterfaceSet []*networkInterface }
	}
	if err := c.call(ctx, "DescribeNetworkInterfaces", eni, &answer); err != nil {
		return nil, err
	}
	if len(answer.NetworkInterfaceSets.NetworkInterfaceSet) == 0 {
		return nil, errors.New("not found")
	}
	return answer.NetworkInterfaceSets.NetworkInterfaceSet[0], nil
}

type record struct {
	eni, node, instance, status string
	created                     time.Time
	completed                   *time.Time
	result                      *networkInterface
	err                         error
}

type queue struct {
	mu     sync.Mutex
	tasks  map[string]*record
	client client
	scale  float64
}

func (q *queue) submit(ctx context.Context, eni, node, instance string) {
	task := &record{eni: eni, node: node, instance: instance, status: "Pending", created: time.Now()}
	q.mu.Lock()
	q.tasks[eni] = task
	q.mu.Unlock()
	go q.process(ctx, task)
}

func (q *queue) scaled(pause time.Duration) time.Duration {
	return time.Duration(float64(pause) * q.scale)
}

func (q *queue) process(ctx context.Context, task *record) {
	ctx, cancel := context.WithTimeout(ctx, q.scaled(attachLimit))
	defer cancel()
	q.mu.Lock()
	task.status = "Running"
	q.mu.Unlock()
	var accepted struct{ RequestID string }
	if err := q.client.call(ctx, "AttachNetworkInterface", task.eni, &accepted); err != nil {
		q.end(task, nil, err)
		return
	}
	select {
	case <-ctx.Done():
		q.end(task, nil, ctx.Err())
		return
	case <-time.After(q.scaled(initialDelay)):
	}
	found, err := q.poll(ctx, task.eni)
	q.end(task, found, err)
}

func (q *queue) poll(ctx context.Context, eni string) (*networkInterface, error) {
	pause := float64(pollBase)
	for range pollSteps {
		if found, err := q.client.status(ctx, eni); err == nil && found.Status == "InUse" {
			return found, nil
		}
		jittered := time.Duration(pause * (1 + pollJitter*rand.Float64()))
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(q.scaled(jittered)):
		}
		pause *= pollFactor
	}
	return nil, errors.New("timed out")
}

func (q *queue) end(task *record, found *networkInterface, err error) {
	now := time.Now()
	q.mu.Lock()
	defer q.mu.Unlock()
	task.status, task.completed, task.result, task.err = "Completed", &now, found, err
	if err != nil {
		task.status = "Failed"
	}
}

// status is a figure of /proc/self/status.
func status(name string) float64 {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		panic(err)
	}
	for line := range strings.Lines(string(text)) {
		var value float64
		if strings.HasPrefix(line, name+":") {
			fmt.Sscanf(strings.TrimPrefix(line, name+":"), "%g", &value)
			return value
		}
	}
	panic("no " + name)
}

func main() {
	tasks := flag.Int("tasks", 1000, "how many ENIs wait")
	window := flag.Float64("window", 90, "seconds of the tasks' time")
	scale := flag.Float64("scale", 1, "seconds of real time for each of them")
	flag.Parse()
	c := &cloud{latency: time.Duration(float64(20*time.Millisecond) * *scale)}
	q := &queue{tasks: map[string]*record{}, client: client{http.Client{Transport: c}}, scale: *scale}
	debug.FreeOSMemory()
	empty := status("VmRSS") * 1024
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	began := time.Now()
	for i := range *tasks {
		q.submit(ctx, fmt.Sprintf("eni-bp1%017x", i), fmt.Sprintf("cn-hangzhou.i-bp1%017x", i/5), fmt.Sprintf("i-bp1%017x", i/5))
	}
	time.Sleep(time.Until(began.Add(q.scaled(time.Duration(*window * float64(time.Second))))))
	json.NewEncoder(os.Stdout).Encode(map[string]float64{
		"describes":      float64(c.describes.Load()),
		"bytes_per_task": (status("VmRSS")*1024 - empty) / float64(*tasks),
		"goroutines":     float64(runtime.NumGoroutine()),
		"threads":        status("Threads"),
	})
}
