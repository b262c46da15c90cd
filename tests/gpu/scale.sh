#!/bin/sh
# `fermi scale --calibrate` on this machine's GPUs: runs of two batches teach the planner, and with what it has learned it predicts two
# that it has not seen. Needs PyTorch with CUDA and a built fermi, nothing else; no network. Two minutes.
#
#   FERMI=path/to/fermi PYTHON_EXEC=path/to/python tests/gpu/scale.sh
#
# Prints one line per check; exit code 0 only if all held.
. "$(dirname "$0")/checks.sh"
export PYTHON_EXEC FERMI_LANG=en FERMI_STATE_DIR="$work/state"

gpus=$("$PYTHON_EXEC" -c 'import torch; print(torch.cuda.device_count()); print(torch.cuda.get_device_name(0))') || gpus=0
echo "$gpus" | tr '\n' ' '; echo
gpus=$(echo "$gpus" | head -1)
[ "${gpus:-0}" -ge 1 ] || { echo "FAIL  this Python sees no GPU: $PYTHON_EXEC"; exit 1; }
counts=1
[ "$gpus" -ge 2 ] && counts="1 2"

shape="24 2048 16 5632 32000 1024"
cat > "$work/row.json" <<'JSON'
{"model_name": "llama-like", "layers": 24, "hidden": 2048, "heads": 16, "ffn": 5632, "vocab": 32000, "seq_len": 1024, "tied_embeddings": false,
 "precision": "bf16_pure", "optimizer": "adamw", "sharding": "ddp", "recompute": "none", "framework": "PyTorch, eager"}
JSON

# scale NAME BATCH OPTIONS…
scale() {
    name=$1 batch=$2; shift 2
    # shellcheck disable=SC2086 # numbers of ours
    "$FERMI" scale --num-gpus-list $counts --scaling weak --batch "$batch" --results-dir "$work/$name" "$@" \
        -- "$here/tests/gpu/scale_rank.py" $shape '{batch}' 25 > "$work/$name.out" 2> "$work/$name.err"
    code=$?
    check "$name: exit code 0" test "$code" -eq 0
    [ "$code" -eq 0 ] || cat "$work/$name.out" "$work/$name.err"
    cat "$work/$name.out"
}

scale learned 8 --repeats 3 --calibrate --row "$work/row.json"
grep 'the planner ' "$work/learned.err"
for name in scaling.json scaling.csv scaling.svg scaling.png scaling.html calibration.json; do
    check "learned: $name is there" test -s "$work/learned/$name"
done
check "the rows name the GPU, its memory and what was measured; the planner comes near them" "$PYTHON_EXEC" - "$work/learned/scaling.json" <<'PY'
import json, sys, torch
found = json.load(open(sys.argv[1]))
memory = torch.cuda.get_device_properties(0).total_memory / 2**30
assert found["complete"] and found["hasGpus"] and len(found["rows"]) == 3 * len(found["points"]), found
for row in found["rows"]:
    assert row["gpu"] and abs(row["gpu_mem_gib"] / memory - 1) < 0.05 and row["tokens_per_s"] > 0, row
    assert "gpu_tflops" not in row, row
for point in found["points"]:
    assert point["memoryBytes"] > 8 << 30 and point["predictedEfficiency"] > 0, point
assert found["calibration"]["runs"] == len(found["rows"])
assert found["calibration"]["errorAfter"] <= min(5.0, found["calibration"]["errorBefore"]), found["calibration"]
PY

# Batches that it was not taught by.
cat > "$work/compare.py" <<'PY'
"""FERMI CALIBRATION FOLDER…: how far predictions are from runs, with and without what was learned."""
import json, subprocess, sys
fermi, calibration, *folders = sys.argv[1:]
def errors(rows, more):
    answer = subprocess.run([fermi, "plan", "predict", "--runs", rows, "--json", *more], check=True, capture_output=True, text=True)
    measured, told = json.load(open(rows))["rows"], json.loads(answer.stdout)
    told = told["rows"] if isinstance(told, dict) else told
    inside = [it["step_time_low_s"] <= tokens(row) / row["tokens_per_s"] <= it["step_time_high_s"] for row, it in zip(measured, told)]
    return [it["tokens_per_s"] / row["tokens_per_s"] - 1 for row, it in zip(measured, told)], inside, told
def tokens(row):
    return row["global_batch"] * row["seq_len"]
def mean(values):
    return sum(map(abs, values)) / len(values) * 100
before, after = [], []
for folder in folders:
    rows = f"{folder}/scaling.json"
    (one, held, _), (two, _, told) = errors(rows, []), errors(rows, ["--calibration", calibration])
    before, after = before + one, after + two
    peak = max(point["memoryBytes"] for point in json.load(open(rows))["points"]) / 2**30
    print(f"      {folder.rsplit('/', 1)[-1]}: off by {one[0]:+.1%} untaught, {two[0]:+.1%} taught; inside the untaught interval: {sum(held)} of {len(held)};"
          f" memory in use {peak:.1f} GiB, predicted at most {told[0]['peak_mem_high_gib']:.1f}")
print(f"      mean error {mean(before):.1f} % untaught, {mean(after):.1f} % taught")
sys.exit(not (mean(after) <= 10 and mean(after) <= mean(before) + 1))
PY
# Measured with --calibrate too, so that their rows are written; what these teach is not used.
scale small 2 --repeats 1 --calibrate --row "$work/row.json"
scale large 16 --repeats 1 --calibrate --row "$work/row.json"
if "$PYTHON_EXEC" "$work/compare.py" "$FERMI" "$work/learned/calibration.json" "$work/small" "$work/large"; then
    echo "ok    batches that it was not taught by are predicted within 10 % on average, and no worse than before"
else
    echo "FAIL  batches that it was not taught by are predicted within 10 % on average, and no worse than before"; failed=1
fi

"$FERMI" scale --num-gpus-list "$((gpus + 1))" --calibrate --row "$work/row.json" --results-dir "$work/shared" \
    -- "$here/tests/gpu/scale_rank.py" '{batch}' > "$work/shared.out" 2>&1
check "more processes than GPUs teach nothing: refused before anything runs" sh -c "test $? -eq 2 && test ! -e '$work/shared'"

"$FERMI" scale --num-gpus-list 1 2 --repeats 1 --scaling weak --steps 6 --calibrate --results-dir "$work/cores" > "$work/cores.out" 2> "$work/cores.err"
check "the built-in trainer is measured on cores, whatever GPUs there are" "$PYTHON_EXEC" - "$work/cores/scaling.json" <<'PY'
import json, os, sys
found = json.load(open(sys.argv[1]))
assert not found["hasGpus"] and found["devices"] == len(os.sched_getaffinity(0)), found
assert all("gpu" not in row and row["gpu_tflops"] > 0 for row in found["rows"]) and found["rows"], found
PY
check "nothing is left running" sh -c "! grep -lsz FERMI_RUN_MARK= /proc/[0-9]*/environ | grep -q ."
[ "$failed" -eq 0 ] && echo "all held" || { echo "some did not hold"; cat "$work"/*.err; }
exit "$failed"
