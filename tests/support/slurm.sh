#!/bin/bash
# A Slurm cluster of its own in one folder: `slurm.sh up DIR NODES PORT` starts it, `slurm.sh down DIR` ends it.
#
# Every daemon is started here, leaves its number in DIR/pid, and is ended by that number and no other way. Nothing
# outside DIR is written. Ports PORT to PORT+NODES are used. Each node claims four CPUs and two GPUs; the latter are
# copies of /dev/null, since slurmd takes nothing but character devices for them.
set -eu

daemons() {
    local file
    for file in "$1"/pid/*.pid; do
        if [ -s "$file" ]; then cat "$file"; fi
    done
    # A step whose slurmd was killed has a keeper that nobody ends; it names this cluster in its environment.
    for file in /proc/[0-9]*; do
        if [ "$(cat "$file/comm" 2>/dev/null)" = slurmstepd ] &&
            tr '\0' '\n' 2>/dev/null < "$file/environ" | grep -qx "SLURM_CONF=$1/slurm.conf"; then
            echo "${file#/proc/}"
        fi
    done
}

down() {
    local dir=$1 all pid left
    # A slurmd removes its file as soon as it is told to end, so the numbers are read before.
    all=$(daemons "$dir")
    for pid in $all; do kill -TERM "$pid" 2>/dev/null || true; done
    for _ in $(seq 40); do
        left=""
        for pid in $all; do
            if kill -0 "$pid" 2>/dev/null; then left="$left $pid"; fi
        done
        if [ -z "$left" ]; then return 0; fi
        sleep 0.05
    done
    for pid in $left; do kill -KILL "$pid" 2>/dev/null || true; done
}

key() {
    mkdir -m 0755 "$1/munge"
    head -c 256 /dev/urandom > "$1/munge/key"
    chmod 0400 "$1/munge/key"
    munged --key-file="$1/munge/key" --socket="$1/munge/socket" --seed-file="$1/munge/seed" \
        --pid-file="$1/pid/munged.pid" --log-file="$1/log/munged.log" --num-threads=2
}

configuration() {
    local dir=$1 nodes=$2 port=$3 host n
    host=$(hostname -s)
    cat <<CONF
ClusterName=fermi
# Ports of runs follow from job numbers: two clusters on one machine must not count alike.
FirstJobId=$port
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$port
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$dir/munge/socket
CredType=cred/munge
StateSaveLocation=$dir/state
SlurmdSpoolDir=$dir/spool-%n
SlurmctldPidFile=$dir/pid/slurmctld.pid
SlurmdPidFile=$dir/pid/slurmd-%n.pid
SlurmctldLogFile=$dir/log/slurmctld.log
SlurmdLogFile=$dir/log/slurmd-%n.log
# Several nodes on one machine, each larger than its share.
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
MailProg=/bin/true
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=sched_interval=2,bf_interval=2,batch_sched_delay=0
ReturnToService=2
# A dead node is noticed in seconds, where a real cluster takes minutes.
SlurmdTimeout=6
KillWait=5
MinJobAge=3600
JobRequeue=1
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
GresTypes=gpu
CONF
    for n in $(seq "$nodes"); do
        echo "NodeName=n$n NodeHostname=$host NodeAddr=127.0.0.1 Port=$((port + n)) CPUs=4 Sockets=1 CoresPerSocket=4 ThreadsPerCore=1 RealMemory=2000 Gres=gpu:2 State=UNKNOWN"
    done
    echo "PartitionName=main Nodes=n[1-$nodes] Default=YES MaxTime=INFINITE State=UP"
}

up() {
    local dir=$1 nodes=$2 port=$3 n idle
    mkdir -p "$dir/pid" "$dir/log" "$dir/state" "$dir/dev"
    key "$dir"
    for n in 0 1; do mknod "$dir/dev/nvidia$n" c 1 3; done
    configuration "$dir" "$nodes" "$port" > "$dir/slurm.conf"
    echo "NodeName=n[1-$nodes] Name=gpu File=$dir/dev/nvidia[0-1]" > "$dir/gres.conf"
    echo "CgroupPlugin=cgroup/v1" > "$dir/cgroup.conf"
    export SLURM_CONF=$dir/slurm.conf
    slurmctld -c -i
    for n in $(seq "$nodes"); do slurmd -N "n$n"; done
    for _ in $(seq 200); do
        idle=$(timeout 3 sinfo -h -N -t idle -o %N 2>/dev/null | sort -u | wc -l)
        if [ "$idle" = "$nodes" ]; then return 0; fi
        sleep 0.1
    done
    tail -n 20 "$dir"/log/*.log >&2
    return 1
}

export PATH=$PATH:/usr/sbin:/sbin
"$@"
