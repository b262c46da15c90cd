#!/bin/sh
# `fermi bench collective` over NCCL on this machine's GPUs, with the libnccl that PyTorch brings.
# Needs a Python with PyTorch for CUDA and a built fermi, nothing else; no network.
#
#   FERMI=path/to/fermi PYTHON_EXEC=path/to/python tests/gpu/collective.sh
#
# One rank for each GPU; a world of one works too. Prints one line per check; exit code 0 only if all held.
. "$(dirname "$0")/checks.sh"

library=$("$PYTHON_EXEC" - <<'PY'
import glob, sysconfig
found = glob.glob(sysconfig.get_paths()["purelib"] + "/nvidia/nccl/lib/libnccl.so.2")
print(found[0] if found else "libnccl.so.2")
PY
)
gpus=$("$PYTHON_EXEC" -c 'import torch; print(torch.cuda.device_count())')
echo "libnccl: $library, GPUs: $gpus"
[ "${gpus:-0}" -ge 1 ] || { echo "FAIL  this Python sees no GPU: $PYTHON_EXEC"; exit 1; }

FERMI_STATE_DIR=$work/state "$FERMI" bench collective -n "$gpus" --transport nccl --nccl-library "$library" --max 64MiB --json \
    > "$work/json" 2> "$work/err"
check "exit code 0" test $? -eq 0
check "four operations from 1 KiB to 64 MiB, no value wrong" "$PYTHON_EXEC" - "$work/json" "$gpus" <<'PY'
import json, sys
answer = json.load(open(sys.argv[1]))
rows, ranks = answer["nccl"]["rows"], int(sys.argv[2])
assert answer["ranks"] == ranks and answer["nccl"]["version"].startswith("2."), answer
assert {row["operation"] for row in rows} == {"all-reduce", "all-gather", "reduce-scatter", "broadcast"}, rows
assert all(row["wrong"] == 0 and row["micros"] > 0 for row in rows), rows
assert len(rows) == 4 * 9, len(rows)
PY
FERMI_STATE_DIR=$work/state "$FERMI" bench collective -n "$gpus" --transport nccl --nccl-library "$library" --max 64MiB \
    --operation all-reduce | tee "$work/table"
check "the table names NCCL" grep -q 'all-reduce, .* NCCL' "$work/table"

FERMI_STATE_DIR=$work/state FERMI_LANG=en "$FERMI" bench collective -n "$((gpus + 1))" --max 4KiB --nccl-library "$library" > "$work/more" 2>&1
check "more ranks than GPUs: TCP goes on and the reason is said" grep -q 'NCCL is not measured: .*there is no GPU for local rank' "$work/more"
FERMI_STATE_DIR=$work/state FERMI_LANG=en "$FERMI" bench collective -n 1 --max 4KiB --nccl-library /none > "$work/none" 2>&1
check "no libnccl: the reason is said" grep -q 'NCCL is not measured: .*cannot be loaded' "$work/none"

[ "$failed" -eq 0 ] || { cat "$work/err" "$work/json"; }
exit "$failed"
