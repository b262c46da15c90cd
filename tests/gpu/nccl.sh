#!/bin/sh
# DDP and FSDP over NCCL on this machine's GPU, launched from the bundle that `fermi run --framework` makes.
# Needs PyTorch with CUDA and a built fermi, nothing else; no network.
#
#   FERMI=path/to/fermi PYTHON_EXEC=path/to/python tests/gpu/nccl.sh
#
# Prints one line per check; exit code 0 only if all held.
. "$(dirname "$0")/checks.sh"
export PYTHON_EXEC NCCL_DEBUG=INFO

"$PYTHON_EXEC" - <<'PY' || { echo "FAIL  this Python has no torch that sees a GPU: $PYTHON_EXEC"; exit 1; }
import torch
assert torch.cuda.is_available()
print(f"torch {torch.__version__}, NCCL {'.'.join(map(str, torch.cuda.nccl.version()))}, {torch.cuda.get_device_name(0)}")
PY

# train NAME FRAMEWORK OPTIONS SCRIPT WORDS…: runs it in a state folder of its own, then looks at what it left.
train() {
    name=$1 framework=$2 options=$3 script=$4; shift 4
    state=$work/$name
    # shellcheck disable=SC2086 # the options are words of ours
    FERMI_STATE_DIR=$state "$FERMI" run -n gpu --framework "$framework" $options "$here/examples/$script" "$@" > "$work/$name.out" 2>&1
    code=$?
    check "$name: exit code 0" test "$code" -eq 0
    check "$name: rank 0 came to its end" grep -q 'Rank 0\] done: step' "$work/$name.out"
    check "$name: NCCL made the communicator" sh -c "cat '$state'/runs/*/attempt_0/0/std*.log | grep -q 'NCCL INFO.*[Ii]nit COMPLETE'"
    check "$name: the loss fell" "$PYTHON_EXEC" - "$work/$name.out" <<'PY'
import re, sys
losses = [float(found) for found in re.findall(r" loss ([\d.]+)", open(sys.argv[1]).read())]
assert len(losses) > 1 and losses[-1] < 0.8 * losses[0], losses
PY
    check "$name: the framework's file is there" sh -c "ls '$state'/runs/*/launch/*"
    grep -h 'loss\|done:' "$work/$name.out" | sed 's/^/      /' | tail -4
    if [ "$code" -ne 0 ]; then tail -40 "$work/$name.out"; fi
}

train ddp pytorch-ddp '' train_ddp.py --epochs 4
train fsdp pytorch-fsdp '--set precision=bf16' train_fsdp.py --steps 60
train offload pytorch-fsdp '--set offloadParams=true' train_fsdp.py --steps 60
cat > "$work/training.yaml" <<'YAML'
training: {distributed_strategy: fsdp, bf16: true, per_device_train_batch_size: 32, gradient_accumulation_steps: 2}
YAML
train yaml pytorch-fsdp "--config $work/training.yaml" train_fsdp.py --steps 60
check "yaml: it says the effective batch" grep -q 'effective batch 64 = 32 x 1 ranks x 2' "$work/yaml.out"
check "ddp: the backend was nccl" sh -c "FERMI_STATE_DIR=$work/dry '$FERMI' run -n gpu --framework pytorch-ddp --dry-run '$here/examples/train_ddp.py' | grep -q FERMI_BACKEND=nccl"
check "nothing is left running" sh -c "! grep -lsz FERMI_RUN_MARK= /proc/[0-9]*/environ | grep -q ."
[ "$failed" -eq 0 ] && echo "all held" || echo "some did not hold"
exit "$failed"
