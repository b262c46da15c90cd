#!/bin/sh
# ./scripts/launch_multi_node.sh MASTER NODES GPUS [options] [SCRIPT [ARGS]]
# The other hosts are in ./hostfile; without a script it is main.py of this folder, else scripts/train.py.
# 其他主机写在 ./hostfile；不指定脚本时运行当前目录的 main.py，否则 scripts/train.py。
# fermi launch-multi-node --help
. "$(dirname "$0")/_fermi.sh"
if [ "$#" -eq 3 ]; then
    case "$*" in -*) ;; *)
        if [ ! -e main.py ] && [ -e scripts/train.py ]; then set -- "$@" scripts/train.py; else set -- "$@" main.py; fi ;;
    esac
fi
become_fermi launch-multi-node "$@"
