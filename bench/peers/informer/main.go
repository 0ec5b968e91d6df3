// The peer of the informer benchmark: client-go's dynamic informer with one index. "projected" has a transform that keeps
// the fields which Berth's projection keeps; "whole" has none. One core: GOMAXPROCS is 1 unless set.
//
//	informer projected|whole URL     prints {"event":"synced",...}; obeys "await COUNT" on stdin
package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

var kept = [][]string{
	{"metadata", "namespace"}, {"metadata", "name"}, {"metadata", "uid"}, {"metadata", "resourceVersion"},
	{"metadata", "generation"}, {"metadata", "labels", "pool"}, {"metadata", "ownerReferences"},
	{"spec", "shutdownTime"}, {"status", "phase"}, {"status", "observedGeneration"}, {"status", "nodeName"},
	{"status", "podInfo", "podIP"}, {"status", "conditions"},
}

func project(object any) (any, error) {
	whole, ok := object.(*unstructured.Unstructured)
	if !ok {
		return object, nil
	}
	small := &unstructured.Unstructured{Object: map[string]any{"apiVersion": whole.GetAPIVersion(), "kind": whole.GetKind()}}
	for _, path := range kept {
		if value, found, _ := unstructured.NestedFieldNoCopy(whole.Object, path...); found {
			_ = unstructured.SetNestedField(small.Object, value, path...)
		}
	}
	return small, nil
}

func main() {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(1)
	}
	if len(os.Args) != 3 {
		os.Exit(2)
	}
	client, err := dynamic.NewForConfig(&rest.Config{Host: os.Args[2], QPS: -1})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	resource := schema.GroupVersionResource{Group: "agents.kruise.io", Version: "v1alpha1", Resource: "sandboxes"}
	byPool := cache.Indexers{"pool": func(object any) ([]string, error) {
		return []string{object.(*unstructured.Unstructured).GetLabels()["pool"]}, nil
	}}
	informer := dynamicinformer.NewFilteredDynamicInformer(client, resource, "", 0, byPool, nil).Informer()
	if os.Args[1] == "projected" {
		if err := informer.SetTransform(project); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	var changes, target atomic.Int64
	var first time.Time
	_, _ = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{UpdateFunc: func(any, any) {
		count := changes.Add(1)
		if count == 1 {
			first = time.Now()
		}
		if count == target.Load() {
			fmt.Printf("{\"event\":\"done\",\"seconds\":%f}\n", time.Since(first).Seconds())
		}
	}})
	began := time.Now()
	go informer.RunWithContext(context.Background())
	if !cache.WaitForCacheSync(context.Background().Done(), informer.HasSynced) {
		os.Exit(1)
	}
	seconds := time.Since(began).Seconds()
	// A list leaves garbage behind that is not the cache's: the peer may collect it before it is weighed.
	debug.FreeOSMemory()
	fmt.Printf("{\"event\":\"synced\",\"seconds\":%f,\"objects\":%d}\n", seconds, len(informer.GetStore().ListKeys()))
	input := bufio.NewScanner(os.Stdin)
	for input.Scan() {
		var count int64
		if _, err := fmt.Sscanf(strings.TrimSpace(input.Text()), "await %d", &count); err != nil {
			continue
		}
		target.Store(count)
		changes.Store(0)
		fmt.Println("{\"event\":\"awaiting\"}")
	}
}
