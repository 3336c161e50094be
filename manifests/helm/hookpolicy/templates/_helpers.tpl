{{/*
Names are fixed: the hooks of a management cluster are answered by one operator, and a second release is refused
because its cluster-wide objects exist.
*/}}
{{- define "hookpolicy.labels" -}}
app.kubernetes.io/name: hookpolicy
{{ include "hookpolicy.releaseLabels" . }}
{{- end }}

{{- define "hookpolicy.releaseLabels" -}}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* Cluster API 1.10, and no newer one, has ExtensionConfig as v1alpha1 alone. */}}
{{- define "hookpolicy.oldClusterAPI" -}}
{{- if and (.Capabilities.APIVersions.Has "runtime.cluster.x-k8s.io/v1alpha1/ExtensionConfig") (not (.Capabilities.APIVersions.Has "runtime.cluster.x-k8s.io/v1beta2/ExtensionConfig")) }}old{{ end }}
{{- end }}

{{- define "hookpolicy.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}
{{ .repository }}@{{ .digest }}
{{- else -}}
{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}
{{- end }}
{{- end }}
{{- end }}

{{/* Another issuer's authority is written by the operator, or by cert-manager. */}}
{{- define "hookpolicy.caBundle" -}}
{{- if eq .Values.certificates.issuer "none" }}{{ .Values.certificates.caBundle | default "" }}{{ end }}
{{- end }}

{{/* The label app.kubernetes.io/name is another one: the Service and the Deployment select by it. */}}
{{- define "hookpolicy.uninstallMetadata" }}
  name: hookpolicy-uninstall
  labels:
    app.kubernetes.io/name: hookpolicy-uninstall
    {{- include "hookpolicy.releaseLabels" . | nindent 4 }}
  annotations:
    helm.sh/hook: pre-delete
    helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
{{- end }}

{{- define "hookpolicy.affinity" }}
podAntiAffinity:
  preferredDuringSchedulingIgnoredDuringExecution:
    - weight: 100
      podAffinityTerm:
        topologyKey: kubernetes.io/hostname
        labelSelector:
          matchLabels:
            app.kubernetes.io/name: hookpolicy
    - weight: 50
      podAffinityTerm:
        topologyKey: topology.kubernetes.io/zone
        labelSelector:
          matchLabels:
            app.kubernetes.io/name: hookpolicy
{{- end }}
