"""The largest micro-batch that fits: tried before step 1, agreed by all ranks, with the effective batch kept."""

from __future__ import annotations

from collections.abc import Callable

# Of the driver, and of the libraries that make room for themselves at their first call.
_NO_ROOM = ("CUDA error: out of memory", "CUBLAS_STATUS_ALLOC_FAILED", "CUDNN_STATUS_ALLOC_FAILED", "HIP out of memory")


def largest(
    share: int, fits: Callable[[int], bool], agree: Callable[[bool], bool], begin: int | None = None
) -> tuple[int, int]:
    """Gives micro-batch and accumulation for the `share` of samples that a rank has in one update.

    Every rank tries the same sizes, from the whole share down by the share's divisors; one for which it does not fit
    is enough for all to go on to the next. The smallest size is taken without a trial. With `begin` they begin there, and
    go up from what fits and down from what does not.
    """
    sizes = _sizes(share)
    at = _at(sizes, begin) if begin is not None else len(sizes) - 1

    def is_right(index: int) -> bool:
        return index == 0 or agree(fits(sizes[index]))

    if is_right(at):
        if begin is not None:
            while at + 1 < len(sizes) and is_right(at + 1):
                at += 1
    else:
        at -= 1
        while not is_right(at):
            at -= 1
    return sizes[at], share // sizes[at]


def grown(
    share: int,
    room: float,
    take: Callable[[float], float],
    agree: Callable[[bool], bool],
    begin: int | None = None,
) -> tuple[int, int]:
    """Gives the same for a model that ranks hold together: they try from one sample up, and all the same size at once.

    A rank that ran out of memory would leave the others waiting for it. So a size is tried only where every rank finds
    `room` for it, by what the two sizes before have taken; half a sample is one of half the length. With `begin` they go on
    there at once, where the same is true of it and a sample takes something at all.
    """
    sizes = _sizes(share)
    before, last, index = (0.5, take(0.5)), (1.0, take(1.0)), 1
    if begin is not None and (at := _at(sizes, begin)) > 1 and agree(_expected(before, last, sizes[at], room, True)):
        before, last, index = last, (float(sizes[at]), take(float(sizes[at]))), at + 1
    for size in sizes[index:]:
        if not agree(_expected(before, last, size, room)):
            break
        before, last = last, (float(size), take(float(size)))
    return int(last[0]), share // int(last[0])


def is_want_of_memory(error: RuntimeError) -> bool:
    """Says whether a GPU had no room: libraries under torch say so in words of their own."""
    said = str(error)
    return type(error).__name__ == "OutOfMemoryError" or any(word in said for word in _NO_ROOM)


def _expected(
    before: tuple[float, float], last: tuple[float, float], size: int, room: float, is_far: bool = False
) -> bool:
    """Says whether there is room for a size, by what two smaller ones have taken; a far one needs a line that rises."""
    by_sample = (last[1] - before[1]) / (last[0] - before[0])
    return (by_sample > 0 or not is_far) and last[1] + by_sample * (size - last[0]) <= room


def _sizes(share: int) -> list[int]:
    return [size for size in range(1, share + 1) if share % size == 0]


def _at(sizes: list[int], begin: int) -> int:
    """Gives the place of the largest size that is not above `begin`."""
    return max(sum(size <= begin for size in sizes) - 1, 0)
