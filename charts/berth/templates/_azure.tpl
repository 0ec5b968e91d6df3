{{/* True when a system that is switched on uses Azure, empty otherwise. */}}
{{- define "berth.azure.used" -}}
{{- range include "berth.systems" . | fromJsonArray }}{{ if eq (default "" .cloud) "azure" }}true{{ end }}{{ end -}}
{{- end -}}

{{/* The server's arguments for Azure and the systems that use it, one a line. */}}
{{- define "berth.azure.args" -}}
{{- $a := .Values.azure -}}
{{- if not $a.cloudConfigSecret }}{{ fail "difftracker.enabled needs azure.cloudConfigSecret" }}{{ end -}}
{{- $args := list "--azure-cloud-config" "/etc/berth/azure/cloud-config" -}}
{{- with $a.gateway }}{{ $args = concat $args (list "--azure-gateway" .) }}{{ end -}}
{{- with $a.armEndpoint }}{{ $args = concat $args (list "--azure-arm-endpoint" .) }}{{ end -}}
{{- with $a.authority }}{{ $args = concat $args (list "--azure-authority" .) }}{{ end -}}
{{- with $a.apiVersion }}{{ $args = concat $args (list "--azure-api-version" .) }}{{ end -}}
{{- if $a.caSecret }}{{ $args = concat $args (list "--azure-ca-file" "/etc/berth/azure-ca/ca.crt") }}{{ end -}}
{{- if .Values.difftracker.enabled }}{{ $args = append $args "--service-gateway" }}{{ end -}}
{{- range $args }}
- {{ . | toString | quote }}
{{- end }}
{{- end -}}
