"""Reads settings that a person names: what never ends, such as `/dev/zero`, is refused before it fills the memory."""

from __future__ import annotations

import errno
from pathlib import Path

# More than any such file has; the same in `crates/named-file`.
MOST_BYTES = 64 << 20


class TooLarge(OSError):
    """A file that is none of settings."""

    def __init__(self, path: Path) -> None:
        """Names the file and the bound."""
        super().__init__(errno.EFBIG, f"it has more than {MOST_BYTES >> 20} MiB, as no such file has", str(path))


def read(path: Path) -> bytes:
    """Gives all bytes of a file, or raises `OSError`."""
    with path.open("rb") as file:
        found = file.read(MOST_BYTES + 1)
    if len(found) > MOST_BYTES:
        raise TooLarge(path)
    return found
