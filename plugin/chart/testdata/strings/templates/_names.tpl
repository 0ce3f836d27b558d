{{- define "strings.name" }}{{ .Chart.Name }}{{ end -}}
