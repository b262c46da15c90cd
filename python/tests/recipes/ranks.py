"""Any function on n ranks that talk over gloo, forked from this process so that nothing is imported again."""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import socket
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from typing import Any

LONGEST = 300.0


def run_ranks(
    count: int, function: Callable[..., Any], *arguments: Any, variables: Mapping[str, str] | None = None
) -> list[Any]:
    """Gives what each rank's call gives; the first error of any rank is raised here, with its trace."""
    port = _free_port()
    pipes, pids = [], []
    for rank in range(count):
        reads, writes = os.pipe()
        if (pid := os.fork()) == 0:
            os.close(reads)
            _one_rank(rank, count, port, writes, dict(variables or {}), function, arguments)
        os.close(writes)
        pipes.append(reads)
        pids.append(pid)
    deadline = time.monotonic() + LONGEST
    try:
        answers = [_answer(reads, deadline, rank) for rank, reads in enumerate(pipes)]
    finally:
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        for reads in pipes:
            os.close(reads)
    for rank, (is_right, value) in enumerate(answers):
        assert is_right, f"rank {rank}:\n{value}"
    return [value for _, value in answers]


def _one_rank(
    rank: int, count: int, port: int, writes: int, variables: dict[str, str], function: Any, arguments: Any
) -> None:
    place = {
        "RANK": rank,
        "WORLD_SIZE": count,
        "LOCAL_RANK": rank,
        "LOCAL_WORLD_SIZE": count,
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": port,
    }
    os.environ.update({name: str(value) for name, value in place.items()} | variables)
    _own_threads()
    try:
        answer: Any = (True, function(*arguments))
    except BaseException:
        answer = (False, traceback.format_exc())
    with os.fdopen(writes, "wb") as pipe:
        pickle.dump(answer, pipe)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def _own_threads() -> None:
    """Has torch make its pool of threads anew while there is one thread to ask for it.

    Of several that ask first after a fork, one may be given none: "Invalid thread pool!".
    """
    import torch

    torch.set_num_threads(torch.get_num_threads())


def _answer(reads: int, deadline: float, rank: int) -> Any:
    import select

    parts = b""
    while True:
        ready, _, _ = select.select([reads], [], [], max(deadline - time.monotonic(), 0))
        assert ready, f"rank {rank} has not answered within {LONGEST} s"
        part = os.read(reads, 1 << 16)
        if not part:
            return pickle.loads(parts) if parts else (False, "it died without a word")
        parts += part


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])
