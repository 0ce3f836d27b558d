{{- define "trellis.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ default .Chart.AppVersion .Values.image.tag }}
{{- end -}}
{{- end -}}

{{- define "trellis.labels" -}}
app.kubernetes.io/name: trellis-operator
app.kubernetes.io/instance: {{ quote .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{- /* The name of objects without a namespace. Releases in other namespaces have others. */}}
{{- define "trellis.clusterName" -}}
trellis-operator:{{ .Release.Namespace }}
{{- end -}}

{{- /* The OperatorConfiguration. What the user states goes before what the chart states, but for the mode. */}}
{{- define "trellis.configuration" -}}
{{- $config := dict
  "metrics" (dict "bindAddress" (printf ":%d" (int (index .Values.usablePorts 0))))
  "webhooks" (dict "bindAddress" (printf ":%d" (int (index .Values.usablePorts 1))))
  "healthProbes" (dict "bindAddress" (printf ":%d" (int (index .Values.usablePorts 2)))) }}
{{- if eq .Values.mode "gardener" }}
{{- $_ := set $config "heartbeat" (dict "extensionName" .Release.Name) }}
{{- end }}
{{- if or (eq .Values.mode "gardener") (dig "webhooks" "networks" false .Values.config) (dig "controlPlane" "kubeControllerManager" nil .Values.config) }}
{{- $_ := set $config.webhooks "serviceName" "trellis-operator" }}
{{- end }}
{{- with .Values.images }}
{{- $_ := set $config "images" (deepCopy .) }}
{{- end }}
{{- $own := dict "apiVersion" "config.trellis.network/v1alpha1" "kind" "OperatorConfiguration" "mode" (title .Values.mode) }}
{{- mergeOverwrite $config (deepCopy .Values.config) $own | toYaml }}
{{- end -}}

{{- /* Whether there is a Prometheus for alerts: "true" or nothing. Gardener's seeds have one; what renders the charts for them does not know the kinds of the cluster. */}}
{{- define "trellis.monitored" -}}
{{- if or (and (eq .Values.mode "gardener") (dig "seed" nil .Values.gardener)) (.Capabilities.APIVersions.Has "monitoring.coreos.com/v1/PrometheusRule") }}true{{ end }}
{{- end -}}

{{- /* Whether the operator serves webhooks: "true" or nothing. */}}
{{- define "trellis.webhooks" -}}
{{- $webhooks := (include "trellis.configuration" . | fromYaml).webhooks }}
{{- if and (or $webhooks.serviceName $webhooks.url) (ne $webhooks.bindAddress "0") }}true{{ end }}
{{- end -}}

{{- /* The folders of rbac with the operator's rights in the whole cluster, separated by spaces. */}}
{{- define "trellis.rights" -}}
{{- $config := include "trellis.configuration" . | fromYaml }}
{{- $folders := list .Values.mode }}
{{- if dig "webhooks" "networks" false $config }}{{ $folders = append $folders "networks" }}{{ end }}
{{- if dig "controlPlane" "kubeControllerManager" nil $config }}{{ $folders = append $folders "controlplane" }}{{ end }}
{{- range dig "controlPlane" "kubeControllerManager" (list) $config }}{{ if .cloudConfigTemplate }}{{ $folders = append $folders "cloudconfigtemplate" }}{{ end }}{{ end }}
{{- if $config.infrastructures }}{{ $folders = append $folders "infrastructure" }}{{ end }}
{{- if has "local" (default (list) $config.infrastructures) }}{{ $folders = append $folders "local" }}{{ end }}
{{- concat $folders .Values.rights | uniq | join " " }}
{{- end -}}
