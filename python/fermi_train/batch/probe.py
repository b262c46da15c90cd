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
