"""Checks and tokenises files into Arrow shards, on all cores; the folder appears whole or not at all."""

from __future__ import annotations

import errno
import fcntl
import importlib
import os
from collections import Counter
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ..folders import make, replaced, without_drafts
from ..messages import Failure, Text
from .checked import BadRows, first_format, no_samples
from .files import Piece, pieces_of
from .fingerprint import fingerprint, of_tokenizer
from .prepared import Prepared, opened
from .request import Request, request_of
from .side_by_side import side_by_side
from .statistics import Statistics
from .tokenising import Part, Tokenising

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

    from ..settings import Run


# Who makes a folder holds the lock beside it.
LOCK = ".lock"


def prepared_for(run: Run, paths: tuple[str, ...], tokenizer: PreTrainedTokenizerBase, eval_share: float) -> Prepared:
    """Gives the data of an SFT run: a folder that was prepared before, or one that is made now."""
    if len(paths) == 1 and (found := opened(Path(paths[0]))) is not None:
        found.check_fits(tokenizer, run.max_length)
        return found
    data = run.data
    request = request_of(paths, "sft", data.format, run.max_length, eval_share, run.seed, data.skip_bad)
    return prepare(request, tokenizer, data.cache)


def prepare(
    request: Request,
    tokenizer: PreTrainedTokenizerBase,
    folder: Path,
    processes: int | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> Prepared:
    """Gives the prepared folder of a request below `folder`, made now unless it is there already.

    All ranks may call this at once and before they are connected: one works behind a lock, the others wait at it.
    """
    before = _times(request)
    mark = fingerprint(request, tokenizer)
    target = folder / mark
    if (found := opened(target)) is not None:
        return found
    make(folder)
    with locked(folder / f".{mark}{LOCK}"):
        if (found := opened(target)) is not None:
            return found
        without_drafts(folder, LOCK)
        with replaced(target) as draft:
            kind, statistics = _all_pieces(request, tokenizer, draft, processes, on_progress)
            _check_unchanged(request, before)
            prepared = Prepared(target, mark, kind, statistics, of_tokenizer(tokenizer))
            prepared.write_manifest(draft, request)
        return prepared


def _all_pieces(
    request: Request,
    tokenizer: PreTrainedTokenizerBase,
    draft: Path,
    processes: int | None,
    on_progress: Callable[[int, int], None] | None,
) -> tuple[str, Statistics]:
    pieces = [piece for file in request.files for piece in pieces_of(file)]
    expected = request.format or first_format(request, pieces)
    tokenising = Tokenising(request, tokenizer, expected, draft)
    # Once here, and not in every process; it takes half a second.
    importlib.import_module("pyarrow")

    def one(numbered: tuple[int, Piece]) -> Part:
        return tokenising.piece(*numbered)

    count = max(1, min(processes or len(os.sched_getaffinity(0)), len(pieces)))
    done, total = 0, sum(piece.size() for piece in pieces)
    statistics, bad, before = Statistics(), BadRows(), Counter[Path]()
    with side_by_side(one, list(enumerate(pieces)), count) as parts:
        for piece, part in zip(pieces, parts, strict=True):
            bad.add(piece.file, before[piece.file], part.bad, part.bad_count)
            before[piece.file] += part.lines
            statistics.merge(part.statistics)
            done += piece.size()
            if on_progress:
                on_progress(done, total)
    bad.tell(request.skip_bad)
    if expected is None or statistics.samples == 0:
        raise no_samples()
    return expected, statistics


def _times(request: Request) -> list[tuple[int, int]]:
    return [(found.st_size, found.st_mtime_ns) for found in (file.stat() for file in request.files)]


def _check_unchanged(request: Request, before: list[tuple[int, int]]) -> None:
    """Refuses rows that were written while they were read: their fingerprint would be another's."""
    for file, was, now in zip(request.files, before, _times(request), strict=True):
        if was != now:
            raise Failure(
                Text(f"{file} 在读取期间被修改", f"{file} was changed while it was read"),
                Text("请在写入结束后再次运行", "run it again when nobody writes to it"),
            )


@contextmanager
def locked(path: Path) -> Generator[None]:
    """Holds a lock; others wait at it, for as long as it takes and outside of any collective."""
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
        except OSError as error:
            raise Failure(
                Text(f"{path.parent} 所在的文件系统不支持文件锁", f"the file system of {path.parent} has no locks")
                if error.errno in (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)
                else Text(f"无法锁定 {path}：{error.strerror}", f"cannot lock {path}: {error.strerror}"),
                Text(
                    "请用 data.cache 或 --output 指定本地磁盘上的文件夹",
                    "name a folder on a local disk by data.cache or --output",
                ),
            ) from None
        yield
