{{- define "example.name" }}{{ .Chart.Name }}{{ end -}}
