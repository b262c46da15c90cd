"""Rows of JSONL, Parquet, CSV and text files, with the line each stands in."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..messages import Refusal, Text
from .problems import BadRow, problem

KINDS = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".parquet": "parquet",
    ".csv": "csv",
    ".tsv": "csv",
    ".txt": "text",
    ".text": "text",
}
_BOM = b"\xef\xbb\xbf"
# Bytes of a piece that one process reads at a time: of a small file less, so that all processes end at about one time.
_LEAST, _MOST, _PIECES = 1 << 18, 8 << 20, 64


@dataclass(frozen=True)
class Piece:
    """A part of a file: bytes of a text file, or the rows of one row group of a Parquet file."""

    file: Path
    kind: str
    start: int
    end: int


@dataclass(slots=True)
class Row:
    """One row. `line` counts from 1 within its piece; `raw` is what the split is decided by."""

    line: int
    raw: bytes
    value: Any


def files_of(paths: tuple[str, ...]) -> list[Path]:
    """Gives the files that paths name; a folder stands for all files in it of a known kind."""
    found: list[Path] = []
    for text in paths:
        path = Path(text)
        if path.is_dir():
            inside = sorted(file for file in path.rglob("*") if file.suffix.lower() in KINDS and file.is_file())
            if not inside:
                raise _no_data(text, Text("文件夹中没有数据文件", "no data file is in this folder"))
            found += inside
        elif not path.is_file():
            raise _no_data(text, Text("文件不存在", "it does not exist"))
        elif path.suffix.lower() not in KINDS:
            raise _no_data(text, Text("不支持此文件类型", "this kind of file is not known"))
        else:
            found.append(path)
    return found


def pieces_of(file: Path, size: int | None = None) -> list[Piece]:
    """Cuts a file at ends of lines, so that several processes read it at once.

    CSV is one piece, because fields have lines; so is one JSON array, which is what many files named `.json` are.
    """
    kind = KINDS[file.suffix.lower()]
    if file.suffix.lower() == ".json" and _is_array(file):
        kind = "array"
    if kind == "parquet":
        return [Piece(file, kind, group, group + 1) for group in range(_row_groups(file))]
    length = file.stat().st_size
    size = size or min(max(length // _PIECES, _LEAST), _MOST)
    if kind in ("csv", "array") or length <= size:
        return [Piece(file, kind, 0, length)]
    cuts = [0]
    with file.open("rb") as bytes_:
        while cuts[-1] + size < length:
            bytes_.seek(cuts[-1] + size)
            bytes_.readline()
            cuts.append(bytes_.tell())
    ends = [cut for cut in cuts if cut < length] + [length]
    return [Piece(file, kind, start, end) for start, end in zip(ends, ends[1:], strict=False)]


def _is_array(file: Path) -> bool:
    with file.open("rb") as opened:
        return opened.read(4096).removeprefix(_BOM).lstrip().startswith(b"[")


def _row_groups(file: Path) -> int:
    import pyarrow as pa
    import pyarrow.parquet as parquet

    try:
        return int(parquet.ParquetFile(file).num_row_groups)
    except pa.ArrowInvalid:
        raise _no_data(str(file), Text("它不是完整的 Parquet 文件", "it is no whole Parquet file")) from None


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


def _lines(piece: Piece) -> Iterator[tuple[int, bytes]]:
    with piece.file.open("rb") as file:
        file.seek(piece.start)
        block = file.read(piece.end - piece.start)
    if piece.start == 0:
        block = block.removeprefix(_BOM)
    for number, line in enumerate(block.split(b"\n"), 1):
        if number > 1 or line or piece.end == piece.start:
            yield number, line.rstrip(b"\r")


def _jsonl(piece: Piece) -> Iterator[Row | BadRow]:
    lines = list(_lines(piece))
    while lines and not lines[-1][1]:
        lines.pop()
    for number, line in lines:
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
    block = piece.file.read_bytes().removeprefix(_BOM)
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
    for number, line in _lines(piece):
        if not line.strip():
            continue
        try:
            yield Row(number, line, {"text": line.decode("utf-8")})
        except UnicodeDecodeError:
            yield problem(number, "not_utf8")


def _csv(piece: Piece) -> Iterator[Row | BadRow]:
    try:
        text = piece.file.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        yield problem(piece.file.read_bytes()[: error.start].count(b"\n") + 1, "not_utf8")
        return
    delimiter = "\t" if piece.file.suffix.lower() == ".tsv" else ","
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    header: list[str] | None = None
    line = 1
    # A field may be a whole document.
    csv.field_size_limit((1 << 31) - 1)
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
                yield Row(line, "\x1f".join(fields).encode(), dict(zip(header, fields, strict=True)))
            line = reader.line_num + 1
    except csv.Error as error:
        yield problem(line, "not_csv", str(error))


def _parquet(piece: Piece) -> Iterator[Row | BadRow]:
    import pyarrow.parquet as parquet

    table = parquet.ParquetFile(piece.file).read_row_group(piece.start)
    for number, value in enumerate(table.to_pylist(), 1):
        yield Row(number, json.dumps(value, sort_keys=True, default=str).encode(), value)


def _no_data(path: str, why: Text) -> Refusal:
    kinds = ", ".join(KINDS)
    return Refusal(
        Text(f"无法使用数据 {path}：{why.zh}", f"cannot use the data {path}: {why.en}"),
        Text(
            f"请在 data.train 中填写所有节点都能访问的文件或文件夹（{kinds}）",
            f"data.train takes a file or folder that all nodes reach ({kinds})",
        ),
    )
