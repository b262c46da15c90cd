"""Every operation of torch's store against the one that Fermi hosts. Rank 0 plays them; the others meet it."""

import os
import sys
import threading
import time
from datetime import timedelta

import torch
import torch.distributed as dist
from torch.distributed import DistStoreError, PrefixStore, TCPStore

rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
address, port = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
assert os.environ["TORCHELASTIC_USE_AGENT_STORE"] == "True"


def client(seconds=60.0):
    return TCPStore(address, port, is_master=False, timeout=timedelta(seconds=seconds))


def fails_within(seconds, what):
    started = time.monotonic()
    try:
        what()
    except DistStoreError:
        assert time.monotonic() - started < seconds + 10
        return
    raise AssertionError("it did not time out")


def values(store):
    store.set("a", "1")
    assert store.get("a") == b"1"
    assert store.add("n", 3) == 3 and store.add("n", -5) == -2 and store.get("n") == b"-2"
    assert store.compare_set("c", "", "first") == b"first"
    assert store.compare_set("c", "wrong", "second") == b"first"
    assert store.compare_set("c", "first", "second") == b"second"
    assert store.compare_set("missing", "x", "y") == b"x" and not store.check(["missing"])
    store.append("t", "ab")
    store.append("t", "cd")
    assert store.get("t") == b"abcd"
    store.multi_set(["m1", "m2"], ["1", "22"])
    assert store.multi_get(["m2", "m1"]) == [b"22", b"1"]
    assert store.check(["a", "m1"]) and not store.check(["a", "zz"])
    before = store.num_keys()
    assert store.delete_key("a") and not store.delete_key("a")
    assert store.num_keys() == before - 1
    for size in (0, 1, 1 << 20, (8 << 20) - 1):
        big = bytes(size)
        store.set("big", big)
        assert len(store.get("big")) == size, size
    store.set("", "empty key")
    assert store.get("") == b"empty key"


def waits(store):
    fails_within(0.3, lambda: store.wait(["never"], timedelta(seconds=0.3)))
    # The connection is as good as before.
    assert store.add("after", 1) == 1
    store.wait(["after"])
    threading.Timer(0.2, lambda: client().set("later", "x")).start()
    store.wait(["after", "later"], timedelta(seconds=30))
    short = client(0.3)
    fails_within(0.3, lambda: short.get("never"))


def queues(store):
    if not hasattr(store, "queue_push"):
        return
    store.queue_push("q", "1")
    store.queue_push("q", "2")
    assert store.queue_len("q") == 2
    assert store.queue_pop("q") == b"1" and store.queue_pop("q") == b"2" and store.queue_len("q") == 0
    fails_within(1, lambda: client(0.3).queue_pop("q"))
    threading.Timer(0.2, lambda: client().queue_push("q", "late")).start()
    assert client(30).queue_pop("q") == b"late"


def newest(store):
    if hasattr(store, "list_keys"):
        store.set("listed", "")
        assert "listed" in store.list_keys()
    if hasattr(store, "barrier"):
        other = threading.Thread(target=lambda: client().barrier("gate", 2))
        other.start()
        store.barrier("gate", 2)
        other.join()


def prefixes(store):
    one, other = PrefixStore("one", store), PrefixStore("other", store)
    one.set("k", "1")
    other.set("k", "2")
    assert one.get("k") == b"1" and other.get("k") == b"2"
    assert PrefixStore("deep", one).add("n", 1) == 1
    assert store.clone().get("one/k") == b"1"


if rank == 0:
    store = client()
    for play in (values, waits, queues, newest, prefixes):
        play(store)
        print("held:", play.__name__, flush=True)
dist.init_process_group("gloo")
tensor = torch.full((4,), float(rank + 1))
dist.all_reduce(tensor)
assert tensor.tolist() == [world * (world + 1) / 2] * 4
dist.barrier()
print(f"rank {rank} reduced", flush=True)
if rank == 0:
    # The store does not go with rank 0: the others read on.
    client().set("rank 0 has", "gone")
    os._exit(0)
time.sleep(float(sys.argv[1]))
assert client().get("rank 0 has") == b"gone"
print(f"rank {rank} read on", flush=True)
os._exit(0)
