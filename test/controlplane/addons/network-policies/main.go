// Enforces NetworkPolicies on a node: kube-network-policies decides about each packet that opens a connection. Its own
// program has nftables queue them, which needs CONFIG_NFT_QUEUE of the kernel; here iptables does (test/cluster/nodes.ts).
package main

import (
	"context"
	"flag"
	"log"
	"os"
	"os/signal"
	"syscall"

	"github.com/florianl/go-nfqueue/v2"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/kube-network-policies/pkg/api"
	"sigs.k8s.io/kube-network-policies/pkg/network"
	"sigs.k8s.io/kube-network-policies/pkg/networkpolicy"
	"sigs.k8s.io/kube-network-policies/pkg/podinfo"
)

func main() {
	kubeconfig := flag.String("kubeconfig", "", "file")
	node := flag.String("node", "", "name of this node")
	queue := flag.Uint("queue", 0, "number of the queue")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	engine, err := startEngine(ctx, *kubeconfig, *node)
	if err == nil {
		err = enforce(ctx, engine, uint16(*queue))
	}
	if err != nil {
		log.Fatal(err)
	}
}

func startEngine(ctx context.Context, kubeconfig, node string) (*networkpolicy.PolicyEngine, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	namespaces, pods := factory.Core().V1().Namespaces(), factory.Core().V1().Pods()
	policies := networkpolicy.NewStandardNetworkPolicy(node, namespaces, pods, factory.Networking().V1().NetworkPolicies())
	provider := podinfo.NewInformerProvider(pods, namespaces, nil, nil)
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	return networkpolicy.NewPolicyEngine(provider, []api.PolicyEvaluator{policies}), nil
}

// enforce refuses what it cannot read; without it, the kernel drops what it would queue.
func enforce(ctx context.Context, engine *networkpolicy.PolicyEngine, number uint16) error {
	queue, err := nfqueue.Open(&nfqueue.Config{
		NfQueue: number, MaxPacketLen: 128, MaxQueueLen: 1024, Copymode: nfqueue.NfQnlCopyPacket,
	})
	if err != nil {
		return err
	}
	defer queue.Close()
	judge := func(attribute nfqueue.Attribute) int {
		if err := queue.SetVerdict(*attribute.PacketID, verdict(ctx, engine, *attribute.Payload)); err != nil {
			log.Print(err)
		}
		return 0
	}
	failed := func(err error) int {
		log.Print(err)
		return 0
	}
	if err := queue.RegisterWithErrorFunc(ctx, judge, failed); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

func verdict(ctx context.Context, engine *networkpolicy.PolicyEngine, payload []byte) int {
	packet, err := network.ParsePacket(payload)
	if err != nil {
		log.Print(err)
		return nfqueue.NfDrop
	}
	allowed, err := engine.EvaluatePacket(ctx, &packet)
	if err != nil || !allowed {
		log.Printf("refused %s to %s:%d (%v)", packet.SrcIP, packet.DstIP, packet.DstPort, err)
		return nfqueue.NfDrop
	}
	return nfqueue.NfAccept
}
