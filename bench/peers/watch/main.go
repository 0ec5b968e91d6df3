// The peer of the watch benchmark: a net/http server that serves one object as a Kubernetes watch, the way a Go
// aggregated API server does it: apimachinery's Broadcaster fans out, and each watcher encodes each event for itself.
// A watcher that does not take its bytes for five seconds is cut off. One core: GOMAXPROCS is 1 unless set.
//
//	watch --cert F --key F --client-ca F     prints {"port":N,"pid":N}; obeys "burst COUNT" and "quit" on stdin
package main

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	serializer "k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

const (
	path         = "/apis/live.berth.dev/v1alpha1/ticks"
	queueLength  = 100
	writeTimeout = 5 * time.Second
)

var scheme = apiruntime.NewScheme()

type Tick struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Status            TickStatus `json:"status"`
}

type TickStatus struct {
	Adds       int64       `json:"adds"`
	Depth      int64       `json:"depth"`
	InFlight   int64       `json:"inFlight"`
	Retries    int64       `json:"retries"`
	ObservedAt metav1.Time `json:"observedAt"`
}

func (t *Tick) DeepCopyObject() apiruntime.Object {
	copied := *t
	t.ObjectMeta.DeepCopyInto(&copied.ObjectMeta)
	return &copied
}

// ticker is the one object and those who watch it. The lock makes "the state now, then every later change" one step.
type ticker struct {
	mu          sync.Mutex
	adds        int64
	born        metav1.Time
	broadcaster *watch.Broadcaster
}

func (t *ticker) object() *Tick {
	return &Tick{
		TypeMeta: metav1.TypeMeta{APIVersion: "live.berth.dev/v1alpha1", Kind: "Tick"},
		ObjectMeta: metav1.ObjectMeta{
			Name:              "tick",
			UID:               types.UID("6d7f0c1e-52b4-4f0a-9a3e-1c2b3d4e5f60"),
			ResourceVersion:   strconv.FormatInt(1000+t.adds, 10),
			CreationTimestamp: t.born,
			Labels:            map[string]string{"app.kubernetes.io/name": "berth"},
		},
		Status: TickStatus{Adds: t.adds, Depth: t.adds % 7, InFlight: t.adds % 5, ObservedAt: metav1.Now()},
	}
}

func (t *ticker) burst(count int) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	for range count {
		t.adds++
		if err := t.broadcaster.Action(watch.Modified, t.object()); err != nil {
			return err
		}
	}
	return nil
}

func (t *ticker) watch() (watch.Interface, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.broadcaster.WatchWithPrefix([]watch.Event{{Type: watch.Added, Object: t.object()}})
}

// encoder does what k8s.io/apiserver does for an object that is not cached in encoded form: the object into a buffer, that
// as raw JSON into the event, the event into a second buffer.
type encoder struct {
	serializer *serializer.Serializer
	object     bytes.Buffer
	event      bytes.Buffer
}

func newEncoder() *encoder {
	return &encoder{serializer: serializer.NewSerializerWithOptions(
		serializer.DefaultMetaFactory, scheme, scheme, serializer.SerializerOptions{})}
}

func (e *encoder) encode(event watch.Event, w io.Writer) error {
	e.object.Reset()
	e.event.Reset()
	if err := e.serializer.Encode(event.Object, &e.object); err != nil {
		return err
	}
	wrapped := metav1.WatchEvent{Type: string(event.Type), Object: apiruntime.RawExtension{Raw: e.object.Bytes()}}
	if err := e.serializer.Encode(&wrapped, &e.event); err != nil {
		return err
	}
	_, err := w.Write(e.event.Bytes())
	return err
}

func (t *ticker) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if len(r.TLS.PeerCertificates) == 0 {
		http.Error(w, "a client certificate is required", http.StatusUnauthorized)
		return
	}
	if r.URL.Query().Get("watch") != "true" {
		http.Error(w, "only watches are served", http.StatusBadRequest)
		return
	}
	watcher, err := t.watch()
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	defer watcher.Stop()
	w.Header().Set("Content-Type", "application/json")
	if err := stream(r, w, watcher.ResultChan()); err != nil {
		panic(http.ErrAbortHandler) // The connection is of no more use.
	}
}

// stream writes an event per line; it flushes when there is nothing more to write at the moment.
func stream(r *http.Request, w http.ResponseWriter, events <-chan watch.Event) error {
	control := http.NewResponseController(w)
	encoder := newEncoder()
	for {
		select {
		case <-r.Context().Done():
			return nil
		case event, ok := <-events:
			if !ok {
				return nil
			}
			if err := control.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
				return err
			}
			if err := encoder.encode(event, w); err != nil {
				return err
			}
			if len(events) == 0 {
				if err := control.Flush(); err != nil {
					return err
				}
			}
		}
	}
}

func obey(t *ticker, commands io.Reader) error {
	scanner := bufio.NewScanner(commands)
	for scanner.Scan() {
		word, argument, _ := strings.Cut(scanner.Text(), " ")
		switch word {
		case "quit":
			return nil
		case "burst":
			count, err := strconv.Atoi(argument)
			if err != nil {
				return fmt.Errorf("burst: %w", err)
			}
			if err := t.burst(count); err != nil {
				return err
			}
		default:
			return fmt.Errorf("unknown command %q", word)
		}
	}
	return scanner.Err()
}

func tlsConfig(certFile, keyFile, clientCAFile string) (*tls.Config, error) {
	pair, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		return nil, err
	}
	ca, err := os.ReadFile(clientCAFile)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(ca) {
		return nil, errors.New("no certificate in " + clientCAFile)
	}
	return &tls.Config{
		Certificates:           []tls.Certificate{pair},
		ClientCAs:              pool,
		ClientAuth:             tls.VerifyClientCertIfGiven,
		SessionTicketsDisabled: true,
	}, nil
}

func run() error {
	cert := flag.String("cert", "", "serving certificate")
	key := flag.String("key", "", "its key")
	clientCA := flag.String("client-ca", "", "CA of the clients")
	flag.Parse()
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(1)
	}
	config, err := tlsConfig(*cert, *key, *clientCA)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	t := &ticker{
		born:        metav1.Now(),
		broadcaster: watch.NewLongQueueBroadcaster(queueLength, watch.WaitIfChannelFull),
	}
	mux := http.NewServeMux()
	mux.Handle("GET "+path, t)
	server := &http.Server{Handler: mux, TLSConfig: config, ErrorLog: log.New(io.Discard, "", 0)}
	failed := make(chan error, 1)
	go func() { failed <- server.ServeTLS(listener, "", "") }()
	fmt.Printf("{\"port\":%d,\"pid\":%d}\n", listener.Addr().(*net.TCPAddr).Port, os.Getpid())

	done := make(chan error, 1)
	go func() { done <- obey(t, os.Stdin) }()
	select {
	case err = <-failed:
	case err = <-done:
	}
	return err
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}
