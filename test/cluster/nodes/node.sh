#!/usr/bin/env bash
# Starts, cuts and enters the nodes of a Kubernetes cluster on this machine. A node lives in namespaces of its own (mount,
# PID, network, cgroup, UTS, IPC) with an overlay of this machine's root, and its control group is below $GROUP in every
# hierarchy: nothing outside can be touched, and `stop` ends what is in that group, and nothing else.
#   node.sh start N | enter N COMMAND… | crash N | stop        with CACHE, BIN, PACKAGES, RUN and NODES (test/cluster/nodes.ts)
set -euo pipefail
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
GROUP=hookpolicy-test

die() { echo "$*" >&2; exit 1; }
hierarchies() { for c in /sys/fs/cgroup/*/; do c=${c%/}; [[ ${c##*/} != unified && -e $c/cgroup.procs ]] && echo "$c"; done; }
init_of() { cat "$RUN/n$1/pid"; }

start() {
  local i=$1 d=$RUN/n$1 c f
  mkdir -p "$d"/{upper,work,root,containerd,kubelet,log}
  for c in $(hierarchies); do
    mkdir -p "$c/$GROUP/n$i"
    if [[ -e $c/cpuset.cpus ]]; then for f in $GROUP $GROUP/n$i; do cat "$c/cpuset.cpus" >"$c/$f/cpuset.cpus"; cat "$c/cpuset.mems" >"$c/$f/cpuset.mems"; done; fi
  done
  echo $((10 << 30)) >"/sys/fs/cgroup/memory/$GROUP/memory.limit_in_bytes" # so that no test takes the machine
  echo 16384 >"/sys/fs/cgroup/cpu/$GROUP/cpu.shares" # a group counts as one process: beside others that is too little for a cluster
  (
    for c in $(hierarchies); do echo "$BASHPID" >"$c/$GROUP/n$i/cgroup.procs"; done
    exec setsid unshare --cgroup --mount --net --uts --ipc --pid --fork bash "$HERE/inside.sh" "$i" </dev/null >"$d/log/init.log" 2>&1
  ) &
  local outer=$! p
  for _ in {1..600}; do [[ -e $d/network-wanted ]] && break; sleep 0.05; done # by now unshare has one child, the node's first process
  [[ -e $d/network-wanted ]] || die "node n$i did not start: $(cat "$d/log/init.log")"
  p=$(tr -d ' ' <"/proc/$outer/task/$outer/children")
  echo "$p" >"$d/pid"
  if ((i > 1)); then # the switch is in the first node's network, and nothing of it in this machine's
    for _ in {1..600}; do nsenter -t "$(init_of 1)" -n -- ip link show eth0 >/dev/null 2>&1 && break; sleep 0.05; done
    nsenter -t "$(init_of 1)" -n -- bash -c "ip link add test-n$i type veth peer name eth0 netns $p && ip link set test-n$i master eth0 up"
  fi
  touch "$d/network-there"
}

enter() { local i=$1; shift; PATH=$BIN:$PATH:/usr/sbin exec nsenter -t "$(init_of "$i")" -a -- "$@"; }

# As when its power is cut: what is on its disk stays, and `start` boots it again.
crash() {
  local i=$1 c p
  # First its cable: the kernel would close the connections of a process that it ends, and a node without power says nothing.
  ((i == 1)) || [[ ! -e $RUN/n1/pid ]] || nsenter -t "$(init_of 1)" -n -- ip link delete "test-n$i" 2>/dev/null || true
  for _ in {1..50}; do # with the first process of its PID namespace all others end
    p=$(find "/sys/fs/cgroup/pids/$GROUP/n$i" -name cgroup.procs -exec cat {} + 2>/dev/null) || true
    [[ -n $p ]] || break
    kill -KILL $p 2>/dev/null || true
    sleep 0.1
  done
  rm -f "$RUN/n$i/pid" "$RUN/n$i/network-wanted" "$RUN/n$i/network-there"
  for c in $(hierarchies); do remove_group "$c/$GROUP/n$i"; done
}

remove_group() {
  for _ in {1..50}; do
    [[ -d $1 ]] || return 0
    find "$1" -depth -type d -exec rmdir {} + 2>/dev/null || true
    sleep 0.05
  done
  die "left behind: $1 with processes $(find "$1" -name cgroup.procs -exec cat {} + | tr '\n' ' ')"
}

stop() {
  local i c
  for ((i = 9; i >= 1; i--)); do crash "$i"; done
  for c in $(hierarchies); do remove_group "$c/$GROUP"; done
  rm -rf "$RUN"
}

"$@"
