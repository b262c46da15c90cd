"""Writes what no log should ever spoil, and keeps a copy of it beside.

usage: writer.py FOLDER WHAT     WHAT: junk, bars, megaline, flood:BYTES
The copies are FOLDER/<rank>.stdout and FOLDER/<rank>.stderr; for a flood FOLDER/<rank>.sum holds length and Adler-32.
"""

import os
import random
import sys
import zlib

RANK = int(os.environ["RANK"])


def junk():
    """All bytes, invalid UTF-8, zeroes, half characters, and no newline at the end."""
    chance = random.Random(RANK)
    for _ in range(200):
        yield chance.randbytes(chance.randrange(1, 5000))
    yield "半个字".encode()[:-1]


def bars():
    for done in range(300):
        yield f"\r{done}/300 [{'#' * (done // 10):<30}]".encode()
    yield b"\r\nend\r\n\r\r\n"


def megaline():
    yield b"x" * (1 << 20)
    yield b"\nnext\n"


def write_all(stream, data):
    view = memoryview(data)
    while view:
        view = view[os.write(stream, view):]


def flood(size):
    block = random.Random(100 + RANK).randbytes(1 << 15).replace(b"\n", b" ") + b"\n"
    written, checksum = 0, 1
    while written < size:
        piece = b"%d %d " % (RANK, written) + block
        write_all(1, piece)
        checksum = zlib.adler32(piece, checksum)
        written += len(piece)
    return written, checksum


def main():
    folder, what = sys.argv[1:3]
    if what.startswith("flood:"):
        written, checksum = flood(int(what.split(":")[1]))
        with open(os.path.join(folder, f"{RANK}.sum"), "w") as file:
            file.write(f"{written} {checksum}")
        return
    for stream, name in ((1, "stdout"), (2, "stderr")):
        with open(os.path.join(folder, f"{RANK}.{name}"), "wb") as copy:
            for piece in globals()[what]():
                write_all(stream, piece)
                copy.write(piece)


if __name__ == "__main__":
    main()
