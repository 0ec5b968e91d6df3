{{/* True when a system that is switched on uses Alibaba Cloud, empty otherwise. */}}
{{- define "berth.aliyun.used" -}}
{{- range include "berth.systems" . | fromJsonArray }}{{ if eq (default "" .cloud) "aliyun" }}true{{ end }}{{ end -}}
{{- end -}}

{{/* The server's arguments for Alibaba Cloud and the systems that use it, one a line. */}}
{{- define "berth.aliyun.args" -}}
{{- $a := .Values.aliyun -}}
{{- if not $a.region }}{{ fail "eip.enabled and eni.enabled need aliyun.region, as in cn-hangzhou" }}{{ end -}}
{{- $args := list "--aliyun-region" $a.region -}}
{{- if $a.credentialsSecret }}{{ $args = concat $args (list "--aliyun-credentials-dir" "/etc/berth/aliyun") }}{{ end -}}
{{- if $a.vpcNetwork }}{{ $args = append $args "--aliyun-vpc-network" }}{{ end -}}
{{- range $api := list "vpc" "ecs" "sts" }}
{{- with get $a.endpoints $api }}{{ $args = concat $args (list (printf "--aliyun-%s-endpoint" $api) .) }}{{ end -}}
{{- end -}}
{{- if $a.caSecret }}{{ $args = concat $args (list "--aliyun-ca-file" "/etc/berth/aliyun-ca/ca.crt") }}{{ end -}}
{{- with $a.callsPerMinute }}{{ $args = concat $args (list "--aliyun-calls-per-minute" (int .)) }}{{ end -}}
{{- range $action, $most := $a.limits }}{{ $args = concat $args (list "--aliyun-limit" (printf "%s=%d" $action (int $most))) }}{{ end -}}
{{- if .Values.eip.enabled }}{{ $args = concat $args (list "--eip-resync" (int .Values.eip.resync)) }}{{ else }}{{ $args = append $args "--no-eip" }}{{ end -}}
{{- if .Values.eni.enabled }}{{ $args = append $args "--eni" }}{{ end -}}
{{- range $args }}
- {{ . | toString | quote }}
{{- end }}
{{- end -}}

{{/* True when the server assumes a RAM role with its service account's token, empty otherwise. */}}
{{- define "berth.aliyun.oidc" -}}
{{- $o := .Values.aliyun.oidc -}}
{{- if and (include "berth.aliyun.used" .) (or $o.roleArn $o.providerArn) -}}
{{- if not (and $o.roleArn $o.providerArn) }}{{ fail "aliyun.oidc needs both roleArn and providerArn" }}{{ end -}}
{{- if .Values.aliyun.credentialsSecret }}{{ fail "aliyun.credentialsSecret and aliyun.oidc are two ways: choose one" }}{{ end -}}
true
{{- end -}}
{{- end -}}
