"""Files of data, and the pieces of them that one process reads at a time."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ..messages import Refusal, Text

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
BOM = b"\xef\xbb\xbf"
# In a folder of prepared data.
_MANIFEST = "prepared.json"
# Bytes of a piece: of a small file less, so that all processes end at about one time.
_LEAST, _MOST, _PIECES = 1 << 18, 8 << 20, 64


@dataclass(frozen=True)
class Piece:
    """A part of a file: bytes of a text file, or the rows of one row group of a Parquet file."""

    file: Path
    kind: str
    start: int
    end: int

    def size(self) -> int:
        """Gives what progress is counted by."""
        return max(self.end - self.start, 1)

    def block(self) -> bytes:
        """Reads the bytes; the mark that some programs begin a text with is none of them."""
        with self.file.open("rb") as file:
            file.seek(self.start)
            block = file.read(self.end - self.start)
        return block.removeprefix(BOM) if self.start == 0 else block

    def lines(self) -> int:
        """Counts what lines of the next piece are counted from: ends of lines, or the rows of a row group."""
        if self.kind != "parquet":
            return self.block().count(b"\n")
        import pyarrow.parquet as parquet

        return int(parquet.ParquetFile(self.file).metadata.row_group(self.start).num_rows)


def is_prepared(path: str) -> bool:
    """Says whether a path is a folder of prepared data."""
    return (Path(path) / _MANIFEST).is_file()


def files_of(paths: tuple[str, ...]) -> list[Path]:
    """Gives the files that paths name; a folder stands for all files in it of a known kind."""
    found: list[Path] = []
    for text in paths:
        path = Path(text)
        if not text:
            raise no_data('""', Text("路径为空", "the path is empty"))
        if is_prepared(text):
            raise no_data(
                text,
                Text(
                    "它是为 sft 分词后的数据，只能单独用于 sft",
                    "it is data that was tokenised for sft, which alone takes it, and nothing beside it",
                ),
            )
        if path.is_dir():
            inside = sorted(file for file in path.rglob("*") if file.suffix.lower() in KINDS and file.is_file())
            if not inside:
                raise no_data(text, Text("文件夹中没有数据文件", "no data file is in this folder"))
            found += inside
        elif not path.exists():
            raise no_data(text, Text("文件不存在", "it does not exist"))
        elif not path.is_file():
            # A pipe or a device has no end that could be cut into pieces, and cannot be read a second time.
            raise no_data(text, Text("它是管道或设备，不是文件", "it is a pipe or a device, and no file"))
        elif path.suffix.lower() not in KINDS:
            raise no_data(text, Text("不支持此文件类型", "this kind of file is not known"))
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
    with file.open("rb") as opened:
        while cuts[-1] + size < length:
            opened.seek(cuts[-1] + size)
            opened.readline()
            cuts.append(opened.tell())
    ends = [cut for cut in cuts if cut < length] + [length]
    return [Piece(file, kind, start, end) for start, end in zip(ends, ends[1:], strict=False)]


def no_data(path: str, why: Text) -> Refusal:
    """Says that a path leads to nothing that can be trained on."""
    kinds = ", ".join(KINDS)
    return Refusal(
        Text(f"无法使用数据 {path}：{why.zh}", f"cannot use the data {path}: {why.en}"),
        Text(
            f"请在 data.train 中填写所有节点都能访问的文件或文件夹（{kinds}）",
            f"data.train takes a file or folder that all nodes reach ({kinds})",
        ),
    )


def not_whole(file: Path) -> Refusal:
    """Says that a file is no Parquet file, or only a part of one."""
    return no_data(str(file), Text("它不是完整的 Parquet 文件", "it is no whole Parquet file"))


def _is_array(file: Path) -> bool:
    with file.open("rb") as opened:
        return opened.read(4096).removeprefix(BOM).lstrip().startswith(b"[")


def _row_groups(file: Path) -> int:
    import pyarrow as pa
    import pyarrow.parquet as parquet

    try:
        return int(parquet.ParquetFile(file).num_row_groups)
    except pa.ArrowInvalid:
        raise not_whole(file) from None
