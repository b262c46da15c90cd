"""Checks and tokenises files into Arrow shards, on all cores; the folder appears whole or not at all."""

from __future__ import annotations

import fcntl
import gc
import hashlib
import importlib
import json
import multiprocessing
import os
import sys
from collections import Counter
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..folders import replaced
from ..messages import Refusal, Text
from .arrow import Shards, ShardWriter
from .encoding import Encoder, Samples, Stretch
from .fingerprint import fingerprint
from .formats import OF_ALGORITHM, check, recognise
from .problems import BadRow, RowProblem
from .rows import Piece, Row, files_of, pieces_of, rows_of
from .statistics import Statistics
from .templates import Templates

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

COLUMNS = {"input_ids": "int32", "completion_mask": "int8"}
# Rows that are tokenised in one call.
_TOGETHER = 512
# Bad rows that are told one by one; of the rest only the number.
_TOLD = 100
_MANIFEST = "prepared.json"


@dataclass(frozen=True)
class Request:
    """What is to be prepared, and how."""

    files: tuple[Path, ...]
    algorithm: str
    format: str | None
    max_length: int
    eval_share: float
    seed: int
    skip_bad: bool = False


@dataclass
class _Part:
    """What came of one piece."""

    lines: int
    bad: list[BadRow]
    bad_count: int
    format: str | None
    statistics: Statistics


@dataclass(frozen=True)
class Prepared:
    """A prepared folder."""

    folder: Path
    fingerprint: str
    format: str
    statistics: Statistics

    def train(self) -> Shards:
        """Gives the samples to train on; refuses a folder of which a part is gone."""
        shards = Shards(sorted(self.folder.glob("train-*.arrow")))
        if len(shards) != self.statistics.samples:
            here, whole = len(shards), self.statistics.samples
            raise Refusal(
                Text(
                    f"{self.folder} 中只有 {here} 个样本，应为 {whole} 个",
                    f"{self.folder} has {here} samples, and was made with {whole}",
                ),
                Text("请删除该文件夹，数据会重新分词", "remove the folder: the data is tokenised anew"),
            )
        return shards

    def evaluation(self) -> Shards | None:
        """Gives the samples that were set aside; none where the share is 0."""
        files = sorted(self.folder.glob("eval-*.arrow"))
        return Shards(files) if files else None


def opened(folder: Path) -> Prepared | None:
    """Opens a prepared folder; none where it is none."""
    manifest = folder / _MANIFEST
    if not manifest.is_file():
        return None
    try:
        found = json.loads(manifest.read_text(encoding="utf-8"))
        numbers = found["statistics"]
        numbers["lengths"] = {int(key): value for key, value in numbers["lengths"].items()}
        return Prepared(folder, found["fingerprint"], found["format"], Statistics(**numbers))
    except (ValueError, TypeError, KeyError, AttributeError):
        # A power cut may leave a name and nothing in it.
        return None


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
    folder.mkdir(parents=True, exist_ok=True)
    with _locked(folder / f".{mark}.lock"):
        if (found := opened(target)) is not None:
            return found
        with replaced(target) as draft:
            kind, statistics = _all_pieces(request, tokenizer, draft, processes, on_progress)
            manifest = {
                "fingerprint": mark,
                "format": kind,
                "statistics": asdict(statistics),
                "request": _plain(request),
            }
            (draft / _MANIFEST).write_text(json.dumps(manifest, ensure_ascii=False, indent=2), encoding="utf-8")
        return Prepared(target, mark, kind, statistics)


def samples_of(request: Request) -> tuple[str, list[dict[str, Any]]]:
    """Reads and checks all rows without tokenising them; gives the format and the rows."""
    found: list[dict[str, Any]] = []
    expected = request.format
    bad: list[Text] = []
    for file in request.files:
        before = 0
        for piece in pieces_of(file):
            for row in rows_of(piece):
                checked = _checked(row, expected, request.algorithm)
                if isinstance(checked, BadRow):
                    bad.append(_told(file, before, checked))
                else:
                    expected = checked[0]
                    found.append(checked[1])
            before += _count_lines(piece)
    if bad and not request.skip_bad:
        raise _bad_rows(bad[:_TOLD], len(bad))
    if expected is None:
        raise _no_rows()
    return expected, found


def is_eval(raw: bytes, seed: int, share: float) -> bool:
    """Decides by the row's own bytes, so that equal rows go to one side and new rows move no old one."""
    if share <= 0:
        return False
    drawn = int.from_bytes(hashlib.blake2b(raw, digest_size=8, key=str(seed).encode()).digest(), "big")
    return drawn < share * 2**64


def _aside(rows: list[Row], request: Request) -> np.ndarray:
    if request.eval_share <= 0:
        return np.zeros(len(rows), bool)
    return np.fromiter((is_eval(row.raw, request.seed, request.eval_share) for row in rows), bool, len(rows))


_worker: dict[str, Any] = {}


def _all_pieces(
    request: Request,
    tokenizer: PreTrainedTokenizerBase,
    draft: Path,
    processes: int | None,
    on_progress: Callable[[int, int], None] | None,
) -> tuple[str, Statistics]:
    pieces = [piece for file in request.files for piece in pieces_of(file)]
    count = max(1, min(processes or len(os.sched_getaffinity(0)), len(pieces)))
    expected = request.format or _first_format(request, pieces)
    _worker.update(request=request, tokenizer=tokenizer, draft=draft, expected=expected)
    total = sum(_size(piece) for piece in pieces)
    done, statistics, bad_count = 0, Statistics(), 0
    bad: list[Text] = []
    before: Counter[Path] = Counter()
    with _pool(count) as ordered:
        for piece, part in zip(pieces, ordered(_one_piece, list(enumerate(pieces))), strict=True):
            bad_count += part.bad_count
            bad += [_told(piece.file, before[piece.file], row) for row in part.bad]
            before[piece.file] += part.lines
            statistics.merge(part.statistics)
            done += _size(piece)
            if on_progress:
                on_progress(done, total)
    if bad_count and not request.skip_bad:
        raise _bad_rows(bad[:_TOLD], bad_count)
    if expected is None or statistics.samples == 0:
        raise _no_rows()
    if bad_count:
        head = Text(f"跳过 {bad_count} 行：", f"{bad_count} rows are left out:")
        print(_listed(head, bad[:_TOLD]), file=sys.stderr)
    return expected, statistics


@contextmanager
def _pool(count: int) -> Generator[Callable[..., Any]]:
    if count == 1:
        yield map
        return
    # Once here, and not in every process; it takes half a second.
    importlib.import_module("pyarrow")
    # Forked before any thread of the tokenizer runs: TOKENIZERS_PARALLELISM is false.
    with multiprocessing.get_context("fork").Pool(count) as pool:
        yield pool.imap


def _one_piece(numbered: tuple[int, Piece]) -> _Part:
    # Millions of lists without a cycle are no work for the collector.
    collects = gc.isenabled()
    gc.disable()
    try:
        return _tokenised(*numbered)
    finally:
        if collects:
            gc.enable()


def _tokenised(index: int, piece: Piece) -> _Part:
    request: Request = _worker["request"]
    expected: str | None = _worker["expected"]
    templates, encoder = Templates(_worker["tokenizer"]), Encoder(_worker["tokenizer"], request.max_length)
    writers = {side: _Side(_worker["draft"] / f"{side}-{index:06d}.arrow") for side in ("train", "eval")}
    part = _Part(0, [], 0, expected, Statistics())
    waiting: list[Row] = []
    stretches: list[list[Stretch]] = []

    def flush() -> None:
        samples, problems = encoder.learnable(stretches)
        for place, problem in problems.items():
            _keep(part, BadRow(waiting[place].line, problem.reason, problem.detail))
        good = [row for place, row in enumerate(waiting) if place not in problems] if problems else waiting
        aside = _aside(good, request)
        for side, rows in (("train", ~aside), ("eval", aside)):
            chosen = samples.only(rows)
            part.statistics.add(chosen, request.max_length, side == "eval")
            writers[side].add(chosen)
        waiting.clear()
        stretches.clear()

    for row in rows_of(piece):
        checked = _checked(row, expected, request.algorithm)
        if isinstance(checked, BadRow):
            _keep(part, checked)
            continue
        assert isinstance(row, Row)
        waiting.append(row)
        stretches.append(templates.segments(_as_sft(checked[1])))
        if len(waiting) >= _TOGETHER:
            flush()
    flush()
    for writer in writers.values():
        writer.close()
    part.lines = _count_lines(piece)
    part.bad.sort(key=lambda row: row.line)
    return part


class _Side:
    """The samples of one side of the split, written in batches; no file where there are none."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._writer: ShardWriter | None = None
        self._waiting: list[Samples] = []

    def add(self, samples: Samples) -> None:
        if len(samples):
            self._waiting.append(samples)
        if sum(map(len, self._waiting)) >= 4096:
            self._flush()

    def _flush(self) -> None:
        if not self._waiting:
            return
        self._writer = self._writer or ShardWriter(self._path, COLUMNS)
        ids = np.concatenate([samples.ids for samples in self._waiting])
        mask = np.concatenate([samples.mask for samples in self._waiting])
        lengths = np.concatenate([samples.lengths for samples in self._waiting])
        self._writer.write({"input_ids": ids, "completion_mask": mask}, lengths)
        self._waiting = []

    def close(self) -> None:
        self._flush()
        if self._writer:
            self._writer.close()


def _checked(row: Row | BadRow, expected: str | None, algorithm: str) -> tuple[str, dict[str, Any]] | BadRow:
    if isinstance(row, BadRow):
        return row
    try:
        kind = recognise(row.value)
        if kind != expected and (expected is not None or kind not in OF_ALGORITHM[algorithm]):
            wanted = expected or "/".join(OF_ALGORITHM[algorithm])
            raise RowProblem("other_format", f"{kind} ≠ {wanted}")
        return kind, check(row.value, kind)
    except RowProblem as found:
        return BadRow(row.line, found.reason, found.detail)


def _as_sft(row: dict[str, Any]) -> dict[str, Any]:
    """Gives what a row of another algorithm is counted and shown by: the preferred answer, or the prompt."""
    if "chosen" in row:
        return {"prompt": row["prompt"], "completion": row["chosen"]}
    if "text" in row or "messages" in row or "completion" in row:
        return row
    prompt = row["prompt"]
    return {"text": prompt if isinstance(prompt, str) else "\n".join(message["content"] for message in prompt)}


def _first_format(request: Request, pieces: list[Piece]) -> str | None:
    """Gives the format of the first row that has one which the algorithm trains on."""
    for piece in pieces:
        for row in rows_of(piece):
            checked = _checked(row, None, request.algorithm)
            if not isinstance(checked, BadRow):
                return checked[0]
    return None


def _keep(part: _Part, row: BadRow) -> None:
    part.bad_count += 1
    if len(part.bad) < _TOLD:
        part.bad.append(row)


def _count_lines(piece: Piece) -> int:
    if piece.kind == "parquet":
        import pyarrow.parquet as parquet

        return int(parquet.ParquetFile(piece.file).metadata.row_group(piece.start).num_rows)
    with piece.file.open("rb") as file:
        file.seek(piece.start)
        return file.read(piece.end - piece.start).count(b"\n")


def _size(piece: Piece) -> int:
    return max(piece.end - piece.start, 1)


@contextmanager
def _locked(path: Path) -> Generator[None]:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _plain(request: Request) -> dict[str, Any]:
    return {**asdict(request), "files": [str(file) for file in request.files]}


def _told(file: Path, before: int, row: BadRow) -> Text:
    place, why = f"{file}:{before + row.line}", row.text()
    return Text(f"{place}: {why.zh}", f"{place}: {why.en}")


def _listed(head: Text, lines: list[Text]) -> Text:
    return Text(
        "\n  ".join([head.zh, *(line.zh for line in lines)]), "\n  ".join([head.en, *(line.en for line in lines)])
    )


def _bad_rows(told: list[Text], count: int) -> Refusal:
    return Refusal(
        _listed(Text(f"{count} 行数据有误：", f"{count} rows are wrong:"), told),
        Text("请修正这些行，或用 data.skip_bad: true 跳过", "correct them, or leave them out by data.skip_bad: true"),
    )


def _no_rows() -> Refusal:
    return Refusal(
        Text("数据中没有可训练的样本", "the data has no sample to train on"),
        Text("请检查 data.train", "look at data.train"),
    )


def request_of(
    paths: tuple[str, ...],
    algorithm: str,
    kind: str | None,
    max_length: int,
    eval_share: float = 0.0,
    seed: int = 0,
    skip_bad: bool = False,
) -> Request:
    """Makes a request from what the file says; paths that are not there are refused."""
    return Request(tuple(files_of(paths)), algorithm, kind, max_length, eval_share, seed, skip_bad)
