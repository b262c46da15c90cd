#!/bin/sh
# Tokens per second of SFT in bf16 of a model with 331 million parameters (opt-350m's shape, random weights): `fermi train`
# and `torchrun -m fermi_train` beside the same training by transformers' Trainer, plain and under torchrun, and by a loop of
# bare PyTorch. Needs a GPU, the binary (FERMI) and a Python with torch, transformers, accelerate, pyarrow and PyYAML
# (PYTHON_EXEC); no network; five to ten minutes for three turns (TURNS).
#
# Exit code 0 when `fermi train` is within 3 % of each of the others, 1 when it is not, 2 without a GPU. With TINY=1 it runs
# on a CPU with a tiny model, which proves that all of them train and measures nothing.
set -eu
here="$(cd "$(dirname "$0")" && pwd)"
FERMI="${FERMI:-fermi}"
PYTHON="${PYTHON_EXEC:-python3}"
PYTHON="$(command -v "$PYTHON")"
command -v "$FERMI" >/dev/null || { echo "FERMI names no binary: $FERMI" >&2; exit 2; }
if [ "${TINY:-0}" = 1 ]; then
    export CUDA_VISIBLE_DEVICES=
else
    "$PYTHON" -c 'import torch, sys; sys.exit(not torch.cuda.is_available())' || { echo "no GPU that PyTorch can use" >&2; exit 2; }
fi
exec "$PYTHON" "$here/sft.py" "$(command -v "$FERMI")" "$PYTHON" "${TURNS:-3}"
