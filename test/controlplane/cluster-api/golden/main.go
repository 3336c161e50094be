// Golden bodies of Cluster API's lifecycle hooks, made and read with Cluster API's own types.
//
//	go run -mod=readonly ./golden write FOLDER   writes the requests as Cluster API's runtime client encodes them
//	go run -mod=readonly ./golden check FOLDER   reads the answers as that client does, and stricter
//
// `node test/contract/regenerate.ts` runs both.
package main

import (
	"fmt"
	"os"

	runtimecatalog "sigs.k8s.io/cluster-api/api/runtime/catalog"
	hooksv1 "sigs.k8s.io/cluster-api/api/runtime/hooks/v1alpha1"
)

// lifecycleHooks in the order in which Cluster API calls them in a Cluster's life.
var lifecycleHooks = []runtimecatalog.Hook{
	hooksv1.BeforeClusterCreate,
	hooksv1.AfterControlPlaneInitialized,
	hooksv1.BeforeClusterUpgrade,
	hooksv1.BeforeControlPlaneUpgrade,
	hooksv1.AfterControlPlaneUpgrade,
	hooksv1.BeforeWorkersUpgrade,
	hooksv1.AfterWorkersUpgrade,
	hooksv1.AfterClusterUpgrade,
	hooksv1.BeforeClusterDelete,
}

func main() {
	if len(os.Args) != 3 {
		fail(fmt.Errorf("usage: golden write|check FOLDER"))
	}
	catalog := runtimecatalog.New()
	fail(hooksv1.AddToCatalog(catalog))
	switch folder := os.Args[2]; os.Args[1] {
	case "write":
		fail(writeRequests(catalog, folder))
	case "check":
		fail(checkResponses(catalog, folder))
	default:
		fail(fmt.Errorf("unknown command %q", os.Args[1]))
	}
}

func fail(err error) {
	if err == nil {
		return
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
