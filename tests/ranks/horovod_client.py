"""Meets the other ranks as Horovod's gloo context does: over HTTP, scope by scope.

Each rank puts its address under its number, asks for those of the others until they are there, and says with DELETE that
it is done with the scope. The first attempt fails when asked to, so that the next one shows whether the store was cleared.
"""

import http.client
import os
import sys
import time

HOST, PORT = os.environ["HOROVOD_GLOO_RENDEZVOUS_ADDR"], int(os.environ["HOROVOD_GLOO_RENDEZVOUS_PORT"])
ATTEMPT = os.environ["FERMI_ATTEMPT"]


def ask(method: str, path: str, body: bytes | None = None) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection(HOST, PORT, timeout=10)
    connection.request(method, path, body)
    answer = connection.getresponse()
    found = answer.status, answer.read()
    connection.close()
    return found


def wait_for(path: str) -> bytes:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        status, value = ask("GET", path)
        if status == 200:
            return value
        assert status == 404, f"{path}: {status}"
        time.sleep(0.01)
    raise TimeoutError(path)


def meet(scope: str, rank: int, size: int) -> list[str]:
    assert ask("PUT", f"/{scope}/{rank}", f"{scope} {rank} {ATTEMPT}".encode())[0] == 200
    found = [wait_for(f"/{scope}/{other}").decode() for other in range(size)]
    assert ask("DELETE", f"/{scope}/{rank}")[0] == 200
    return found


number = {name: int(os.environ[f"HOROVOD_{name}"]) for name in
          ("RANK", "SIZE", "LOCAL_RANK", "LOCAL_SIZE", "CROSS_RANK", "CROSS_SIZE")}
assert os.environ["HOROVOD_CONTROLLER"] == os.environ["HOROVOD_CPU_OPERATIONS"] == "gloo"
assert os.environ["HOROVOD_GLOO_IFACE"] == "lo"
if ATTEMPT != "1":
    status, value = ask("GET", "/left/behind")
    assert status == 404, f"the attempt before left {value!r}"
scopes = [
    ("global", number["RANK"], number["SIZE"]),
    (f"local_{os.environ['HOROVOD_HOSTNAME']}", number["LOCAL_RANK"], number["LOCAL_SIZE"]),
    (f"cross_{number['LOCAL_RANK']}", number["CROSS_RANK"], number["CROSS_SIZE"]),
]
for scope, rank, size in scopes:
    expected = [f"{scope} {other} {ATTEMPT}" for other in range(size)]
    found = meet(scope, rank, size)
    assert found == expected, f"{found} is not {expected}"
if ATTEMPT == "1" and "--fail-first" in sys.argv:
    ask("PUT", "/left/behind", b"x")
    sys.exit("failing in the first attempt, as asked")
print(f"rank {number['RANK']} of {number['SIZE']} has met all in attempt {ATTEMPT}", flush=True)
