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

from ..folders import make, replaced
from ..messages import Failure, Text
from .checked import BadRows, first_format, no_samples
from .files import Piece, pieces_of
from .fingerprint import fingerprint
from .prepared import Prepared, opened
from .request import Request
from .side_by_side import side_by_side
from .statistics import Statistics
from .tokenising import Part, Tokenising

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


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
    mark = fingerprint(request, tokenizer)
    target = folder / mark
    if (found := opened(target)) is not None:
        return found
    make(folder)
    with _locked(folder / f".{mark}.lock"):
        if (found := opened(target)) is not None:
            return found
        with replaced(target) as draft:
            kind, statistics = _all_pieces(request, tokenizer, draft, processes, on_progress)
            prepared = Prepared(target, mark, kind, statistics)
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


@contextmanager
def _locked(path: Path) -> Generator[None]:
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
