#include "kube/memory/protobuf_schema.h"

// The field numbers are those of k8s.io/api, k8s.io/apimachinery and k8s.io/apiextensions-apiserver
// v0.36 (their generated.proto). Numbers never change; a later field is one more entry here.
namespace berth::kube::memory {

const char* const kProtobufMetadata = R"(
Quantity=: 1 text string
IntOrString=: 3 text string, 2 number *int
ExtraValue=: 1 items [string]
Empty:
OwnerReference: 1 kind *string, 3 name *string, 4 uid *string, 5 apiVersion *string,
  6 controller *bool, 7 blockOwnerDeletion *bool
ObjectMeta: 1 name string, 2 generateName string, 3 namespace string, 4 selfLink string,
  5 uid string, 6 resourceVersion string, 7 generation int, 8 creationTimestamp time,
  9 deletionTimestamp *time, 10 deletionGracePeriodSeconds *int, 11 labels {string},
  12 annotations {string}, 13 ownerReferences [OwnerReference], 14 finalizers [string]
Preconditions: 1 uid *string, 2 resourceVersion *string
DeleteOptions: 1 gracePeriodSeconds *int, 2 preconditions *Preconditions,
  3 orphanDependents *bool, 4 propagationPolicy *string, 5 dryRun [string],
  6 ignoreStoreReadErrorWithClusterBreakingPotential *bool
)";

const char* const kProtobufCore = R"(
v1/ConfigMap: 1 metadata ObjectMeta, 2 data {string}, 3 binaryData {bytes}, 4 immutable *bool
v1/Secret: 1 metadata ObjectMeta, 2 data {bytes}, 3 type string, 4 stringData {string},
  5 immutable *bool
NamespaceSpec: 1 finalizers [string]
NamespaceCondition: 1 type *string, 2 status *string, 4 lastTransitionTime time, 5 reason string,
  6 message string
NamespaceStatus: 1 phase string, 2 conditions [NamespaceCondition]
v1/Namespace: 1 metadata ObjectMeta, 2 spec NamespaceSpec, 3 status NamespaceStatus
ObjectReference: 1 kind string, 2 namespace string, 3 name string, 4 uid string,
  5 apiVersion string, 6 resourceVersion string, 7 fieldPath string
LocalObjectReference: 1 name string
v1/ServiceAccount: 1 metadata ObjectMeta, 2 secrets [ObjectReference],
  3 imagePullSecrets [LocalObjectReference], 4 automountServiceAccountToken *bool
EventSource: 1 component string, 2 host string
EventSeries: 1 count int, 2 lastObservedTime microtime
v1/Event: 1 metadata *ObjectMeta, 2 involvedObject *ObjectReference, 3 reason string,
  4 message string, 5 source EventSource, 6 firstTimestamp time, 7 lastTimestamp time,
  8 count int, 9 type string, 10 eventTime microtime, 11 series *EventSeries, 12 action string,
  13 related *ObjectReference, 14 reportingComponent *string, 15 reportingInstance *string
LeaseSpec: 1 holderIdentity *string, 2 leaseDurationSeconds *int, 3 acquireTime *microtime,
  4 renewTime *microtime, 5 leaseTransitions *int, 6 strategy *string, 7 preferredHolder *string
coordination.k8s.io/v1/Lease: 1 metadata ObjectMeta, 2 spec LeaseSpec
events.k8s.io/v1/Event: 1 metadata *ObjectMeta, 2 eventTime *microtime, 3 series *EventSeries,
  4 reportingController string, 5 reportingInstance string, 6 action string, 7 reason string,
  8 regarding ObjectReference, 9 related *ObjectReference, 10 note string, 11 type string,
  12 deprecatedSource EventSource, 13 deprecatedFirstTimestamp time,
  14 deprecatedLastTimestamp time, 15 deprecatedCount int
)";

const char* const kProtobufReviews = R"(
FieldSelectorRequirement: 1 key *string, 2 operator *string, 3 values [string]
FieldSelectorAttributes: 1 rawSelector string, 2 requirements [FieldSelectorRequirement]
LabelSelectorRequirement: 1 key *string, 2 operator *string, 3 values [string]
LabelSelectorAttributes: 1 rawSelector string, 2 requirements [LabelSelectorRequirement]
ResourceAttributes: 1 namespace string, 2 verb string, 3 group string, 4 version string,
  5 resource string, 6 subresource string, 7 name string,
  8 fieldSelector *FieldSelectorAttributes, 9 labelSelector *LabelSelectorAttributes
NonResourceAttributes: 1 path string, 2 verb string
SelfSubjectAccessReviewSpec: 1 resourceAttributes *ResourceAttributes,
  2 nonResourceAttributes *NonResourceAttributes
SubjectAccessReviewStatus: 1 allowed *bool, 2 reason string, 3 evaluationError string,
  4 denied bool
authorization.k8s.io/v1/SelfSubjectAccessReview: 1 metadata ObjectMeta,
  2 spec *SelfSubjectAccessReviewSpec, 3 status SubjectAccessReviewStatus
SubjectAccessReviewSpec: 1 resourceAttributes *ResourceAttributes,
  2 nonResourceAttributes *NonResourceAttributes, 3 user string, 4 groups [string],
  5 extra {ExtraValue}, 6 uid string
authorization.k8s.io/v1/SubjectAccessReview: 1 metadata ObjectMeta,
  2 spec *SubjectAccessReviewSpec, 3 status SubjectAccessReviewStatus
authorization.k8s.io/v1/LocalSubjectAccessReview: 1 metadata ObjectMeta,
  2 spec *SubjectAccessReviewSpec, 3 status SubjectAccessReviewStatus
SelfSubjectRulesReviewSpec: 1 namespace string
ResourceRule: 1 verbs [string], 2 apiGroups [string], 3 resources [string],
  4 resourceNames [string]
NonResourceRule: 1 verbs [string], 2 nonResourceURLs [string]
SubjectRulesReviewStatus: 1 resourceRules [ResourceRule], 2 nonResourceRules [NonResourceRule],
  3 incomplete *bool, 4 evaluationError string
authorization.k8s.io/v1/SelfSubjectRulesReview: 1 metadata ObjectMeta,
  2 spec *SelfSubjectRulesReviewSpec, 3 status SubjectRulesReviewStatus
TokenReviewSpec: 1 token string, 2 audiences [string]
UserInfo: 1 username string, 2 uid string, 3 groups [string], 4 extra {ExtraValue}
TokenReviewStatus: 1 authenticated bool, 2 user UserInfo, 3 error string, 4 audiences [string]
authentication.k8s.io/v1/TokenReview: 1 metadata ObjectMeta, 2 spec *TokenReviewSpec,
  3 status TokenReviewStatus
SelfSubjectReviewStatus: 1 userInfo UserInfo
authentication.k8s.io/v1/SelfSubjectReview: 1 metadata ObjectMeta,
  2 status SelfSubjectReviewStatus
)";

const char* const kProtobufServicesAndNodes = R"(
ServicePort: 1 name string, 2 protocol string, 3 port *int, 4 targetPort IntOrString,
  5 nodePort int, 6 appProtocol *string
ClientIPConfig: 1 timeoutSeconds *int
SessionAffinityConfig: 1 clientIP *ClientIPConfig
ServiceSpec: 1 ports [ServicePort], 2 selector {string}, 3 clusterIP string, 4 type string,
  5 externalIPs [string], 7 sessionAffinity string, 8 loadBalancerIP string,
  9 loadBalancerSourceRanges [string], 10 externalName string, 11 externalTrafficPolicy string,
  12 healthCheckNodePort int, 13 publishNotReadyAddresses bool,
  14 sessionAffinityConfig *SessionAffinityConfig, 17 ipFamilyPolicy *string,
  18 clusterIPs [string], 19 ipFamilies [string], 20 allocateLoadBalancerNodePorts *bool,
  21 loadBalancerClass *string, 22 internalTrafficPolicy *string, 23 trafficDistribution *string
PortStatus: 1 port *int, 2 protocol *string, 3 error *string
LoadBalancerIngress: 1 ip string, 2 hostname string, 3 ipMode *string, 4 ports [PortStatus]
LoadBalancerStatus: 1 ingress [LoadBalancerIngress]
Condition: 1 type *string, 2 status *string, 3 observedGeneration int, 4 lastTransitionTime *time,
  5 reason *string, 6 message *string
ServiceStatus: 1 loadBalancer LoadBalancerStatus, 2 conditions [Condition]
v1/Service: 1 metadata ObjectMeta, 2 spec ServiceSpec, 3 status ServiceStatus
Taint: 1 key *string, 2 value string, 3 effect *string, 4 timeAdded *time
ConfigMapNodeConfigSource: 1 namespace *string, 2 name *string, 3 uid string,
  4 resourceVersion string, 5 kubeletConfigKey *string
NodeConfigSource: 2 configMap *ConfigMapNodeConfigSource
NodeSpec: 1 podCIDR string, 2 externalID string, 3 providerID string, 4 unschedulable bool,
  5 taints [Taint], 6 configSource *NodeConfigSource, 7 podCIDRs [string]
NodeCondition: 1 type *string, 2 status *string, 3 lastHeartbeatTime time,
  4 lastTransitionTime time, 5 reason string, 6 message string
NodeAddress: 1 type *string, 2 address *string
DaemonEndpoint: 1 Port *int
NodeDaemonEndpoints: 1 kubeletEndpoint DaemonEndpoint
NodeSwapStatus: 1 capacity *int
NodeSystemInfo: 1 machineID *string, 2 systemUUID *string, 3 bootID *string,
  4 kernelVersion *string, 5 osImage *string, 6 containerRuntimeVersion *string,
  7 kubeletVersion *string, 8 kubeProxyVersion *string, 9 operatingSystem *string,
  10 architecture *string, 11 swap *NodeSwapStatus
ContainerImage: 1 names [string], 2 sizeBytes int
AttachedVolume: 1 name *string, 2 devicePath *string
NodeConfigStatus: 1 assigned *NodeConfigSource, 2 active *NodeConfigSource,
  3 lastKnownGood *NodeConfigSource, 4 error string
NodeRuntimeHandlerFeatures: 1 recursiveReadOnlyMounts *bool, 2 userNamespaces *bool
NodeRuntimeHandler: 1 name *string, 2 features *NodeRuntimeHandlerFeatures
NodeFeatures: 1 supplementalGroupsPolicy *bool
NodeStatus: 1 capacity {Quantity}, 2 allocatable {Quantity}, 3 phase string,
  4 conditions [NodeCondition], 5 addresses [NodeAddress], 6 daemonEndpoints NodeDaemonEndpoints,
  7 nodeInfo NodeSystemInfo, 8 images [ContainerImage], 9 volumesInUse [string],
  10 volumesAttached [AttachedVolume], 11 config *NodeConfigStatus,
  12 runtimeHandlers [NodeRuntimeHandler], 13 features *NodeFeatures, 14 declaredFeatures [string]
v1/Node: 1 metadata ObjectMeta, 2 spec NodeSpec, 3 status NodeStatus
EndpointConditions: 1 ready *bool, 2 serving *bool, 3 terminating *bool
ForZone: 1 name *string
ForNode: 1 name *string
EndpointHints: 1 forZones [ForZone], 2 forNodes [ForNode]
Endpoint: 1 addresses [string], 2 conditions *EndpointConditions, 3 hostname *string,
  4 targetRef *ObjectReference, 5 deprecatedTopology {string}, 6 nodeName *string, 7 zone *string,
  8 hints *EndpointHints
EndpointPort: 1 name *string, 2 protocol *string, 3 port *int, 4 appProtocol *string
discovery.k8s.io/v1/EndpointSlice: 1 metadata ObjectMeta, 2 endpoints [Endpoint],
  3 ports [EndpointPort], 4 addressType *string
)";

const char* const kProtobufDefinitions = R"(
JSON=: 1 raw json
JSONSchemaPropsOrArray=: 1 schema *JSONSchemaProps, 2 list [JSONSchemaProps]
JSONSchemaPropsOrBool=: 2 schema *JSONSchemaProps, 1 allows *bool
JSONSchemaPropsOrStringArray=: 1 schema *JSONSchemaProps, 2 property [string]
CustomResourceDefinitionNames: 1 plural *string, 2 singular string, 3 shortNames [string],
  4 kind *string, 5 listKind string, 6 categories [string]
ExternalDocumentation: 1 description string, 2 url string
ValidationRule: 1 rule *string, 2 message string, 3 messageExpression string, 4 reason *string,
  5 fieldPath string, 6 optionalOldSelf *bool
JSONSchemaProps: 1 id string, 2 $schema string, 3 $ref *string, 4 description string,
  5 type string, 6 format string, 7 title string, 8 default *JSON, 9 maximum *double,
  10 exclusiveMaximum bool, 11 minimum *double, 12 exclusiveMinimum bool, 13 maxLength *int,
  14 minLength *int, 15 pattern string, 16 maxItems *int, 17 minItems *int, 18 uniqueItems bool,
  19 multipleOf *double, 20 enum [JSON], 21 maxProperties *int, 22 minProperties *int,
  23 required [string], 24 items *JSONSchemaPropsOrArray, 25 allOf [JSONSchemaProps],
  26 oneOf [JSONSchemaProps], 27 anyOf [JSONSchemaProps], 28 not *JSONSchemaProps,
  29 properties {JSONSchemaProps}, 30 additionalProperties *JSONSchemaPropsOrBool,
  31 patternProperties {JSONSchemaProps}, 32 dependencies {JSONSchemaPropsOrStringArray},
  33 additionalItems *JSONSchemaPropsOrBool, 34 definitions {JSONSchemaProps},
  35 externalDocs *ExternalDocumentation, 36 example *JSON, 37 nullable bool,
  38 x-kubernetes-preserve-unknown-fields *bool, 39 x-kubernetes-embedded-resource bool,
  40 x-kubernetes-int-or-string bool, 41 x-kubernetes-list-map-keys [string],
  42 x-kubernetes-list-type *string, 43 x-kubernetes-map-type *string,
  44 x-kubernetes-validations [ValidationRule]
CustomResourceValidation: 1 openAPIV3Schema *JSONSchemaProps
CustomResourceSubresourceScale: 1 specReplicasPath *string, 2 statusReplicasPath *string,
  3 labelSelectorPath *string
CustomResourceSubresources: 1 status *Empty,
  2 scale *CustomResourceSubresourceScale
CustomResourceColumnDefinition: 1 name *string, 2 type *string, 3 format string,
  4 description string, 5 priority int, 6 jsonPath *string
SelectableField: 1 jsonPath *string
CustomResourceDefinitionVersion: 1 name *string, 2 served *bool, 3 storage *bool,
  4 schema *CustomResourceValidation, 5 subresources *CustomResourceSubresources,
  6 additionalPrinterColumns [CustomResourceColumnDefinition], 7 deprecated bool,
  8 deprecationWarning *string, 9 selectableFields [SelectableField]
ServiceReference: 1 namespace *string, 2 name *string, 3 path *string, 4 port *int
WebhookClientConfig: 1 service *ServiceReference, 2 caBundle bytes, 3 url *string
WebhookConversion: 2 clientConfig *WebhookClientConfig, 3 conversionReviewVersions [string]
CustomResourceConversion: 1 strategy *string, 2 webhook *WebhookConversion
CustomResourceDefinitionSpec: 1 group *string, 3 names *CustomResourceDefinitionNames,
  4 scope *string, 7 versions [CustomResourceDefinitionVersion],
  9 conversion *CustomResourceConversion, 10 preserveUnknownFields bool
CustomResourceDefinitionCondition: 1 type *string, 2 status *string, 3 lastTransitionTime time,
  4 reason string, 5 message string, 6 observedGeneration int
CustomResourceDefinitionStatus: 1 conditions [CustomResourceDefinitionCondition],
  2 acceptedNames *CustomResourceDefinitionNames, 3 storedVersions [string],
  4 observedGeneration int
apiextensions.k8s.io/v1/CustomResourceDefinition: 1 metadata ObjectMeta,
  2 spec *CustomResourceDefinitionSpec, 3 status CustomResourceDefinitionStatus
)";

}  // namespace berth::kube::memory
