#!/bin/sh
# ./scripts/launch_multi_node.sh MASTER NODES GPUS [options] SCRIPT [ARGS]
# The other hosts are in ./hostfile; see fermi launch-multi-node --help.
exec "${FERMI_BIN:-fermi}" launch-multi-node "$@"
