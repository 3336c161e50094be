package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/argoproj/argo-cd/gitops-engine/pkg/sync"
	"github.com/argoproj/argo-cd/gitops-engine/pkg/sync/common"
	"github.com/argoproj/argo-cd/gitops-engine/pkg/utils/kube"
	"github.com/argoproj/argo-cd/gitops-engine/pkg/utils/tracing"
	"github.com/fluxcd/pkg/ssa"
	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// pruning deletes the object, which Git no longer has, as the tool does; Argo CD: with this propagation policy, or its own.
func pruning(tool, kubeconfig, propagation string) (func(*unstructured.Unstructured) (answer, error), error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	if tool == "flux" {
		return fluxPruning(config)
	}
	return func(object *unstructured.Unstructured) (answer, error) {
		return argoPruning(config, object, metav1.DeletionPropagation(propagation))
	}, nil
}

// As kustomize-controller does (internal/controller, KustomizationReconciler.prune), by the library that it uses.
func fluxPruning(config *rest.Config) (func(*unstructured.Unstructured) (answer, error), error) {
	c, err := client.New(config, client.Options{})
	if err != nil {
		return nil, err
	}
	manager := ssa.NewResourceManager(c, nil, ssa.Owner{Field: "kustomize-controller", Group: "kustomize.toolkit.fluxcd.io"})
	options := ssa.DeleteOptions{
		PropagationPolicy: metav1.DeletePropagationBackground,
		Exclusions:        map[string]string{"kustomize.toolkit.fluxcd.io/prune": "disabled"},
	}
	return func(object *unstructured.Unstructured) (answer, error) {
		changes, err := manager.DeleteAll(context.Background(), []*unstructured.Unstructured{object}, options)
		if err != nil {
			return answer{Status: "Failed", Message: err.Error()}, nil
		}
		return answer{Status: changes.Entries[0].Action.String()}, nil
	}, nil
}

// As Argo CD's application controller does (controller/sync.go, SyncAppState), by its gitops-engine.
func argoPruning(config *rest.Config, object *unstructured.Unstructured, propagation metav1.DeletionPropagation) (answer, error) {
	live := sync.ReconciliationResult{Live: []*unstructured.Unstructured{object}, Target: []*unstructured.Unstructured{nil}}
	options := []sync.SyncOpt{sync.WithOperationSettings(false, true, false, true)}
	if propagation != "" {
		options = append(options, sync.WithPrunePropagationPolicy(&propagation))
	}
	kubectl := &kube.KubectlCmd{Log: logr.Discard(), Tracer: tracing.NopTracer{}}
	operation, clean, err := sync.NewSyncContext("", live, config, config, kubectl, object.GetNamespace(), options...)
	if err != nil {
		return answer{}, err
	}
	defer clean()
	operation.Sync()
	_, message, results := operation.GetState()
	if len(results) != 1 {
		return answer{}, errors.New(message)
	}
	if results[0].Status == common.ResultCodePruned {
		return answer{Status: "Pruned"}, nil
	}
	return answer{Status: "Failed", Message: fmt.Sprint(results[0].Message)}, nil
}
