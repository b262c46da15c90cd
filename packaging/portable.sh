#!/bin/sh
# Builds fermi for machines with glibc 2.28 or newer (RHEL 8, Ubuntu 20.04, Debian 10), with zig as the linker, and prints
# the path of the binary. Where zig cannot be had it is the build for this machine's glibc, and that is said.
#
#   packaging/portable.sh FOLDER    keeps zig and cargo-zigbuild, from PyPI, in FOLDER
set -eu

tools=$1
root=$(cd "$(dirname "$0")/.." && pwd)
machine=$(uname -m)
oldest=2.28
packages="ziglang==0.17.0 cargo-zigbuild==0.24.0"

say() { # say ZH EN
    case ${FERMI_LANG:-${LC_ALL:-${LC_MESSAGES:-${LANG:-}}}} in [zZ][hH]*) echo "$1" >&2 ;; *) echo "$2" >&2 ;; esac
}

have_zig() {
    [ -x "$tools/bin/cargo-zigbuild" ] && return
    python3 -m venv "$tools" >&2 && "$tools/bin/pip" install --quiet $packages >&2 && [ -x "$tools/bin/cargo-zigbuild" ]
}

cd "$root"
if have_zig; then
    # cargo-zigbuild finds zig as the module of the Python that stands first.
    PATH="$tools/bin:$PATH" cargo zigbuild --release --locked --target "$machine-unknown-linux-gnu.$oldest" >&2
    binary=${CARGO_TARGET_DIR:-$root/target}/$machine-unknown-linux-gnu/release/fermi
    python3 packaging/wheel.py --check "$binary" "$oldest" >&2
    echo "$binary"
else
    say "没有 zig（pip install $packages 失败）：wheel 需要不低于本机的 glibc" \
        "there is no zig (pip install $packages failed): the wheel wants a glibc no older than this machine's"
    cargo build --release --locked >&2
    echo "${CARGO_TARGET_DIR:-$root/target}/release/fermi"
fi
