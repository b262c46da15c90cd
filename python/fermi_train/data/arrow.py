"""Tokenised samples in Arrow files: written in shards, read by mapping them into memory."""

from __future__ import annotations

import errno
import os
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from ..folders import begin_flush


class Shards:
    """All samples of a folder's files, in the order of their names. Columns are lists of whole numbers."""

    def __init__(self, files: Sequence[Path]) -> None:
        """Maps the files; nothing is read before it is asked for."""
        self._files = tuple(files)
        self._open()

    def _open(self) -> None:
        import pyarrow as pa

        self._columns: dict[str, list[tuple[np.ndarray, np.ndarray]]] = {}
        starts = [0]
        for file in self._files:
            table = pa.ipc.open_file(pa.memory_map(str(file))).read_all()
            for batch in table.to_batches():
                starts.append(starts[-1] + batch.num_rows)
                for name in table.column_names:
                    column = batch.column(name)
                    self._columns.setdefault(name, []).append((_numbers(column.offsets), _numbers(column.values)))
        self._starts = np.asarray(starts)

    def __len__(self) -> int:
        """Counts the samples."""
        return int(self._starts[-1])

    @property
    def columns(self) -> tuple[str, ...]:
        """Names the columns."""
        return tuple(self._columns)

    def __getitem__(self, index: int) -> dict[str, np.ndarray]:
        """Gives one sample."""
        batch = int(np.searchsorted(self._starts, index, side="right")) - 1
        row = index - int(self._starts[batch])
        sample = {}
        for name, batches in self._columns.items():
            offsets, values = batches[batch]
            sample[name] = values[offsets[row] : offsets[row + 1]]
        return sample

    def __getstate__(self) -> dict[str, Any]:
        """Hands the names of the files to loader processes, not what is mapped."""
        return {"files": self._files}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Maps the files again."""
        self._files = state["files"]
        self._open()


class ShardWriter:
    """Writes the samples of one shard, a record batch at a time."""

    def __init__(self, path: Path, columns: dict[str, str]) -> None:
        """Opens the file; `columns` gives each its Arrow type, such as `int32`."""
        import pyarrow as pa

        self._types = {name: pa.type_for_alias(kind) for name, kind in columns.items()}
        self._schema = pa.schema([(name, pa.list_(kind)) for name, kind in self._types.items()])
        self._path = path
        self._sink = pa.OSFile(str(path), "wb")
        self._writer = pa.ipc.new_file(self._sink, self._schema)

    def write(self, columns: dict[str, np.ndarray], lengths: np.ndarray) -> None:
        """Appends samples: the values of all of them end to end, and the length of each."""
        import pyarrow as pa

        offsets = np.zeros(len(lengths) + 1, dtype=np.int32)
        np.cumsum(lengths, out=offsets[1:])
        arrays = [
            pa.ListArray.from_arrays(_of_type(offsets, pa.int32()), _of_type(columns[name], kind))
            for name, kind in self._types.items()
        ]
        with self._named():
            self._writer.write_batch(pa.record_batch(arrays, schema=self._schema))

    def close(self) -> None:
        """Ends the file, which goes to the disk while the next one is made."""
        with self._named():
            self._writer.close()
            self._sink.close()
        begin_flush(self._path)

    @contextmanager
    def _named(self) -> Generator[None]:
        """Names the file in an error of the system: Arrow tells the number alone, in a sentence of its own."""
        try:
            yield
        except OSError as error:
            number = error.errno or errno.EIO
            raise OSError(number, os.strerror(number), str(self._path)) from None


# `pyarrow.array` and `to_numpy` would import all of pandas to look at their numbers: half a second for each process.


def _of_type(numbers: np.ndarray, kind: Any) -> Any:
    """Gives numbers to Arrow as they lie in memory."""
    import pyarrow as pa

    same = np.ascontiguousarray(numbers, kind.to_pandas_dtype())
    return pa.Array.from_buffers(kind, len(same), [None, pa.py_buffer(same)])


def _numbers(array: Any) -> np.ndarray:
    """Gives numbers of Arrow as they lie in memory."""
    every = np.frombuffer(array.buffers()[1], array.type.to_pandas_dtype())
    return every[array.offset : array.offset + len(array)]
