"""Usual work of the official Python client with a cluster, the one of KUBECONFIG. Fails with the first difference."""

import sys

from kubernetes import client, config, watch
from kubernetes.client.rest import ApiException
from kubernetes.dynamic import DynamicClient

GROUP, VERSION, PLURAL = "plexaubnet.io", "v1alpha1", "subnetpools"


def expect(what, holds, found=""):
    print("ok:" if holds else "FAILED:", what, "" if holds else found)
    if not holds:
        sys.exit(1)


def refused(code, call):
    try:
        call()
    except ApiException as error:
        return error.status == code
    return False


def pool(name, cidr):
    return {"apiVersion": f"{GROUP}/{VERSION}", "kind": "SubnetPool", "metadata": {"name": name}, "spec": {"cidr": cidr}}


def core():
    api = client.CoreV1Api()
    api.create_namespace({"metadata": {"name": "python"}})
    made = api.create_namespaced_config_map("python", client.V1ConfigMap(metadata={"name": "a"}, data={"k": "v"}))
    expect("create a config map", made.data == {"k": "v"}, made)
    changed = api.patch_namespaced_config_map("a", "python", {"data": {"k": "w"}})
    expect("patch it", changed.data == {"k": "w"}, changed)
    expect("a name that is there is a 409", refused(409, lambda: api.create_namespaced_config_map("python", {"metadata": {"name": "a"}})))
    secret = api.create_namespaced_secret("python", client.V1Secret(metadata={"name": "s"}, string_data={"k": "v"}))
    expect("create a secret", secret.data == {"k": "dg=="}, secret)
    page = api.list_namespaced_secret("python", limit=1)
    expect("list a page", len(page.items) == 1, page)
    seen = []
    for event in watch.Watch().stream(api.list_namespaced_config_map, "python", timeout_seconds=60):
        seen.append(event["type"])
        if event["type"] == "ADDED":
            api.delete_namespaced_config_map("a", "python")
        if event["type"] == "DELETED":
            break
    expect("watch it to its end", seen == ["ADDED", "DELETED"], seen)
    review = client.AuthorizationV1Api().create_self_subject_access_review(
        client.V1SelfSubjectAccessReview(spec={"resourceAttributes": {"verb": "list", "resource": "pods"}}))
    expect("ask what is allowed", review.status.allowed, review)
    api.delete_namespace("python")


def custom():
    api = client.CustomObjectsApi()
    made = api.create_namespaced_custom_object(GROUP, VERSION, "default", PLURAL, pool("python", "10.61.0.0/16"))
    expect("create a pool", made["spec"]["strategy"] == "Linear", made)
    wrong = pool("wrong", "10.61.0.5/16")
    expect("one with a mistake is a 422", refused(422, lambda: api.create_namespaced_custom_object(GROUP, VERSION, "default", PLURAL, wrong)))
    api.delete_namespaced_custom_object(GROUP, VERSION, "default", PLURAL, "python")
    dynamic = DynamicClient(client.ApiClient())
    queues = dynamic.resources.get(api_version="live.berth.dev/v1alpha1", kind="WorkQueue").get()
    expect("the dynamic client finds the aggregated API", any(queue.metadata.name == "housekeeping" for queue in queues.items), queues)


config.load_kube_config()
core()
custom()
