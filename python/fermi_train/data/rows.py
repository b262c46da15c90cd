"""Rows of JSONL, Parquet, CSV and text files, with the line each stands in."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from .files import Piece, not_whole
from .problems import BadRow, problem

# Rows of a row group that are made objects of at once.
_TOGETHER = 1024


@dataclass(slots=True)
class Row:
    """One row. `line` counts from 1 within its piece; `raw` is what the split is decided by."""

    line: int
    raw: bytes
    value: Any


def rows_of(piece: Piece) -> Iterator[Row | BadRow]:
    """Reads the rows of a piece; one that cannot be read comes as a `BadRow`, and the next goes on."""
    match piece.kind:
        case "jsonl":
            yield from _jsonl(piece)
        case "array":
            yield from _array(piece)
        case "text":
            yield from _text(piece)
        case "csv":
            yield from _csv(piece)
        case _:
            yield from _parquet(piece)


def _lines(piece: Piece) -> list[bytes]:
    lines = piece.block().split(b"\n")
    # What follows the last end of a line is no line.
    return lines if lines[-1] else lines[:-1]


def _jsonl(piece: Piece) -> Iterator[Row | BadRow]:
    lines = _lines(piece)
    while lines and not lines[-1].strip():
        lines.pop()
    for number, line in enumerate(lines, 1):
        line = line.rstrip(b"\r")
        if not line.strip():
            yield problem(number, "empty_line")
            continue
        try:
            value = _value(line.decode("utf-8"))
        except (ValueError, RecursionError) as error:
            yield _no_json(number, error)
        else:
            yield Row(number, line, value)


def _no_json(line: int, error: Exception) -> BadRow:
    match error:
        case UnicodeDecodeError():
            return problem(line, "not_utf8")
        case _TwiceError():
            return problem(line, "key_twice", str(error))
        case _ConstantError():
            return problem(line, "no_number", str(error))
        case json.JSONDecodeError():
            return problem(line, "not_json", f"{error.msg}, {error.colno}")
        case RecursionError():
            return problem(line, "not_json", "nesting")
        case _:
            # A number of more digits than Python reads.
            return problem(line, "not_json", str(error))


def _array(piece: Piece) -> Iterator[Row | BadRow]:
    """Reads the elements of one array; behind one that is no JSON nothing can be told apart."""
    block = piece.block()
    try:
        text = block.decode("utf-8")
    except UnicodeDecodeError as error:
        yield problem(block[: error.start].count(b"\n") + 1, "not_utf8")
        return
    line, seen = 1, 0
    place = _SPACE.match(text, text.index("[") + 1).end()
    while not text.startswith("]", place):
        line, seen = line + text.count("\n", seen, place), place
        try:
            value, end = _EXACT.raw_decode(text, place)
        except (_TwiceError, _ConstantError) as error:
            _, end = json.JSONDecoder().raw_decode(text, place)
            yield _no_json(line, error)
        except json.JSONDecodeError as error:
            yield problem(error.lineno, "not_json", f"{error.msg}, {error.colno}")
            return
        except (ValueError, RecursionError) as error:
            yield _no_json(line, error)
            return
        else:
            yield Row(line, text[place:end].encode(), value)
        place = _SPACE.match(text, end).end()
        if text.startswith(",", place):
            place = _SPACE.match(text, place + 1).end()
        elif not text.startswith("]", place):
            line += text.count("\n", seen, place)
            yield problem(line, "not_json", "]")
            return
    if rest := text[place + 1 :].strip():
        yield problem(line + text.count("\n", seen, place), "not_json", rest[:20])


class _TwiceError(ValueError):
    pass


class _ConstantError(ValueError):
    pass


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        names = [name for name, _ in pairs]
        raise _TwiceError(next(name for name in names if names.count(name) > 1))
    return made


def _no_constant(word: str) -> Any:
    raise _ConstantError(word)


_LENIENT: Any = json.JSONDecoder(parse_constant=_no_constant)
_EXACT = json.JSONDecoder(object_pairs_hook=_once, parse_constant=_no_constant)
_SPACE: Any = re.compile(r"[ \t\r\n]*")
_SPACED_COLON = re.compile(r'"\s+:')


def _value(text: str) -> Any:
    """Reads JSON. Whether a key stands twice is looked at only where the text has more keys than the value."""
    try:
        value, end = _LENIENT.scan_once(text, 0)
    except StopIteration:
        return _EXACT.decode(text)
    if end != len(text) or text.count('":') != _keys(value) or _has_spaced_colon(text):
        return _EXACT.decode(text)
    return value


def _has_spaced_colon(text: str) -> bool:
    # Two searches for what is hardly ever there cost less than one by pattern.
    return (" :" in text or "\t:" in text) and _SPACED_COLON.search(text) is not None


def _keys(value: Any) -> int:
    if type(value) is dict:
        return len(value) + sum([_keys(below) for below in value.values() if type(below) is not str])
    return sum(map(_keys, value)) if type(value) is list else 0


def _text(piece: Piece) -> Iterator[Row | BadRow]:
    for number, line in enumerate(_lines(piece), 1):
        line = line.rstrip(b"\r")
        if not line.strip():
            continue
        try:
            yield Row(number, line, {"text": line.decode("utf-8")})
        except UnicodeDecodeError:
            yield problem(number, "not_utf8")


def _csv(piece: Piece) -> Iterator[Row | BadRow]:
    # A field may be a whole document.
    csv.field_size_limit((1 << 31) - 1)
    # A byte that is no UTF-8 comes as half a letter, which no field has otherwise: the other rows are read all the same.
    with piece.file.open(encoding="utf-8-sig", errors="surrogateescape", newline="") as text:
        yield from _records(text, "\t" if piece.file.suffix.lower() == ".tsv" else ",")


def _records(text: Iterable[str], delimiter: str) -> Iterator[Row | BadRow]:
    reader = csv.reader(text, delimiter=delimiter, strict=True)
    header: list[str] | None = None
    line = 1
    try:
        for fields in reader:
            if header is None:
                header = fields
                if twice := [name for name in header if header.count(name) > 1]:
                    yield problem(line, "key_twice", twice[0])
                    return
            elif fields and len(fields) != len(header):
                yield problem(line, "wrong_fields", f"{len(fields)} ≠ {len(header)}")
            elif fields:
                yield _record(line, header, fields)
            line = reader.line_num + 1
    except csv.Error as error:
        yield problem(line, "not_csv", str(error))


def _record(line: int, header: list[str], fields: list[str]) -> Row | BadRow:
    try:
        raw = "\x1f".join(fields).encode()
    except UnicodeEncodeError:
        return problem(line, "not_utf8")
    return Row(line, raw, dict(zip(header, fields, strict=True)))


def _parquet(piece: Piece) -> Iterator[Row | BadRow]:
    import pyarrow as pa
    import pyarrow.parquet as parquet

    number = 0
    try:
        for batch in parquet.ParquetFile(piece.file).iter_batches(_TOGETHER, row_groups=[piece.start]):
            for value in batch.to_pylist():
                number += 1
                yield Row(number, json.dumps(value, sort_keys=True, default=str).encode(), value)
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, OSError) and error.errno:
            raise
        # Parquet's footer was right, but not what it tells of.
        raise not_whole(piece.file) from None
