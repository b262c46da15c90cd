#!/usr/bin/env bash
# Installs what the tests need of the system (namespaces, sshd, Slurm, strace, faketime, mpirun, what Python and DeepSpeed
# are built with), on a Debian where we are root. Elsewhere it names what is missing; the tests that need it then fail unless
# FERMI_LEAVE_OUT names their part (mount, netns, ssh, slurm, strace, faketime, mpirun).
set -euo pipefail
PATH=$PATH:/usr/sbin:/sbin

missing=()
need() { command -v "$1" >/dev/null || missing+=("$2"); }
need ip iproute2
need nft nftables
need ssh openssh-client
need sshd openssh-server
need munged munge
need slurmctld slurmctld
need slurmd slurmd
need sbatch slurm-client
need strace strace
need faketime faketime
need mpirun openmpi-bin
need g++ g++
need xz xz-utils
python() { python3 -c "$1" 2>/dev/null; }
python 'import ensurepip, venv' || missing+=(python3-venv)
python 'import os, sysconfig as s; os.stat(s.get_path("include") + "/Python.h")' || missing+=(python3-dev)

[ ${#missing[@]} -gt 0 ] || exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  echo "installing ${missing[*]}"
  export DEBIAN_FRONTEND=noninteractive
  apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null ||
    { apt-get update -qq && apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null; }
else
  echo "not installed: ${missing[*]} (as root on Debian: apt-get install ${missing[*]})"
fi
