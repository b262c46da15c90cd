"""Meets the others as a process group of torch's does, in a few bytes of its store's protocol: every rank sets its own key and
waits for those of all. The last one comes when the file `come` is there, and all end when `end` is."""

import os
import socket
import struct
import sys
import time

folder = sys.argv[1]
rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])


def text(words):
    return struct.pack("<Q", len(words)) + words


def until(name):
    while not os.path.exists(os.path.join(folder, name)):
        time.sleep(0.02)


def key(of):
    return b"/default_pg/0//cpu//0/%d" % of


if rank == world - 1:
    # What imports torch is seen to import; a module of that name is enough.
    if os.path.exists(os.path.join(folder, "torch.py")):
        sys.path.insert(0, folder)
        import torch  # noqa: F401
    until("come")
store = socket.create_connection((os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])))
store.sendall(b"\0" + struct.pack("<I", 0x3C85F7CE) + b"\r" + struct.pack("<I", os.getpid()))
assert struct.unpack("<I", store.recv(4))[0] == os.getpid()
store.sendall(b"\1" + text(key(rank)) + text(b"here"))
for other in range(world):
    store.sendall(b"\6" + struct.pack("<Q", 1) + text(key(other)))
    assert store.recv(1) == b"\0"
print("met", rank, flush=True)
until("end")
