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

{{- /* The name of what monitors the admission. Gardener's begin with the name of the Prometheus. */}}
{{- define "trellis-admission.monitor" -}}
{{ if .Values.gardener }}garden-{{ end }}trellis-admission
{{- end -}}

{{- /* The labels by which a Prometheus selects it: those in Gardener's garden, or those of a value. */}}
{{- define "trellis-admission.selected" -}}
{{- $labels := ternary (dict "prometheus" "garden") (dict) (not (empty .root.Values.gardener)) }}
{{- with merge (deepCopy .labels) $labels }}
{{- toYaml . }}
{{- end }}
{{- end -}}
