#!/usr/bin/env bash
# A real SLURM of two nodes on one machine, in a folder: slurm.sh up FOLDER, slurm.sh down FOLDER;
# slurm.sh crash FOLDER NODE ends a node with all that runs on it, slurm.sh node FOLDER NODE brings
# it back.
#
# Each node has its own address, host name and processes (network, UTS and PID namespaces); files
# are shared, as on a cluster. Needs root. What `up` starts, and nothing else, `down` ends: the
# process ids are in FOLDER/pids. `slurm.sh install` first puts in what Debian packages it lacks.
set -euo pipefail

folder=$(realpath -m "${2:-.}")
bridge=gauntlet0
net=10.77.0

install() {
  type slurmctld slurmd sbatch munged ip nsenter unshare > /dev/null 2>&1 && return
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends \
    slurm-wlm munge iproute2 util-linux
}

up() {
  mkdir -p "$folder"/{state,log}
  cores=$(nproc --all)
  configure > "$folder/slurm.conf"
  network
  (umask 077; head -c 1024 /dev/urandom > "$folder/munge.key")
  keep munged --force --foreground --key-file="$folder/munge.key" --socket="$folder/munge.socket" \
    --pid-file="$folder/munged.pid" --log-file="$folder/log/munged" --seed-file="$folder/seed"
  until [ -S "$folder/munge.socket" ]; do sleep 0.1; done
  keep slurmctld -D -i -f "$folder/slurm.conf"
  node n1
  node n2
  for _ in $(seq 300); do
    [ "$(idle)" = 2 ] && return
    sleep 0.2
  done
  echo "the nodes did not come up; see $folder/log" >&2
  exit 1
}

node() {
  mkdir -p "$folder/spool.$1"
  keep nsenter --net="/run/netns/gauntlet-$1" unshare --pid --uts --fork --kill-child \
    --mount-proc bash -c "hostname $1; slurmd -D -f $folder/slurm.conf -N $1; exit"
  tail -n 1 "$folder/pids" > "$folder/pid.$1"
}

crash() { kill -9 "$(cat "$folder/pid.$1")"; }

idle() { SLURM_CONF="$folder/slurm.conf" sinfo -h -N -p main -t idle 2> /dev/null | wc -l; }

# Starts a daemon that outlives this script, and notes its process id.
keep() {
  setsid "$@" > "$folder/log/$(basename "$1")-$RANDOM" 2>&1 < /dev/null &
  echo $! >> "$folder/pids"
}

network() {
  ip link add $bridge type bridge
  ip addr add $net.254/24 dev $bridge
  ip link set $bridge up
  for number in 1 2; do
    ip netns add gauntlet-n$number
    ip link add gauntlet-v$number type veth peer name eth0 netns gauntlet-n$number
    ip link set gauntlet-v$number master $bridge up
    ip -n gauntlet-n$number addr add $net.$number/24 dev eth0
    ip -n gauntlet-n$number link set eth0 up
    ip -n gauntlet-n$number link set lo up
    ip -n gauntlet-n$number route add default via $net.254
  done
}

configure() {
  cat << END
ClusterName=gauntlet
SlurmctldHost=$(hostname)($net.254)
SlurmctldPort=16817
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$folder/munge.socket,cred_expire=5
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool.%n
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.%n.pid
SlurmctldLogFile=$folder/log/slurmctld
SlurmdLogFile=$folder/log/slurmd.%n
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/filetxt
JobCompLoc=$folder/jobs.txt
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
ReturnToService=2
SlurmdParameters=config_overrides
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
NodeName=n1 NodeAddr=$net.1 NodeHostname=n1 Port=17001 CPUs=$cores
NodeName=n2 NodeAddr=$net.2 NodeHostname=n2 Port=17002 CPUs=$cores
PartitionName=main Nodes=n1,n2 Default=YES MaxTime=INFINITE PriorityTier=1 GraceTime=60
PartitionName=urgent Nodes=n1,n2 MaxTime=INFINITE PriorityTier=10 PreemptMode=OFF
END
}

down() {
  [ -f "$folder/pids" ] && xargs -r kill -9 < "$folder/pids" 2> /dev/null || true
  for number in 1 2; do
    ip netns del gauntlet-n$number 2> /dev/null || true
    ip link del gauntlet-v$number 2> /dev/null || true  # a killed node's network may outlive it
  done
  ip link del $bridge 2> /dev/null || true
}

"$1" "${@:3}"
