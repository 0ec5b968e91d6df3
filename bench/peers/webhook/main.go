// The peer of the webhook benchmark: controller-runtime's own webhook server with a typed validator, doing for a
// SubnetPool what Berth does at admission. One core against Berth's one I/O thread: GOMAXPROCS is 1 unless set.
//
//	webhook --cert-dir DIR --port N     DIR has tls.crt and tls.key; serves until SIGTERM
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/netip"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

const path = "/validate/plexaubnet.io/subnetpools"

var groupVersion = schema.GroupVersion{Group: "plexaubnet.io", Version: "v1alpha1"}

type SubnetPool struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              SubnetPoolSpec `json:"spec"`
}

type SubnetPoolSpec struct {
	CIDR             string `json:"cidr"`
	DefaultBlockSize int    `json:"defaultBlockSize,omitempty"`
	MinBlockSize     int    `json:"minBlockSize,omitempty"`
	MaxBlockSize     int    `json:"maxBlockSize,omitempty"`
	Strategy         string `json:"strategy,omitempty"`
}

func (p *SubnetPool) DeepCopyObject() apiruntime.Object {
	copied := *p
	p.ObjectMeta.DeepCopyInto(&copied.ObjectMeta)
	return &copied
}

type validator struct{}

func (validator) ValidateCreate(_ context.Context, pool *SubnetPool) (admission.Warnings, error) {
	return nil, pool.Spec.validate()
}

func (validator) ValidateUpdate(_ context.Context, _, pool *SubnetPool) (admission.Warnings, error) {
	return nil, pool.Spec.validate()
}

func (validator) ValidateDelete(context.Context, *SubnetPool) (admission.Warnings, error) {
	return nil, nil
}

func (s *SubnetPoolSpec) validate() error {
	prefix, err := netip.ParsePrefix(s.CIDR)
	if err != nil {
		return fmt.Errorf("spec.cidr: %w", err)
	}
	if canonical := prefix.Masked().String(); canonical != s.CIDR {
		return fmt.Errorf("spec.cidr: %q is not canonical, use %q", s.CIDR, canonical)
	}
	if s.Strategy != "" && s.Strategy != "Linear" && s.Strategy != "Buddy" {
		return fmt.Errorf("spec.strategy: %q is neither Linear nor Buddy", s.Strategy)
	}
	return s.validateSizes(prefix)
}

// The sizes that are set, from the pool's own to the longest, must not decrease.
func (s *SubnetPoolSpec) validateSizes(pool netip.Prefix) error {
	last := pool.Bits()
	for _, size := range []int{s.MinBlockSize, s.DefaultBlockSize, s.MaxBlockSize, pool.Addr().BitLen()} {
		if size == 0 {
			continue
		}
		if size < last {
			return fmt.Errorf("spec: block size %d is out of order", size)
		}
		last = size
	}
	return nil
}

func run() error {
	certDir := flag.String("cert-dir", "", "directory of tls.crt and tls.key")
	port := flag.Int("port", 0, "port on 127.0.0.1")
	flag.Parse()
	if *certDir == "" || *port <= 0 {
		return errors.New("--cert-dir and --port are required")
	}
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(1)
	}
	log.SetLogger(logr.Discard())

	scheme := apiruntime.NewScheme()
	scheme.AddKnownTypes(groupVersion, &SubnetPool{})
	metav1.AddToGroupVersion(scheme, groupVersion)

	server := webhook.NewServer(webhook.Options{Host: "127.0.0.1", Port: *port, CertDir: *certDir})
	server.Register(path, admission.WithValidator[*SubnetPool](scheme, validator{}))
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	return server.Start(ctx)
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}
