"""A partition of the network, as one rank meets it."""

import ctypes
import os
import socket
import struct

SO_ATTACH_FILTER = 26


def cut_off():
    """Nothing that others send comes through to this rank any more: its sockets drop it unseen."""
    refuse_all = ctypes.create_string_buffer(struct.pack("HBBI", 0x06, 0, 0, 0))
    program = struct.pack("HxxxxxxP", 1, ctypes.addressof(refuse_all))
    for name in os.listdir("/proc/self/fd"):
        try:
            if os.readlink(f"/proc/self/fd/{name}").startswith("socket:"):
                with socket.socket(fileno=os.dup(int(name))) as connection:
                    connection.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, program)
        except OSError:
            continue
