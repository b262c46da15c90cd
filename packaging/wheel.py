#!/usr/bin/env python3
"""Writes a wheel that carries the `fermi` binary, so that `pip install` gives the command.

python packaging/wheel.py target/release/fermi dist
python packaging/wheel.py --check target/release/fermi 2.28    refuses a binary that wants a newer glibc

Its tag names the oldest glibc that the binary runs with, as the binary itself says.
"""

from __future__ import annotations

import base64
import hashlib
import re
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NAME = "fermi_cli"
MACHINES = {62: "x86_64", 183: "aarch64"}
# The same bytes give the same wheel.
EPOCH = (1980, 1, 1, 0, 0, 0)


def main() -> None:
    """Writes the wheel and prints its path, or checks a binary."""
    if len(sys.argv) == 4 and sys.argv[1] == "--check":
        check(Path(sys.argv[2]).read_bytes(), sys.argv[3])
        return
    if len(sys.argv) != 3:
        sys.exit(f"usage: {sys.argv[0]} BINARY FOLDER | --check BINARY GLIBC")
    print(wheel_of(Path(sys.argv[1]).read_bytes(), version(), Path(sys.argv[2])))


def version() -> str:
    """Reads the version of the workspace."""
    found = re.search(r'^version = "([^"]+)"', (ROOT / "Cargo.toml").read_text(encoding="utf-8"), re.MULTILINE)
    if found is None:
        sys.exit("error: Cargo.toml has no version")
    return found.group(1)


def platform_of(binary: bytes) -> str:
    """Gives the tag of an ELF file: its machine, and the newest glibc of which it needs a symbol."""
    machine = MACHINES.get(int.from_bytes(binary[18:20], "little")) if binary[:4] == b"\x7fELF" else None
    if machine is None:
        sys.exit("error: the binary is no ELF file for x86_64 or aarch64")
    major, minor = glibc_of(binary)
    return f"manylinux_{major}_{minor}_{machine}"


def glibc_of(binary: bytes) -> tuple[int, int]:
    """Gives the newest glibc of which a binary needs a symbol."""
    versions = [found.split(b".") for found in re.findall(rb"\x00GLIBC_(\d+\.\d+)", binary)]
    return max(((int(major), int(minor)) for major, minor in versions), default=(2, 17))


def check(binary: bytes, newest: str) -> None:
    """Refuses a binary that needs a symbol of a newer glibc."""
    major, minor = glibc_of(binary)
    wanted = newest.split(".")
    if (major, minor) > (int(wanted[0]), int(wanted[1])):
        sys.exit(
            f"error: the binary needs glibc {major}.{minor}, newer than {newest}\n\n"
            f"hint: objdump -T BINARY | grep GLIBC_{major}.{minor} names the symbols"
        )


def wheel_of(binary: bytes, version: str, folder: Path) -> Path:
    """Writes the wheel into a folder."""
    tag = f"py3-none-{platform_of(binary)}"
    described = f"{NAME}-{version}.dist-info"
    metadata = (
        f"Metadata-Version: 2.4\nName: {NAME.replace('_', '-')}\nVersion: {version}\n"
        "Summary: Distributed training that just works: the command fermi\nLicense-Expression: Apache-2.0\n"
        "Requires-Python: >=3.8\n"
    )
    files = {
        f"{NAME}-{version}.data/scripts/fermi": binary,
        f"{described}/METADATA": metadata.encode(),
        f"{described}/WHEEL": f"Wheel-Version: 1.0\nGenerator: fermi\nRoot-Is-Purelib: false\nTag: {tag}\n".encode(),
        f"{described}/licenses/LICENSE": (ROOT / "LICENSE").read_bytes(),
    }
    record = "".join(f"{path},{_digest(content)},{len(content)}\n" for path, content in files.items())
    files[f"{described}/RECORD"] = f"{record}{described}/RECORD,,\n".encode()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{NAME}-{version}-{tag}.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name, EPOCH)
            entry.external_attr = (0o100755 if name.endswith("/scripts/fermi") else 0o100644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, content)
    return path


def _digest(content: bytes) -> str:
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


if __name__ == "__main__":
    main()
