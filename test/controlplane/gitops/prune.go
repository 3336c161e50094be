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

// renaming syncs, as Argo CD does, a commit that has the successor, which is JSON, instead of the object; last: PruneLast=true.
func renaming(kubeconfig, successor string, last bool) (func(*unstructured.Unstructured) (answer, error), error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	target := &unstructured.Unstructured{}
	if err := target.UnmarshalJSON([]byte(successor)); err != nil {
		return nil, err
	}
	background := metav1.DeletePropagationBackground
	options := []sync.SyncOpt{sync.WithPrunePropagationPolicy(&background), sync.WithPruneLast(last)}
	return func(object *unstructured.Unstructured) (answer, error) {
		state := sync.ReconciliationResult{Live: []*unstructured.Unstructured{object, nil}, Target: []*unstructured.Unstructured{nil, target}}
		operation, clean, err := argoSync(config, state, object.GetNamespace(), options...)
		if err != nil {
			return answer{}, err
		}
		defer clean()
		phase, message, results := operation.GetState()
		for _, result := range results {
			message += "\n" + result.Message
		}
		return answer{Status: string(phase), Message: message}, nil
	}, nil
}

// forcing applies the object as a Kustomization of Flux with `force: true` does.
func forcing(kubeconfig string) (func(*unstructured.Unstructured) (answer, error), error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	manager, err := fluxManager(config)
	if err != nil {
		return nil, err
	}
	options := ssa.DefaultApplyOptions()
	options.Force = true
	return func(object *unstructured.Unstructured) (answer, error) {
		changes, err := manager.ApplyAll(context.Background(), []*unstructured.Unstructured{object}, options)
		if err != nil {
			return answer{Status: "Failed", Message: err.Error()}, nil
		}
		return answer{Status: changes.Entries[0].Action.String()}, nil
	}, nil
}

func fluxManager(config *rest.Config) (*ssa.ResourceManager, error) {
	c, err := client.New(config, client.Options{})
	if err != nil {
		return nil, err
	}
	return ssa.NewResourceManager(c, nil, ssa.Owner{Field: "kustomize-controller", Group: "kustomize.toolkit.fluxcd.io"}), nil
}

// As kustomize-controller does (internal/controller, KustomizationReconciler.prune), by the library that it uses.
func fluxPruning(config *rest.Config) (func(*unstructured.Unstructured) (answer, error), error) {
	manager, err := fluxManager(config)
	if err != nil {
		return nil, err
	}
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

func argoPruning(config *rest.Config, object *unstructured.Unstructured, propagation metav1.DeletionPropagation) (answer, error) {
	state := sync.ReconciliationResult{Live: []*unstructured.Unstructured{object}, Target: []*unstructured.Unstructured{nil}}
	var options []sync.SyncOpt
	if propagation != "" {
		options = append(options, sync.WithPrunePropagationPolicy(&propagation))
	}
	operation, clean, err := argoSync(config, state, object.GetNamespace(), options...)
	if err != nil {
		return answer{}, err
	}
	defer clean()
	_, message, results := operation.GetState()
	if len(results) != 1 {
		return answer{}, errors.New(message)
	}
	if results[0].Status == common.ResultCodePruned {
		return answer{Status: "Pruned"}, nil
	}
	return answer{Status: "Failed", Message: fmt.Sprint(results[0].Message)}, nil
}

// As Argo CD's application controller does (controller/sync.go, SyncAppState), by its gitops-engine.
func argoSync(config *rest.Config, state sync.ReconciliationResult, namespace string, options ...sync.SyncOpt) (sync.SyncContext, func(), error) {
	kubectl := &kube.KubectlCmd{Log: logr.Discard(), Tracer: tracing.NopTracer{}}
	options = append(options, sync.WithOperationSettings(false, true, false, true))
	operation, clean, err := sync.NewSyncContext("", state, config, config, kubectl, namespace, options...)
	if err == nil {
		operation.Sync()
	}
	return operation, clean, err
}
