"""A folder of tokenised samples, with a manifest that says what it is."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from ..messages import Refusal, Text
from .arrow import Shards
from .request import Request
from .statistics import Statistics

_MANIFEST = "prepared.json"


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

    def write_manifest(self, folder: Path, request: Request) -> None:
        """Says in a folder what it is, while its name is still another."""
        manifest = {
            "fingerprint": self.fingerprint,
            "format": self.format,
            "statistics": asdict(self.statistics),
            "request": request.plain(),
        }
        (folder / _MANIFEST).write_text(json.dumps(manifest, ensure_ascii=False, indent=2), encoding="utf-8")


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
