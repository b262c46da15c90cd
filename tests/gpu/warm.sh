#!/bin/sh
# How soon a rank on a GPU makes its first step after it was killed: cold, with --warm on, with --warm cuda. Needs a GPU, the
# binary (FERMI) and a Python with PyTorch (PYTHON_EXEC); takes two to four minutes.
set -eu
here="$(cd "$(dirname "$0")" && pwd)"
FERMI="${FERMI:-fermi}"
PYTHON="${PYTHON_EXEC:-python3}"
PYTHON="$(command -v "$PYTHON")"
command -v "$FERMI" >/dev/null || { echo "FERMI names no binary: $FERMI" >&2; exit 2; }
"$PYTHON" -c 'import torch, sys; sys.exit(not torch.cuda.is_available())' || { echo "no GPU that PyTorch can use" >&2; exit 2; }
exec timeout 240 "$PYTHON" "$here/warm.py" "$(command -v "$FERMI")" "$PYTHON" "${TURNS:-3}" "${RANKS:-1}"
