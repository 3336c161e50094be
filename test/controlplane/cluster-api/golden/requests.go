package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clusterv1beta1 "sigs.k8s.io/cluster-api/api/core/v1beta1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	runtimecatalog "sigs.k8s.io/cluster-api/api/runtime/catalog"
	hooksv1 "sigs.k8s.io/cluster-api/api/runtime/hooks/v1alpha1"
	runtimev1 "sigs.k8s.io/cluster-api/api/runtime/v1beta2"
)

const (
	fromVersion = "v1.34.2"
	toVersion   = "v1.35.0"
)

var (
	settings = hooksv1.CommonRequest{Settings: map[string]string{"environment": "production"}}
	steps    = []hooksv1.UpgradeStepInfo{{Version: toVersion}}
)

// writeRequests writes one request per line: the bytes of a body, and the line's end.
func writeRequests(catalog *runtimecatalog.Catalog, folder string) error {
	discovery, err := encode(catalog, hooksv1.Discovery, &hooksv1.DiscoveryRequest{})
	if err != nil {
		return err
	}
	files := map[string][][]byte{"requests.discovery.jsonl": {discovery}}
	for _, hook := range append([]runtimecatalog.Hook{hooksv1.Discovery}, lifecycleHooks...) {
		path, err := pathOf(catalog, hook)
		if err != nil {
			return err
		}
		files["paths.txt"] = append(files["paths.txt"], []byte(path))
	}
	for _, hook := range lifecycleHooks {
		cluster := clusterFor(runtimecatalog.HookName(hook))
		v1beta2, err := encode(catalog, hook, requestFor(runtimecatalog.HookName(hook), *cluster))
		if err != nil {
			return err
		}
		v1beta1, err := withV1Beta1(v1beta2, cluster)
		if err != nil {
			return err
		}
		files["requests.v1beta2.jsonl"] = append(files["requests.v1beta2.jsonl"], v1beta2)
		files["requests.v1beta1.jsonl"] = append(files["requests.v1beta1.jsonl"], v1beta1)
	}
	for name, bodies := range files {
		text := append(bytes.Join(bodies, []byte("\n")), '\n')
		if err := os.WriteFile(filepath.Join(folder, name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// pathOf returns the path of the hook's handler with the name "handler"; discovery has none.
func pathOf(catalog *runtimecatalog.Catalog, hook runtimecatalog.Hook) (string, error) {
	gvh, err := catalog.GroupVersionHook(hook)
	if err != nil {
		return "", err
	}
	if gvh.Hook == "Discovery" {
		return runtimecatalog.GVHToPath(gvh, ""), nil
	}
	return runtimecatalog.GVHToPath(gvh, "handler"), nil
}

// encode does what httpCall in sigs.k8s.io/cluster-api/internal/runtime/client/client.go does.
func encode(catalog *runtimecatalog.Catalog, hook runtimecatalog.Hook, request runtime.Object) ([]byte, error) {
	gvh, err := catalog.GroupVersionHook(hook)
	if err != nil {
		return nil, err
	}
	if err := catalog.ValidateRequest(gvh, request); err != nil {
		return nil, err
	}
	gvk, err := catalog.Request(gvh)
	if err != nil {
		return nil, err
	}
	request.GetObjectKind().SetGroupVersionKind(gvk)
	return json.Marshal(request)
}

// withV1Beta1 puts Cluster API's own conversion of the Cluster in its place: up to v1.12 a request held a v1beta1 Cluster,
// whose status was emptied but encoded.
func withV1Beta1(request []byte, cluster *clusterv1.Cluster) ([]byte, error) {
	converted := &clusterv1beta1.Cluster{}
	if err := clusterv1beta1.Convert_v1beta2_Cluster_To_v1beta1_Cluster(cluster, converted, nil); err != nil {
		return nil, err
	}
	converted.SetGroupVersionKind(clusterv1beta1.GroupVersion.WithKind("Cluster"))
	converted.Status = clusterv1beta1.ClusterStatus{}
	finish(converted, cluster)
	v1beta2, err := json.Marshal(cluster)
	if err != nil {
		return nil, err
	}
	v1beta1, err := json.Marshal(converted)
	if err != nil {
		return nil, err
	}
	if bytes.Count(request, v1beta2) != 1 {
		return nil, fmt.Errorf("the Cluster is not in the request once: %s", request)
	}
	return bytes.Replace(request, v1beta2, v1beta1, 1), nil
}

// finish does what a webhook does around the conversion: zeros that nobody has set go, and references come with their version.
func finish(converted *clusterv1beta1.Cluster, cluster *clusterv1.Cluster) {
	converted.Spec.ClusterNetwork.APIServerPort = nil
	for i := range converted.Spec.Topology.Workers.MachineDeployments {
		converted.Spec.Topology.Workers.MachineDeployments[i].FailureDomain = nil
	}
	converted.Spec.ControlPlaneRef = reference(cluster.Spec.ControlPlaneRef, cluster.Namespace)
	converted.Spec.InfrastructureRef = reference(cluster.Spec.InfrastructureRef, cluster.Namespace)
}

func reference(ref clusterv1.ContractVersionedObjectReference, namespace string) *corev1.ObjectReference {
	if !ref.IsDefined() {
		return nil
	}
	return &corev1.ObjectReference{APIVersion: ref.APIGroup + "/v1beta1", Kind: ref.Kind, Namespace: namespace, Name: ref.Name}
}

func requestFor(hook string, cluster clusterv1.Cluster) runtime.Object {
	switch hook {
	case "BeforeClusterCreate":
		return &hooksv1.BeforeClusterCreateRequest{CommonRequest: settings, Cluster: cluster}
	case "AfterControlPlaneInitialized":
		return &hooksv1.AfterControlPlaneInitializedRequest{CommonRequest: settings, Cluster: cluster}
	case "BeforeClusterUpgrade":
		return &hooksv1.BeforeClusterUpgradeRequest{CommonRequest: settings, Cluster: cluster,
			FromKubernetesVersion: fromVersion, ToKubernetesVersion: toVersion,
			ControlPlaneUpgrades: steps, WorkersUpgrades: steps}
	case "BeforeControlPlaneUpgrade":
		return &hooksv1.BeforeControlPlaneUpgradeRequest{CommonRequest: settings, Cluster: cluster,
			FromKubernetesVersion: fromVersion, ToKubernetesVersion: toVersion,
			ControlPlaneUpgrades: steps, WorkersUpgrades: steps}
	case "AfterControlPlaneUpgrade":
		return &hooksv1.AfterControlPlaneUpgradeRequest{CommonRequest: settings, Cluster: cluster,
			KubernetesVersion: toVersion, WorkersUpgrades: steps}
	case "BeforeWorkersUpgrade":
		return &hooksv1.BeforeWorkersUpgradeRequest{CommonRequest: settings, Cluster: cluster,
			FromKubernetesVersion: fromVersion, ToKubernetesVersion: toVersion, WorkersUpgrades: steps}
	case "AfterWorkersUpgrade":
		return &hooksv1.AfterWorkersUpgradeRequest{CommonRequest: settings, Cluster: cluster,
			KubernetesVersion: toVersion}
	case "AfterClusterUpgrade":
		return &hooksv1.AfterClusterUpgradeRequest{CommonRequest: settings, Cluster: cluster,
			KubernetesVersion: toVersion}
	case "BeforeClusterDelete":
		return &hooksv1.BeforeClusterDeleteRequest{CommonRequest: settings, Cluster: cluster}
	}
	panic("no request for hook " + hook)
}

// clusterFor returns the Cluster as it is when the hook is called, after cleanupCluster
// (sigs.k8s.io/cluster-api/core/reconcilers/topology/cluster): no status, no managed fields.
func clusterFor(hook string) *clusterv1.Cluster {
	cluster := newCluster()
	switch hook {
	case "BeforeClusterCreate":
		cluster.Generation = 1
		cluster.Finalizers = nil
		cluster.Spec.ControlPlaneEndpoint = clusterv1.APIEndpoint{}
		cluster.Spec.ControlPlaneRef = clusterv1.ContractVersionedObjectReference{}
		cluster.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{}
	case "AfterControlPlaneInitialized":
		setPending(cluster, "AfterControlPlaneInitialized")
	case "BeforeClusterUpgrade":
		cluster.Spec.Topology.Version = toVersion
	case "BeforeControlPlaneUpgrade":
		cluster.Spec.Topology.Version = toVersion
		setPending(cluster, "AfterClusterUpgrade")
	case "AfterControlPlaneUpgrade":
		cluster.Spec.Topology.Version = toVersion
		setPending(cluster, "AfterClusterUpgrade,AfterControlPlaneUpgrade")
	case "BeforeWorkersUpgrade":
		cluster.Spec.Topology.Version = toVersion
		setPending(cluster, "AfterClusterUpgrade,BeforeWorkersUpgrade")
	case "AfterWorkersUpgrade":
		cluster.Spec.Topology.Version = toVersion
		setPending(cluster, "AfterClusterUpgrade,AfterWorkersUpgrade")
	case "AfterClusterUpgrade":
		cluster.Spec.Topology.Version = toVersion
		setPending(cluster, "AfterClusterUpgrade")
	case "BeforeClusterDelete":
		deleted := metav1.NewTime(time.Date(2026, 11, 21, 9, 30, 0, 0, time.UTC))
		cluster.DeletionTimestamp = &deleted
		cluster.DeletionGracePeriodSeconds = new(int64)
	}
	return cluster
}

func setPending(cluster *clusterv1.Cluster, hooks string) {
	cluster.Annotations[runtimev1.PendingHooksAnnotation] = hooks
}

func newCluster() *clusterv1.Cluster {
	three := int32(3)
	return &clusterv1.Cluster{
		TypeMeta: metav1.TypeMeta{APIVersion: clusterv1.GroupVersion.String(), Kind: "Cluster"},
		ObjectMeta: metav1.ObjectMeta{
			Name:              "prod-1",
			Namespace:         "team-a",
			UID:               "7d3f0c7e-5b0a-4c56-9f0e-0c2f5d6b7a81",
			ResourceVersion:   "1000",
			Generation:        4,
			CreationTimestamp: metav1.NewTime(time.Date(2026, 3, 2, 8, 15, 0, 0, time.UTC)),
			Finalizers:        []string{clusterv1.ClusterFinalizer},
			Labels: map[string]string{
				clusterv1.ClusterNameLabel:          "prod-1",
				clusterv1.ClusterTopologyOwnedLabel: "",
				"tier":                              "production",
			},
			Annotations: map[string]string{
				// Go escapes more than JSON needs: <, >, & and U+2028.
				"notes.example.com/why": "capacity < 80 % & cost > plan\u2028“größer”\ttab\\",
			},
		},
		Spec: clusterv1.ClusterSpec{
			ClusterNetwork: clusterv1.ClusterNetwork{
				Pods:     clusterv1.NetworkRanges{CIDRBlocks: []string{"192.168.0.0/16"}},
				Services: clusterv1.NetworkRanges{CIDRBlocks: []string{"10.96.0.0/12"}},
			},
			ControlPlaneEndpoint: clusterv1.APIEndpoint{Host: "192.0.2.10", Port: 6443},
			ControlPlaneRef: clusterv1.ContractVersionedObjectReference{
				APIGroup: "controlplane.cluster.x-k8s.io", Kind: "KubeadmControlPlane", Name: "prod-1-x7k2p"},
			InfrastructureRef: clusterv1.ContractVersionedObjectReference{
				APIGroup: "infrastructure.cluster.x-k8s.io", Kind: "DockerCluster", Name: "prod-1-9wq4d"},
			Topology: clusterv1.Topology{
				ClassRef:     clusterv1.ClusterClassRef{Name: "quick-start"},
				Version:      fromVersion,
				ControlPlane: clusterv1.ControlPlaneTopology{Replicas: &three},
				Workers: clusterv1.WorkersTopology{MachineDeployments: []clusterv1.MachineDeploymentTopology{
					{Class: "default-worker", Name: "md-0", Replicas: &three},
				}},
				Variables: []clusterv1.ClusterVariable{
					{Name: "imageRepository", Value: apiextensionsv1.JSON{Raw: []byte(`"registry.example.com"`)}},
					{Name: "podSecurityStandard", Value: apiextensionsv1.JSON{
						Raw: []byte(`{"enabled":true,"enforce":"baseline","ratio":1e3,"cluster":{"metadata":{"name":"other"}}}`)}},
				},
			},
		},
	}
}
