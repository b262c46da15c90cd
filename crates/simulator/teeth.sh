#!/usr/bin/env bash
# The test of the simulator: each repair is reverted in a copy of the tree, and the simulator must find the fault again.
# A patch in teeth/ that does not apply any more fails as well. Built as for tests: that is compiled several times sooner.
set -euo pipefail
cd "$(dirname "$0")/../.."
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
git ls-files -z --cached --others --exclude-standard | xargs -0 cp --parents -t "$copy"
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$PWD/target}/teeth"
missed=0
for patch in crates/simulator/teeth/*.patch; do
    name=$(basename "$patch" .patch)
    patch --quiet --directory "$copy" --strip 1 < "$patch"
    (cd "$copy" && cargo build --quiet --locked -p fermi-simulator)
    if found=$("$CARGO_TARGET_DIR/debug/simulate" 10000 2>&1); then
        echo "MISSED  $name"
        missed=1
    else
        echo "found   $name: $(head -n 1 <<< "$found")"
    fi
    patch --quiet --directory "$copy" --strip 1 --reverse < "$patch"
done
exit "$missed"
