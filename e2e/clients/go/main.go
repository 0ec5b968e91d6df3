// Usual work of client-go and controller-runtime with a cluster, the one of KUBECONFIG: typed clients (which send
// protobuf), the dynamic client, an informer, discovery. Ends with 1 and a line that says what failed.
package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var (
	ctx       = context.Background()
	namespace = "client-go"
	pools     = schema.GroupVersionResource{Group: "plexaubnet.io", Version: "v1alpha1", Resource: "subnetpools"}
)

// check ends the program when a step failed.
func check(what string, err error) {
	if err != nil {
		fmt.Printf("FAILED: %s: %v\n", what, err)
		os.Exit(1)
	}
	fmt.Println("ok:", what)
}

func expect(what string, holds bool, found any) {
	if !holds {
		check(what, fmt.Errorf("found %v", found))
	}
	check(what, nil)
}

// warnings keeps what the server warned of.
type warnings struct {
	mutex sync.Mutex
	texts []string
}

func (w *warnings) HandleWarningHeader(_ int, _ string, text string) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.texts = append(w.texts, text)
}

func named(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name, Namespace: namespace} }

func typed(config *rest.Config) {
	set, err := kubernetes.NewForConfig(config)
	check("a clientset", err)
	_, err = set.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{})
	check("create a namespace", err)

	maps := set.CoreV1().ConfigMaps(namespace)
	factory := informers.NewSharedInformerFactoryWithOptions(set, 0, informers.WithNamespace(namespace))
	informer := factory.Core().V1().ConfigMaps().Informer()
	deleted := make(chan struct{}, 16)
	_, err = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{DeleteFunc: func(any) { deleted <- struct{}{} }})
	check("an event handler", err)
	stop := make(chan struct{})
	defer close(stop)
	factory.Start(stop)
	expect("an informer syncs", cache.WaitForCacheSync(stop, informer.HasSynced), false)

	made, err := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: named("a"), Data: map[string]string{"k": "v"}, BinaryData: map[string][]byte{"b": {0, 255}}}, metav1.CreateOptions{})
	check("create a config map", err)
	expect("its data", made.Data["k"] == "v" && len(made.BinaryData["b"]) == 2, made)
	stale := made.DeepCopy()
	made.Data["k"] = "w"
	made, err = maps.Update(ctx, made, metav1.UpdateOptions{})
	check("update it", err)
	stale.Data["k"] = "x"
	_, err = maps.Update(ctx, stale, metav1.UpdateOptions{})
	expect("an update of an old version conflicts", apierrors.IsConflict(err), err)
	_, err = maps.Patch(ctx, "a", types.StrategicMergePatchType, []byte(`{"metadata":{"labels":{"app":"x"}}}`), metav1.PatchOptions{})
	check("patch it", err)
	list, err := maps.List(ctx, metav1.ListOptions{LabelSelector: "app=x"})
	check("list by label", err)
	expect("one is found", len(list.Items) == 1, len(list.Items))
	err = maps.Delete(ctx, "a", metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions("00000000-0000-0000-0000-000000000000")})
	expect("a deletion of another uid conflicts", apierrors.IsConflict(err), err)
	check("delete it", maps.Delete(ctx, "a", metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(made.UID))}))
	select {
	case <-deleted:
		check("the informer tells of its end", nil)
	case <-time.After(60 * time.Second):
		check("the informer tells of its end", fmt.Errorf("nothing came for a minute"))
	}

	_, err = set.CoreV1().Secrets(namespace).Create(ctx, &corev1.Secret{ObjectMeta: named("s"), StringData: map[string]string{"k": "v"}}, metav1.CreateOptions{})
	check("create a secret", err)
	secret, err := set.CoreV1().Secrets(namespace).Get(ctx, "s", metav1.GetOptions{})
	check("get it", err)
	expect("its data", string(secret.Data["k"]) == "v" && secret.Type == corev1.SecretTypeOpaque, secret)
	_, err = set.CoreV1().ServiceAccounts(namespace).Create(ctx, &corev1.ServiceAccount{ObjectMeta: named("sa")}, metav1.CreateOptions{})
	check("create a service account", err)
	holder, now := "me", metav1.NewMicroTime(time.Now().Truncate(time.Microsecond))
	_, err = set.CoordinationV1().Leases(namespace).Create(ctx, &coordinationv1.Lease{ObjectMeta: named("l"), Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder, RenewTime: &now}}, metav1.CreateOptions{})
	check("create a lease", err)
	lease, err := set.CoordinationV1().Leases(namespace).Get(ctx, "l", metav1.GetOptions{})
	check("get it", err)
	expect("its time, to the microsecond", lease.Spec.RenewTime.Equal(&now), lease.Spec)
	check("delete a collection", set.CoreV1().Secrets(namespace).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}))
	review, err := set.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "create", Group: "plexaubnet.io", Resource: "subnetpools"}}}, metav1.CreateOptions{})
	check("ask what is allowed", err)
	expect("it is", review.Status.Allowed, review.Status)

	_, resources, err := set.Discovery().ServerGroupsAndResources()
	check("discovery", err)
	var groups []string
	for _, list := range resources {
		groups = append(groups, list.GroupVersion)
	}
	all := strings.Join(groups, " ")
	expect("it has all groups", strings.Contains(all, "plexaubnet.io/v1alpha1") && strings.Contains(all, "live.berth.dev/v1alpha1"), all)
	check("delete the namespace", set.CoreV1().Namespaces().Delete(ctx, namespace, metav1.DeleteOptions{}))
}

func untyped(config *rest.Config, warned *warnings) {
	set, err := dynamic.NewForConfig(config)
	check("a dynamic client", err)
	pool := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "plexaubnet.io/v1alpha1", "kind": "SubnetPool",
		"metadata": map[string]any{"name": "client-go"}, "spec": map[string]any{"cidr": "10.60.0.0/16", "colour": "red"}}}
	made, err := set.Resource(pools).Namespace("default").Create(ctx, pool, metav1.CreateOptions{})
	check("create a pool", err)
	strategy, _, _ := unstructured.NestedString(made.Object, "spec", "strategy")
	expect("with defaults", strategy == "Linear", made.Object)
	expect("the server warns of an unknown field", len(warned.texts) == 1 && strings.Contains(warned.texts[0], "spec.colour"), warned.texts)
	_, err = set.Resource(pools).Namespace("default").Create(ctx, pool, metav1.CreateOptions{})
	expect("it is there already", apierrors.IsAlreadyExists(err), err)
	check("delete the pool", set.Resource(pools).Namespace("default").Delete(ctx, "client-go", metav1.DeleteOptions{}))
}

func controllerRuntime(config *rest.Config) {
	cluster, err := client.New(config, client.Options{})
	check("a client of controller-runtime", err)
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "controller-runtime", Namespace: "default"}, Data: map[string]string{"k": "v"}}
	check("create a config map", cluster.Create(ctx, object))
	check("get it", cluster.Get(ctx, client.ObjectKeyFromObject(object), object))
	before := client.MergeFrom(object.DeepCopy())
	object.Data["k"] = "w"
	check("patch it", cluster.Patch(ctx, object, before))
	check("delete it", cluster.Delete(ctx, object))
}

func main() {
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	check("the kubeconfig", err)
	warned := &warnings{}
	config.WarningHandler = warned
	typed(rest.CopyConfig(config))
	untyped(rest.CopyConfig(config), warned)
	controllerRuntime(rest.CopyConfig(config))
}
