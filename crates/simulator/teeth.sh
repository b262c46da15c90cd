#!/usr/bin/env bash
# The test of the simulator: each repair is reverted in a copy of the tree, and the simulator must find the fault again, which is
# to say it tells a seed. Before that the tree as it is must break no promise. `teeth.sh NAME…` plays those patches alone.
# A patch in teeth/ that does not apply any more fails as well. Built as for tests: that is compiled several times sooner.
set -euo pipefail
cd "$(dirname "$0")/../.."
histories=10000
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
git ls-files -z --cached --others --exclude-standard | xargs -0 cp --parents -t "$copy"
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$PWD/target}/teeth"
build() { (cd "$copy" && cargo build --quiet --locked -p fermi-simulator); }
play() { "$CARGO_TARGET_DIR/debug/simulate" "$histories" 2>&1; }

build
if ! told=$(play); then
    echo "BROKEN  the tree as it is: $(head -n 1 <<< "$told")"
    exit 1
fi
echo "sound   the tree as it is: $(tail -n 1 <<< "$told")"

patches=(crates/simulator/teeth/*.patch)
if (($#)); then
    patches=("${@/#/crates/simulator/teeth/}")
    patches=("${patches[@]/%/.patch}")
fi
missed=0
for patch in "${patches[@]}"; do
    name=$(basename "$patch" .patch)
    patch --quiet --directory "$copy" --strip 1 < "$patch"
    build
    told=$(play) || true
    # A program that stops for another reason has found nothing.
    if seed=$(grep --max-count 1 -E '^seed [0-9]+: ' <<< "$told"); then
        echo "found   $name: $seed"
    else
        echo "MISSED  $name: $(tail -n 1 <<< "$told")"
        missed=1
    fi
    patch --quiet --directory "$copy" --strip 1 --reverse < "$patch"
done
exit "$missed"
