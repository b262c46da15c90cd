#!/bin/sh
# The recipe of SFT on one GPU, as far as no CPU can show it: FSDP2 and ZeRO-1, 2, 3 in bf16, offload, LoRA, gradient
# checkpointing, the micro-batch that is tried until CUDA has no memory left, a resume after kill -9, two ranks whose model is
# read once, memory in the progress file; and tokens per second beside a loop of bare PyTorch and raw torchrun.
#
#   FERMI=path/to/fermi[.xz] WHEELS=folder PYTHON_EXEC=path/to/python OUT=folder tests/gpu/recipes.sh [--cpu]
#
# Needs the binary, a Python with torch and transformers, and no network. What that Python lacks is unpacked from WHEELS:
# wheels, and tar.xz of what stands in site-packages. Prints a line per check and writes $OUT/recipes.json. A check that fails
# stops no other; after SECONDS_LEFT (400) none is begun; ONLY names some by a pattern. About six minutes. With --cpu it is a
# rehearsal with tiny models: it proves that the checks run, and measures nothing. Exit code 0 only if all held.
set -eu
here="$(cd "$(dirname "$0")" && pwd)"
PYTHON="$(command -v "${PYTHON_EXEC:-python3}")"
exec "$PYTHON" "$here/recipes.py" "${FERMI:-fermi}" "$PYTHON" "$@"
