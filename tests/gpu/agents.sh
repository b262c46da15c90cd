#!/bin/sh
# A server and an agent on a machine with a GPU: the agent finds it, a DDP task over NCCL runs on it, and its use is seen.
# Needs PyTorch with CUDA and a built fermi, nothing else; no network.
#
#   FERMI=path/to/fermi PYTHON_EXEC=path/to/python tests/gpu/agents.sh
. "$(dirname "$0")/checks.sh"
export FERMI_SERVER=http://127.0.0.1:7099 FERMI_LANG=en

"$FERMI" up --listen 127.0.0.1:7099 --data-dir "$work/up" > "$work/up.log" 2>&1 &
up=$!
trap 'kill -INT $up; wait $up; rm -rf "$work"' EXIT
for _ in $(seq 50); do "$FERMI" env list --json 2>/dev/null | grep -q '"status": *"running"' && break; sleep 0.2; done
"$FERMI" env list
environment=$("$FERMI" env list --json | "$PYTHON_EXEC" -c 'import json,sys; print(json.load(sys.stdin)["items"][0]["name"])')
check "the agent has found the GPU" sh -c "'$FERMI' env list --json | grep -q '\"gpuCount\": *[1-9]'"
check "it is not marked as declared" sh -c "'$FERMI' env list --json | grep -q '\"declared\": *false'"

"$FERMI" task create --name ddp --env "$environment" --framework pytorch-ddp --interpreter "$PYTHON_EXEC" --env-var NCCL_DEBUG=INFO \
    -- "$here/examples/train_ddp.py" --epochs 40
seen=0
for _ in $(seq 120); do
    "$FERMI" env show "$environment" --json > "$work/env.json"
    "$PYTHON_EXEC" -c 'import json,sys; g=json.load(open(sys.argv[1]))["gpuSamples"]; sys.exit(not (g and g[0]["memoryUsed"] > 1 << 28))' "$work/env.json" && seen=1
    "$FERMI" task show task-1 --json | grep -q '"status": *"\(succeeded\|failed\|stopped\)"' && break
    sleep 0.5
done
check "the task has succeeded" sh -c "'$FERMI' task show task-1 --json | grep -q '\"status\": *\"succeeded\"'"
check "its memory on the GPU was seen" test "$seen" -eq 1
check "NCCL made the communicator" sh -c "'$FERMI' task logs task-1 | grep -q 'NCCL INFO.*[Ii]nit COMPLETE'"
"$FERMI" task logs task-1 --tail 3
"$FERMI" task explain task-1 | tail -12
"$PYTHON_EXEC" -c 'import json,sys; print(json.load(open(sys.argv[1]))["gpuSamples"], json.load(open(sys.argv[1]))["versions"])' "$work/env.json"
[ "$failed" -eq 0 ] && echo "all held" || { echo "some did not hold"; cat "$work/up.log"; }
exit "$failed"
