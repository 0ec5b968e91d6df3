{{/* True when the chart makes the certificate, empty when the user brings one. */}}
{{- define "berth.tls.generated" -}}
{{- $t := .Values.tls -}}
{{- if or $t.existingSecret $t.caBundle $t.injectAnnotations -}}
{{- if not (or $t.caBundle $t.injectAnnotations) -}}
{{- fail "tls.existingSecret needs tls.caBundle (PEM of the CA that signed it) or tls.injectAnnotations" -}}
{{- end -}}
{{- if not (or $t.existingSecret .Values.external.enabled) -}}
{{- fail "tls.caBundle and tls.injectAnnotations need tls.existingSecret: the Secret with the certificate to serve" -}}
{{- end -}}
{{- else -}}
true
{{- end -}}
{{- end -}}

{{- define "berth.tls.secretName" -}}
{{- default (printf "%s-tls" (include "berth.fullname" .)) .Values.tls.existingSecret -}}
{{- end -}}

{{/*
Leaves the generated certificate in `.berthTls` (crt, key, ca: PEM; inputs, renewAfter: annotations) and prints nothing.
The root context is one map for all files of a render, so whoever comes first makes the certificate and all others see
the same one. It is not put into .Values: those may be stored with the release, and this holds a private key.

The Secret in the cluster is used again as long as it is of the same names and not near its end. When it is replaced,
the former CA stays in the bundle behind the new one: pods that still serve the old certificate remain trusted until
they are replaced. The CA's key is dropped at the end of the render: nobody can sign with it later.
*/}}
{{- define "berth.tls" -}}
{{- if not (hasKey . "berthTls") -}}
{{- $name := include "berth.fullname" . -}}
{{- $dns := list -}}
{{- range $service := list "webhook" "api" -}}
{{- $host := printf "%s-%s.%s.svc" $name $service $.Release.Namespace -}}
{{- $dns = concat $dns (list $host (printf "%s.cluster.local" $host)) -}}
{{- end -}}
{{- $extra := concat .Values.tls.extraDNSNames .Values.tls.extraIPs -}}
{{- if .Values.external.enabled -}}
{{- $extra = concat $extra (list .Values.external.host .Values.external.address) -}}
{{- end -}}
{{- $ips := list -}}
{{- range $extra -}}
{{- if regexMatch "^([0-9.]+|[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*)$" . -}}
{{- $ips = append $ips . -}}
{{- else -}}
{{- $dns = append $dns . -}}
{{- end -}}
{{- end -}}
{{- $dns = uniq $dns -}}
{{- $ips = uniq $ips -}}
{{- $days := int .Values.tls.validityDays -}}
{{- $inputs := dict "dns" $dns "ips" $ips "days" $days | toJson | sha256sum | trunc 16 -}}
{{- $layout := "2006-01-02T15:04:05Z" -}}

{{- $old := lookup "v1" "Secret" .Release.Namespace (include "berth.tls.secretName" .) | default dict -}}
{{- $data := $old.data | default dict -}}
{{- $notes := dig "metadata" "annotations" (dict) $old | default dict -}}
{{- $whole := and (index $data "tls.crt") (index $data "tls.key") (index $data "ca.crt") -}}
{{- $current := and
      (eq $inputs (index $notes "berth.dev/tls-inputs" | default ""))
      (lt (dateInZone $layout now "UTC") (index $notes "berth.dev/tls-renew-after" | default "")) -}}
{{- if and $whole $current -}}
{{- $_ := set . "berthTls" (dict
      "crt" (index $data "tls.crt" | b64dec)
      "key" (index $data "tls.key" | b64dec)
      "ca" (index $data "ca.crt" | b64dec)
      "inputs" $inputs
      "renewAfter" (index $notes "berth.dev/tls-renew-after")) -}}
{{- else -}}
{{- $ca := genCAWithKey (printf "%s-ca" $name) $days (genPrivateKey "ecdsa") -}}
{{- $leaf := genSignedCertWithKey (first $dns) $ips $dns $days $ca (genPrivateKey "ecdsa") -}}
{{- $bundle := $ca.Cert -}}
{{- with index $data "ca.crt" -}}
{{- $former := regexFind "(?s)-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----" (b64dec .) -}}
{{- $bundle = printf "%s\n%s\n" (trim $ca.Cert) $former -}}
{{- end -}}
{{- $_ := set . "berthTls" (dict
      "crt" $leaf.Cert
      "key" $leaf.Key
      "ca" $bundle
      "inputs" $inputs
      "renewAfter" (dateInZone $layout (now | dateModify (printf "+%dh" (mul $days 16))) "UTC")) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Base64 of the CA for webhooks and APIService; empty when a controller injects it. */}}
{{- define "berth.caBundle" -}}
{{- if include "berth.tls.generated" . -}}
{{- include "berth.tls" . -}}
{{- .berthTls.ca | b64enc -}}
{{- else if .Values.tls.caBundle -}}
{{- .Values.tls.caBundle | b64enc -}}
{{- end -}}
{{- end -}}
