{{- define "trellis-admission.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ default .Chart.AppVersion .Values.image.tag }}
{{- end -}}
{{- end -}}

{{- define "trellis-admission.labels" -}}
app.kubernetes.io/name: trellis-admission
app.kubernetes.io/instance: {{ quote .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{- /* Whether the garden is another cluster: "true" or nothing. */}}
{{- define "trellis-admission.virtualGarden" -}}
{{- if or .Values.global.virtualGarden.enabled (dig "virtualCluster" "enabled" false .Values.gardener) }}true{{ end }}
{{- end -}}
