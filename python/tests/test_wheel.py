"""`packaging/wheel.py`: a wheel whose tag and record are true of the binary in it."""

from __future__ import annotations

import base64
import hashlib
import importlib.util
import os
import platform
import subprocess
import sys
import tempfile
import unittest
import zipfile
from pathlib import Path

_AT = Path(__file__).resolve().parents[2] / "packaging/wheel.py"
_SPEC = importlib.util.spec_from_file_location("wheel_script", _AT)
assert _SPEC is not None and _SPEC.loader is not None
wheel = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(wheel)

X86_64 = 62
TARGET = f"{platform.machine()}-unknown-linux-gnu/release/fermi"


def _binary(machine: int, *symbols: str) -> bytes:
    head = b"\x7fELF" + bytes(14) + machine.to_bytes(2, "little")
    return head + b"".join(b"\x00" + symbol.encode() for symbol in symbols) + b"\x00"


class Wheel(unittest.TestCase):
    """What pip reads of it."""

    def test_the_tag_names_the_newest_glibc_that_is_needed(self) -> None:
        binary = _binary(X86_64, "GLIBC_2.9", "GLIBC_2.28", "GLIBC_2.4", "GLIBC_PRIVATE")
        self.assertEqual(wheel.platform_of(binary), "manylinux_2_28_x86_64")
        with self.assertRaises(SystemExit):
            wheel.platform_of(b"#!/bin/sh\n")

    def test_the_record_is_true_and_the_command_can_be_executed(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = wheel.wheel_of(_binary(X86_64), "1.2.3", Path(folder))
            with zipfile.ZipFile(path) as archive:
                names = archive.namelist()
                rows = archive.read("fermi_cli-1.2.3.dist-info/RECORD").decode().splitlines()
                for row in rows[:-1]:
                    name, digest, size = row.split(",")
                    content = archive.read(name)
                    found = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
                    self.assertEqual((f"sha256={found}", str(len(content))), (digest, size))
                script = archive.getinfo("fermi_cli-1.2.3.data/scripts/fermi")
        self.assertEqual([row.split(",")[0] for row in rows], names)
        self.assertTrue(script.external_attr >> 16 & 0o111)


class Portable(unittest.TestCase):
    """`packaging/portable.sh`: zig where it can be had, else this machine's glibc, which is said."""

    def _built(self, with_zig: bool, newest: str = "2.28") -> tuple[subprocess.CompletedProcess[str], str]:
        with tempfile.TemporaryDirectory() as folder:
            programs, tools, target = Path(folder) / "bin", Path(folder) / "zig/bin", Path(folder) / TARGET
            for place in (programs, tools, target.parent):
                place.mkdir(parents=True)
            target.write_bytes(_binary(X86_64, f"GLIBC_{newest}"))
            _program(programs / "cargo", f'echo "$@" > {folder}/words')
            _program(programs / "python3", f'[ "$1" != -m ] && exec {sys.executable} "$@"')
            if with_zig:
                _program(tools / "cargo-zigbuild", "exit 0")
            done = subprocess.run(
                [str(_AT.parent / "portable.sh"), str(tools.parent)],
                env={"PATH": f"{programs}:{os.environ['PATH']}", "CARGO_TARGET_DIR": folder, "FERMI_LANG": "en"},
                capture_output=True,
                text=True,
            )
            done.stdout = done.stdout.strip().removeprefix(f"{folder}/")
            return done, (Path(folder) / "words").read_text().strip()

    def test_zig_builds_for_the_old_glibc(self) -> None:
        done, words = self._built(with_zig=True)
        self.assertEqual((done.returncode, done.stdout), (0, TARGET), done.stderr)
        self.assertEqual(words, f"zigbuild --release --locked --target {platform.machine()}-unknown-linux-gnu.2.28")

    def test_a_build_that_wants_a_newer_glibc_is_refused(self) -> None:
        done, _ = self._built(with_zig=True, newest="2.34")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("needs glibc 2.34, newer than 2.28", done.stderr)

    def test_without_zig_that_is_said(self) -> None:
        done, words = self._built(with_zig=False)
        self.assertEqual((done.stdout, words), ("release/fermi", "build --release --locked"))
        self.assertIn("there is no zig", done.stderr)


def _program(path: Path, line: str) -> None:
    path.write_text(f"#!/bin/sh\n{line}\n")
    path.chmod(0o755)


if __name__ == "__main__":
    unittest.main()
