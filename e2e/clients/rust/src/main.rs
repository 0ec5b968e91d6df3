//! What kube-rs does with a cluster, done with the one of KUBECONFIG: typed and dynamic objects, a watch, discovery.

use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::{
    authorization::v1::SelfSubjectAccessReview,
    core::v1::{ConfigMap, Namespace},
};
use kube::{
    Api, Client, Discovery, ResourceExt,
    api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams, WatchEvent, WatchParams},
    core::{ApiResource, GroupVersionKind},
};
use serde_json::{from_value, json};

type Outcome = Result<(), Box<dyn std::error::Error>>;

async fn typed(client: Client) -> Outcome {
    let namespaces: Api<Namespace> = Api::all(client.clone());
    namespaces.create(&PostParams::default(), &from_value(json!({"metadata": {"name": "kube-rs"}}))?).await?;
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), "kube-rs");
    let map: ConfigMap = from_value(json!({"metadata": {"name": "a"}, "data": {"k": "v"}}))?;
    let made = maps.create(&PostParams::default(), &map).await?;
    assert!(made.uid().is_some());
    let change = json!({"data": {"k": "w"}});
    let changed = maps.patch("a", &PatchParams::default(), &Patch::Merge(&change)).await?;
    assert_eq!(changed.data.unwrap()["k"], "w");
    match maps.create(&PostParams::default(), &map).await {
        Err(kube::Error::Api(status)) => assert_eq!(status.code, 409),
        other => panic!("created twice: {other:?}"),
    }
    let mut events = maps.watch(&WatchParams::default(), "0").await?.boxed();
    assert!(matches!(events.try_next().await?, Some(WatchEvent::Added(_))));
    maps.delete("a", &DeleteParams::default()).await?;
    assert!(matches!(events.try_next().await?, Some(WatchEvent::Deleted(_))));
    assert!(maps.list(&ListParams::default()).await?.items.is_empty());
    let reviews: Api<SelfSubjectAccessReview> = Api::all(client);
    let asked = from_value(json!({"spec": {"resourceAttributes": {"verb": "list", "resource": "pods"}}}))?;
    let answer = reviews.create(&PostParams::default(), &asked).await?;
    assert!(answer.status.expect("a status").allowed);
    namespaces.delete("kube-rs", &DeleteParams::default()).await?;
    Ok(())
}

async fn dynamic(client: Client) -> Outcome {
    let kind = ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk("plexaubnet.io", "v1alpha1", "SubnetPool"), "subnetpools");
    let pools: Api<DynamicObject> = Api::namespaced_with(client.clone(), "default", &kind);
    let pool = DynamicObject::new("kube-rs", &kind).data(json!({"spec": {"cidr": "10.62.0.0/16"}}));
    let made = pools.create(&PostParams::default(), &pool).await?;
    assert_eq!(made.data["spec"]["strategy"], "Linear");
    pools.delete("kube-rs", &DeleteParams::default()).await?;
    let found = Discovery::new(client).run_aggregated().await?;
    assert!(found.has_group("plexaubnet.io") && found.has_group("live.berth.dev"));
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Outcome {
    let client = Client::try_default().await?;
    typed(client.clone()).await?;
    dynamic(client).await
}
