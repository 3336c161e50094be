// The CRDs of the Prometheus Operator from the Go module proxy: go mod download -json
module hookpolicy.dev/test/controlplane/prometheus-operator

go 1.26.0

require github.com/prometheus-operator/prometheus-operator v0.85.0
