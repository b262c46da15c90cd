"""Work on many things by several processes, its results in order."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any, TypeVar

from ..messages import Failure, Text

Thing = TypeVar("Thing")
Result = TypeVar("Result")

# What processes do, kept where they find it: it is forked with them, and never sent.
_work: Callable[[Any], Any] | None = None


@contextmanager
def side_by_side(
    work: Callable[[Thing], Result], things: Sequence[Thing], processes: int
) -> Generator[Iterable[Result]]:
    """Gives the results in the order of the things. With one process nothing is forked.

    They are forked, so no thread that holds a lock may run here by then.
    """
    global _work
    if processes == 1:
        yield map(work, things)
        return
    _work = work
    reads, writes = os.pipe()
    lives = os.fdopen(writes, "w")
    context = multiprocessing.get_context("fork")
    executor = ProcessPoolExecutor(processes, context, initializer=_begin, initargs=(reads, writes))
    try:
        yield executor.map(_one, things)
    except BrokenProcessPool:
        raise Failure(
            Text(
                "一个分词进程被终止，可能是内存不足", "a process that tokenised was killed, perhaps for want of memory"
            ),
            Text(
                "请用 --processes 减少进程数，或腾出内存；dmesg 会说明是否内存不足",
                "take fewer by --processes, or make room in memory; dmesg says whether it was that",
            ),
        ) from None
    except BaseException:
        # Nobody wants what they are still at, which may be minutes of work.
        lives.close()
        raise
    finally:
        executor.shutdown(cancel_futures=True)
        lives.close()
        os.close(reads)
        _work = None


def _one(thing: Any) -> Any:
    assert _work is not None
    return _work(thing)


def _begin(reads: int, writes: int) -> None:
    """Leaves the end to the parent: an interrupt is its to answer, and nobody works on without it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.close(writes)
    threading.Thread(target=_end_with_parent, args=(reads,), daemon=True).start()


def _end_with_parent(reads: int) -> None:
    # Nothing is ever written: it ends when the parent gives up, or is gone.
    os.read(reads, 1)
    os._exit(1)
