"""`packaging/wheel.py`: a wheel whose tag and record are true of the binary in it."""

from __future__ import annotations

import base64
import hashlib
import importlib.util
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


if __name__ == "__main__":
    unittest.main()
