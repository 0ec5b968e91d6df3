{{/* What the server is told about EIPs: its arguments, one a line. */}}
{{- define "berth.eip.args" -}}
{{- $e := .Values.eip -}}
{{- if not $e.region }}{{ fail "eip.enabled needs eip.region, as in cn-hangzhou" }}{{ end -}}
{{- $args := list "--aliyun-region" $e.region "--eip-resync" (int $e.resync) -}}
{{- if $e.credentialsSecret }}{{ $args = concat $args (list "--aliyun-credentials-dir" "/etc/berth/aliyun") }}{{ end -}}
{{- if $e.vpcNetwork }}{{ $args = append $args "--aliyun-vpc-network" }}{{ end -}}
{{- with $e.endpoints.vpc }}{{ $args = concat $args (list "--aliyun-vpc-endpoint" .) }}{{ end -}}
{{- with $e.endpoints.sts }}{{ $args = concat $args (list "--aliyun-sts-endpoint" .) }}{{ end -}}
{{- if $e.caSecret }}{{ $args = concat $args (list "--aliyun-ca-file" "/etc/berth/aliyun-ca/ca.crt") }}{{ end -}}
{{- with $e.callsPerMinute }}{{ $args = concat $args (list "--aliyun-calls-per-minute" (int .)) }}{{ end -}}
{{- range $action, $most := $e.limits }}{{ $args = concat $args (list "--aliyun-limit" (printf "%s=%d" $action (int $most))) }}{{ end -}}
{{- range $args }}
- {{ . | toString | quote }}
{{- end }}
{{- end -}}

{{/* True when the server assumes a RAM role with its service account's token, empty otherwise. */}}
{{- define "berth.eip.oidc" -}}
{{- $o := .Values.eip.oidc -}}
{{- if and .Values.eip.enabled (or $o.roleArn $o.providerArn) -}}
{{- if not (and $o.roleArn $o.providerArn) }}{{ fail "eip.oidc needs both roleArn and providerArn" }}{{ end -}}
{{- if .Values.eip.credentialsSecret }}{{ fail "eip.credentialsSecret and eip.oidc are two ways: choose one" }}{{ end -}}
true
{{- end -}}
{{- end -}}
