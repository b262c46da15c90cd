# What the checks on a GPU share; each begins with `. "$(dirname "$0")/checks.sh"` and ends with `exit "$failed"`.
# shellcheck shell=sh disable=SC2034 # used by those
set -u

here=$(cd "$(dirname "$0")/../.." && pwd)
FERMI=${FERMI:-$here/target/release/fermi}
PYTHON_EXEC=${PYTHON_EXEC:-$(command -v python3 || command -v python)}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

check() { # check WHAT COMMAND…
    what=$1; shift
    if "$@" > /dev/null 2>&1; then echo "ok    $what"; else echo "FAIL  $what"; failed=1; fi
}

[ -x "$FERMI" ] || { echo "FAIL  no fermi at $FERMI: name one in FERMI"; exit 1; }
