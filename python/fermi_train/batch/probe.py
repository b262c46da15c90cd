"""The largest micro-batch that fits: tried before step 1, agreed by all ranks, with the effective batch kept."""

from __future__ import annotations

from collections.abc import Callable


def largest(share: int, fits: Callable[[int], bool], agree: Callable[[bool], bool]) -> tuple[int, int]:
    """Gives micro-batch and accumulation for the `share` of samples that a rank has in one update.

    Every rank tries the same sizes, from the whole share down by the share's divisors; one for which it does not fit
    is enough for all to go on to the next. The smallest size is taken without a trial.
    """
    sizes = [size for size in range(share, 0, -1) if share % size == 0]
    for size in sizes:
        if size == 1 or agree(fits(size)):
            return size, share // size
    return 1, share


def grown(share: int, room: float, take: Callable[[float], float], agree: Callable[[bool], bool]) -> tuple[int, int]:
    """Gives the same for a model that ranks hold together: they try from one sample up, and all the same size at once.

    A rank that ran out of memory would leave the others waiting for it. So a size is tried only where every rank finds
    `room` for it, by what the two sizes before have taken; half a sample is one of half the length.
    """
    sizes = [size for size in range(1, share + 1) if share % size == 0]
    before, last = (0.5, take(0.5)), (1.0, take(1.0))
    for size in sizes[1:]:
        by_sample = (last[1] - before[1]) / (last[0] - before[0])
        if not agree(last[1] + by_sample * (size - last[0]) <= room):
            break
        before, last = last, (float(size), take(float(size)))
    return int(last[0]), share // int(last[0])
