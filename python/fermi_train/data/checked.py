"""Rows that were read and checked; those that are wrong are told together."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ..environment import place_here
from ..messages import Refusal, Text
from .files import Piece, pieces_of
from .formats import OF_ALGORITHM, check, recognise
from .problems import BadRow, RowProblem
from .request import Request
from .rows import Row, rows_of

# Bad rows that are told one by one; of the rest only the number.
TOLD = 100


def checked(row: Row | BadRow, expected: str | None, algorithm: str) -> tuple[str, dict[str, Any]] | BadRow:
    """Gives the format of a row and the row in the one shape of it, or what is wrong."""
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


def first_format(request: Request, pieces: Iterable[Piece]) -> str | None:
    """Gives the format of the first row that has one which the algorithm trains on."""
    for piece in pieces:
        for row in rows_of(piece):
            found = checked(row, None, request.algorithm)
            if not isinstance(found, BadRow):
                return found[0]
    return None


def samples_of(request: Request) -> tuple[str, list[dict[str, Any]]]:
    """Reads and checks all rows without tokenising them; gives the format and the rows."""
    found: list[dict[str, Any]] = []
    expected, bad = request.format, BadRows()
    for file in request.files:
        before = 0
        for piece in pieces_of(file):
            for row in rows_of(piece):
                one = checked(row, expected, request.algorithm)
                if isinstance(one, BadRow):
                    bad.add(file, before, [one])
                else:
                    expected = one[0]
                    found.append(one[1])
            before += piece.lines()
    bad.tell(request.skip_bad, says=place_here().is_first)
    if expected is None:
        raise no_samples()
    return expected, found


class BadRows:
    """Rows that cannot be used: the first of them one by one, and the number of all."""

    def __init__(self) -> None:
        """Begins without any."""
        self._told: list[Text] = []
        self._count = 0

    def add(self, file: Path, before: int, rows: list[BadRow], count: int | None = None) -> None:
        """Takes rows of a piece before which the file has so many lines; `count` may be more than are told."""
        self._count += len(rows) if count is None else count
        for row in rows[: TOLD - len(self._told)]:
            place, why = f"{file}:{before + row.line}", row.text()
            self._told.append(Text(f"{place}: {why.zh}", f"{place}: {why.en}"))

    def tell(self, leaves_out: bool, says: bool = True) -> None:
        """Refuses them; where they are left out, says so."""
        if not self._count:
            return
        count = self._count
        if not leaves_out:
            raise Refusal(
                self._listed(Text(f"{count} 行数据有误：", f"{count} rows are wrong:")),
                Text(
                    "请修正这些行，或用 data.skip_bad: true（--skip-bad）跳过",
                    "correct them, or leave them out by data.skip_bad: true (--skip-bad)",
                ),
            )
        if says:
            print(self._listed(Text(f"跳过 {count} 行：", f"{count} rows are left out:")), file=sys.stderr)

    def _listed(self, head: Text) -> Text:
        return Text(
            "\n  ".join([head.zh, *(line.zh for line in self._told)]),
            "\n  ".join([head.en, *(line.en for line in self._told)]),
        )


def no_samples() -> Refusal:
    """Says that there is nothing to train on."""
    return Refusal(
        Text("数据中没有可训练的样本", "the data has no sample to train on"),
        Text("请检查 data.train", "look at data.train"),
    )
