{{- define "berth.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 48 | trimSuffix "-" -}}
{{- end -}}

{{/* Prefix of every object's name: `berth` for a release named berth. 48 characters leave room for the suffixes. */}}
{{- define "berth.fullname" -}}
{{- $name := include "berth.name" . -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 48 | trimSuffix "-" -}}
{{- else if contains $name .Release.Name -}}
{{- .Release.Name | trunc 48 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 48 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "berth.selectorLabels" -}}
app.kubernetes.io/name: {{ include "berth.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "berth.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{ include "berth.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{- define "berth.image" -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) -}}
{{- end -}}
{{- end -}}

{{/* The subject of every binding. */}}
{{- define "berth.subjects" -}}
subjects:
  - kind: ServiceAccount
    name: {{ include "berth.fullname" . }}
    namespace: {{ .Release.Namespace }}
{{- end -}}

{{/* Annotations that make a controller fill in the caBundle. */}}
{{- define "berth.injectAnnotations" -}}
{{- with .Values.tls.injectAnnotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
{{- end }}
{{- end -}}

{{/*
The systems that are switched on, as a JSON list of their manifests. One that has a section of its own in the values is switched
on by `enabled`; `crdScope` there is the scope of its kinds.
*/}}
{{- define "berth.systems" -}}
{{- $systems := list -}}
{{- range $path, $_ := .Files.Glob "files/systems/*.yaml" -}}
{{- $system := $.Files.Get $path | fromYaml -}}
{{- $values := get $.Values $system.name | default dict -}}
{{- if dig "enabled" true $values -}}
{{- range $system.kinds }}{{ $_ := set . "scope" (dig "crdScope" .scope $values) }}{{ end -}}
{{- $systems = append $systems $system -}}
{{- end -}}
{{- end -}}
{{- toJson $systems -}}
{{- end -}}

{{/* Where an alert is explained: a section of docs/operations.md. Argument: dict "root" $ "alert" NAME */}}
{{- define "berth.runbook" -}}
{{- printf "%s#%s" .root.Values.metrics.prometheusRule.runbookURL (lower .alert) -}}
{{- end -}}

{{/* One webhook: its name, how to reach the server, what is matched. Argument: dict "root" $ "verb" "mutate" or "validate" "kind" KIND */}}
{{- define "berth.webhook" -}}
{{- $v := .root.Values -}}
{{- $kind := .kind -}}
{{- $webhook := get $kind .verb -}}
{{- $group := default "core" $kind.group -}}
{{- $path := printf "/%s/%s/%s" .verb $group $kind.resource -}}
{{- /* The name of a webhook has three parts: that of a built-in kind ends with our domain. */}}
name: {{ .verb }}.{{ $kind.resource }}.{{ default "core.berth.dev" $kind.group }}
clientConfig:
  {{- if $v.external.enabled }}
  {{- $host := ternary (printf "[%s]" $v.external.address) $v.external.address (contains ":" $v.external.address) }}
  url: {{ printf "https://%s:%d%s" $host (int $v.external.webhookPort) $path | quote }}
  {{- else }}
  service:
    name: {{ include "berth.fullname" .root }}-webhook
    namespace: {{ .root.Release.Namespace }}
    path: {{ $path }}
    port: 443
  {{- end }}
  {{- with include "berth.caBundle" .root }}
  caBundle: {{ . }}
  {{- end }}
rules:
  - apiGroups: [{{ $kind.group | default (quote "") }}]
    apiVersions: [{{ $kind.version }}]
    operations: [{{ join ", " $webhook.operations }}]
    resources: [{{ $kind.resource }}]
    scope: {{ $kind.scope }}
{{- if eq $kind.scope "Namespaced" }}
namespaceSelector:
  matchExpressions:
    - key: kubernetes.io/metadata.name
      operator: NotIn
      values: {{ append $v.webhooks.excludedNamespaces .root.Release.Namespace | uniq | toJson }}
{{- end }}
matchConditions:
  # Berth's own writes follow from its decisions; a replica that is behind must not object.
  - name: not-from-berth
    {{- /* A sandboxrequest creates a Sandbox, which is to get its slot like any other. */}}
    expression: {{ if eq $kind.resource "sandboxes" }}request.operation == 'CREATE' || {{ end }}request.userInfo.username != "system:serviceaccount:{{ .root.Release.Namespace }}:{{ include "berth.fullname" .root }}"
  # The last updates of an object being deleted only remove finalizers: they must pass while Berth is away,
  # or its namespace could never go.
  - name: not-a-finalizer-update
    expression: >-
      request.operation != 'UPDATE' || !has(object.metadata.deletionTimestamp) || object.spec != oldObject.spec
{{- if eq $kind.resource "services" }}
  # Services of other types, and of another provider's class, are not looked at.
  - name: load-balancers
    expression: >-
      has(object.spec.type) && object.spec.type == 'LoadBalancer' &&
      (!has(object.spec.loadBalancerClass) || object.spec.loadBalancerClass == 'berth.dev/service-gateway')
{{- end }}
matchPolicy: Equivalent
{{- /* Built-in kinds can be written while Berth is away; a mistake is told in the object's status then. */}}
failurePolicy: {{ ternary $v.webhooks.failurePolicy "Ignore" $kind.crd }}
{{- /* A create of a Sandbox waits for its slot no longer than that. */}}
timeoutSeconds: {{ ternary 2 $v.webhooks.timeoutSeconds (and (eq $kind.resource "sandboxes") (eq .verb "mutate")) }}
sideEffects: {{ $webhook.sideEffects }}
{{- if eq .verb "mutate" }}
reinvocationPolicy: Never
{{- end }}
admissionReviewVersions: [v1]
{{- end -}}
