"""A folder of tokenised samples, with a manifest that says what it is."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..messages import Refusal, Text
from .arrow import Shards
from .fingerprint import of_tokenizer
from .formats import OF_ALGORITHM
from .request import Request
from .statistics import Statistics

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

MANIFEST = "prepared.json"


@dataclass(frozen=True)
class Prepared:
    """A prepared folder."""

    folder: Path
    fingerprint: str
    format: str
    statistics: Statistics
    # Empty in folders from before it was noted.
    tokenizer: str = ""

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

    def check_fits(self, tokenizer: PreTrainedTokenizerBase, max_length: int) -> None:
        """Refuses what SFT does not train on, tokens of another tokenizer, and samples that a run would have cut."""
        if self.format not in OF_ALGORITHM["sft"]:
            raise Refusal(
                Text(
                    f"{self.folder} 的格式是 {self.format}，不能用于 sft",
                    f"{self.folder} has the format {self.format}, which sft does not train on",
                ),
                Text("其他算法请直接使用原始文件，无需分词", "other algorithms take the files that it was made from"),
            )
        if self.tokenizer and self.tokenizer != of_tokenizer(tokenizer):
            raise Refusal(
                Text(
                    f"{self.folder} 是用另一个分词器准备的",
                    f"{self.folder} was prepared with another tokenizer than that of the model",
                ),
                Text(
                    "请用 fermi train prepare --model 指定要训练的模型，重新准备数据",
                    "prepare the data anew by fermi train prepare, and name the model that will train by --model",
                ),
            )
        if self.statistics.longest > max_length:
            longest = self.statistics.longest
            raise Refusal(
                Text(
                    f"{self.folder} 的样本长达 {longest} 个词元，而 max_length 是 {max_length}",
                    f"{self.folder} has samples of up to {longest} tokens, and max_length is {max_length}",
                ),
                Text(
                    f"请填写 model.max_length: {longest}，或用 --max-length 重新准备数据",
                    f"give model.max_length: {longest}, or prepare the data anew with --max-length",
                ),
            )

    def write_manifest(self, folder: Path, request: Request) -> None:
        """Says in a folder what it is, while its name is still another."""
        manifest = {
            "fingerprint": self.fingerprint,
            "format": self.format,
            "statistics": asdict(self.statistics),
            "request": request.plain(),
            "tokenizer": self.tokenizer,
        }
        (folder / MANIFEST).write_text(json.dumps(manifest, ensure_ascii=False, indent=2), encoding="utf-8")


def opened(folder: Path) -> Prepared | None:
    """Opens a prepared folder; none where it is none."""
    manifest = folder / MANIFEST
    if not manifest.is_file():
        return None
    try:
        found = json.loads(manifest.read_text(encoding="utf-8"))
        numbers = found["statistics"]
        numbers["lengths"] = {int(key): value for key, value in numbers["lengths"].items()}
        statistics, tokenizer = Statistics(**numbers), str(found.get("tokenizer", ""))
        return Prepared(folder, found["fingerprint"], found["format"], statistics, tokenizer)
    except (ValueError, TypeError, KeyError, AttributeError):
        # A power cut may leave a name and nothing in it.
        return None
