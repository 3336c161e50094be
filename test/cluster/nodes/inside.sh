#!/usr/bin/env bash
# The first process of a node, in its own namespaces: makes the node's file system and network, runs its daemons, reaps.
set -euo pipefail
I=$1 D=$RUN/n$1

mount --make-rprivate /
cp --archive --update "$PACKAGES/usr" "$D/upper/" # not a lower layer: one may not lie within another
mount -t overlay overlay -o "lowerdir=/,upperdir=$D/upper,workdir=$D/work" "$D/root"
cd "$D/root"
mkdir -p var/lib/containerd var/lib/kubelet
mount --bind "$D/containerd" var/lib/containerd # an overlay cannot be another one's upper layer
mount --bind "$D/kubelet" var/lib/kubelet
mount -t proc proc proc
mount -t sysfs sysfs sys
mount --rbind /dev dev
mount -t tmpfs -o mode=755 run run
mount -t tmpfs tmpfs tmp
mkdir -p ".$CACHE" # after /run and /tmp: it may lie in either
mount --bind "$CACHE" ".$CACHE"
mount -t tmpfs -o mode=755 tmpfs sys/fs/cgroup
for c in $(sed -n 's/^[0-9]*:\([^:]*\):.*/\1/p' /proc/self/cgroup); do
  mkdir -p "sys/fs/cgroup/${c#name=}"
  if [[ $c == name=* ]]; then mount -t cgroup -o "none,$c" cgroup "sys/fs/cgroup/${c#name=}"; else mount -t cgroup -o "$c" cgroup "sys/fs/cgroup/$c"; fi
done
# kubelet insists on some settings of the whole machine: here it reads that they are so, and changes nothing.
mkdir -p run/sysctl
while read -r name value; do
  echo "$value" >"run/sysctl/${name//\//.}"
  mount --bind "run/sysctl/${name//\//.}" "proc/sys/$name"
done <<'S'
vm/overcommit_memory 1
vm/panic_on_oom 0
kernel/panic 10
kernel/panic_on_oops 1
kernel/keys/root_maxkeys 1000000
kernel/keys/root_maxbytes 25000000
S
mkdir -p run/old
pivot_root . run/old
cd /
umount -l /run/old && rmdir /run/old
mount --make-rshared /

hostname "n$I"
echo "127.0.0.1 localhost n$I" >/etc/hosts
: >/etc/resolv.conf # nothing outside is reached
ip link set lo up
touch "$D/network-wanted"
while [[ ! -e $D/network-there ]]; do sleep 0.05; done
((I > 1)) || ip link add eth0 type bridge # the first node's interface is the switch of all
ip addr add "10.250.0.$I/24" dev eth0
ip addr add "fd00:10:250::$I/64" dev eth0 nodad # nobody else is there
ip link set eth0 up
ip route add default dev eth0
ip -6 route add default dev eth0
for ((other = 1; other <= NODES; other++)); do
  ((other == I)) && continue
  ip route add "10.244.$other.0/24" via "10.250.0.$other"
  ip route add "fd00:10:244:$other::/64" via "fd00:10:250::$other"
done
echo 1 >/proc/sys/net/ipv4/ip_forward
echo 1 >/proc/sys/net/ipv6/conf/all/forwarding
# Pods of one node reach each other through a Service, too.
echo 1 >/proc/sys/net/bridge/bridge-nf-call-iptables
echo 1 >/proc/sys/net/bridge/bridge-nf-call-ip6tables

mkdir -p /etc/cni/net.d /etc/containerd /run/containerd
cat >/etc/cni/net.d/10-test.conflist <<J
{ "cniVersion": "1.0.0", "name": "test", "plugins": [
  { "type": "bridge", "bridge": "cni0", "isGateway": true, "ipMasq": false, "hairpinMode": true,
    "ipam": { "type": "host-local", "ranges": [[{ "subnet": "10.244.$I.0/24" }], [{ "subnet": "fd00:10:244:$I::/64" }]],
      "routes": [{ "dst": "0.0.0.0/0" }, { "dst": "::/0" }] } },
  { "type": "portmap", "capabilities": { "portMappings": true }, "backend": "nftables" } ] }
J
cat >/etc/containerd/config.toml <<T
version = 3
[plugins.'io.containerd.cri.v1.images']
  snapshotter = 'overlayfs'
  [plugins.'io.containerd.cri.v1.images'.pinned_images]
    sandbox = 'test/pause:1'
[plugins.'io.containerd.cri.v1.runtime']
  restrict_oom_score_adj = true # without CAP_SYS_RESOURCE no process may be made less likely to be ended
  [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]
    runtime_type = 'io.containerd.runc.v2'
  [plugins.'io.containerd.cri.v1.runtime'.cni]
    bin_dirs = ['$BIN']
    conf_dir = '/etc/cni/net.d'
T
# cgroup v1 is no failure, and a disk of which others use much evicts no Pod.
cat >/etc/kubelet.yaml <<Y
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
authentication: { anonymous: { enabled: false }, webhook: { enabled: true }, x509: { clientCAFile: $RUN/pki/ca.crt } }
authorization: { mode: Webhook }
tlsCertFile: $RUN/pki/n$I.crt
tlsPrivateKeyFile: $RUN/pki/n$I.key
containerRuntimeEndpoint: unix:///run/containerd/containerd.sock
cgroupDriver: cgroupfs
failCgroupV1: false
failSwapOn: false
clusterDNS: [10.96.0.10]
clusterDomain: cluster.local
resolvConf: /etc/resolv.conf
enforceNodeAllocatable: [pods]
evictionHard: { memory.available: "0%", nodefs.available: "0%", nodefs.inodesFree: "0%", imagefs.available: "0%", imagefs.inodesFree: "0%" }
imageGCHighThresholdPercent: 100
shutdownGracePeriod: 0s
syncFrequency: 10s
Y
cat >/etc/kube-proxy.yaml <<Y
apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: nftables
clientConnection: { kubeconfig: $RUN/pki/proxy.kubeconfig }
clusterCIDR: 10.244.0.0/16,fd00:10:244::/48
hostnameOverride: n$I
conntrack: { maxPerCore: 0, min: 0, tcpEstablishedTimeout: 0s, tcpCloseWaitTimeout: 0s } # of the machine, not of a network
Y

keep() { # name, command: as an init system keeps a daemon
  local name=$1; shift
  while :; do "$@" >>"$D/log/$name.log" 2>&1 || true; echo "-- $name ended, starts again" >>"$D/log/$name.log"; sleep 1; done &
}

export PATH=$BIN:$PATH:/usr/sbin:/sbin
if ((I == 1)); then
  u=http://127.0.0.1:2379 p=http://127.0.0.1:2380 pki=$RUN/pki
  keep etcd etcd --data-dir "$D/etcd" --unsafe-no-fsync --watch-progress-notify-interval 5s --listen-client-urls $u --advertise-client-urls $u --listen-peer-urls $p --initial-advertise-peer-urls $p --initial-cluster "default=$p" --log-level warn
  keep kube-apiserver kube-apiserver --etcd-servers $u --bind-address :: --advertise-address 10.250.0.1 --secure-port 6443 \
    --tls-cert-file "$pki/apiserver.crt" --tls-private-key-file "$pki/apiserver.key" --client-ca-file "$pki/ca.crt" --token-auth-file "$pki/tokens.csv" \
    --kubelet-preferred-address-types InternalIP --kubelet-client-certificate "$pki/admin.crt" --kubelet-client-key "$pki/admin.key" --kubelet-certificate-authority "$pki/ca.crt" \
    --service-account-key-file "$pki/sa.key" --service-account-signing-key-file "$pki/sa.key" --service-account-issuer https://kubernetes.default.svc.cluster.local \
    --service-cluster-ip-range 10.96.0.0/16,fd00:10:96::/112 --authorization-mode Node,RBAC --enable-admission-plugins NodeRestriction --allow-privileged
  # Kubernetes' own times: 50 s until a node is not ready, 40 s in older versions.
  keep kube-controller-manager kube-controller-manager --kubeconfig "$pki/controller-manager.kubeconfig" --leader-elect=false --bind-address 127.0.0.1 --use-service-account-credentials \
    --service-account-private-key-file "$pki/sa.key" --root-ca-file "$pki/ca.crt" --cluster-signing-cert-file "$pki/ca.crt" --cluster-signing-key-file "$pki/ca.key"
  keep kube-scheduler kube-scheduler --kubeconfig "$pki/scheduler.kubeconfig" --leader-elect=false --bind-address 127.0.0.1
fi
keep containerd containerd
keep kubelet kubelet --config /etc/kubelet.yaml --kubeconfig "$RUN/pki/n$I.kubeconfig" --node-ip "10.250.0.$I,fd00:10:250::$I" --hostname-override "n$I" --v 2
keep kube-proxy kube-proxy --config /etc/kube-proxy.yaml
keep network-policies network-policies --kubeconfig "$RUN/pki/admin.kubeconfig" --node "n$I" --queue 100 # idle until a test has it asked
set +e
trap 'exit 0' TERM
while :; do wait -n || sleep 1; done
