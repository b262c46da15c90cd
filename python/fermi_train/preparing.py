"""`python -m fermi_train prepare`: checks and tokenises data before any rank starts, and shows what will be learned."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .data.formats import OF_ALGORITHM
from .data.prepare import prepare
from .data.prepared import Prepared
from .data.registering import register, registered_path
from .data.request import Request, request_of
from .data.settings import MOST_ASIDE, Data
from .keys import Keys
from .messages import Text
from .models.sources import Source
from .reading import algorithm_of, read
from .settings import MOST_SEED, run_of, source_of

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


def prepare_command(flags: argparse.Namespace) -> int:
    """Does what the command line asks for, and gives the exit code."""
    request, source, folder, paths = _asked(flags)
    tokenizer = source.tokenizer()
    bar = _Bar()
    prepared = prepare(request, tokenizer, folder, flags.processes, bar.show)
    bar.close()
    registered = None
    if flags.register:
        registered = register(prepared, flags.register, registered_path(prepared, paths, request))
    if flags.json:
        described = {"folder": str(prepared.folder), "format": prepared.format, "fingerprint": prepared.fingerprint}
        described |= {"registered": registered} if registered else {}
        print(json.dumps({**described, "statistics": asdict(prepared.statistics)}, ensure_ascii=False))
        return 0
    print(described_in_words(prepared))
    for index in range(min(flags.show, len(prepared.train()))):
        print(shown(prepared, index, tokenizer))
    if registered:
        print(Text(f"已登记为 {registered}", f"registered as {registered}"))
    return 0


def described_in_words(prepared: Prepared) -> str:
    """Says what was prepared."""
    numbers = prepared.statistics
    every = max(numbers.samples + numbers.eval_samples, 1)
    mean = numbers.tokens / every
    lengths = "  ".join(f"≤{1 << bits}: {count}" for bits, count in sorted(numbers.lengths.items()))
    share = numbers.learned / max(numbers.tokens, 1)
    return str(
        Text(
            f"{prepared.folder}\n格式 {prepared.format}，训练样本 {numbers.samples}，评估样本 {numbers.eval_samples}\n"
            f"词元 {numbers.tokens}，其中学习 {numbers.learned}（{share:.0%}），平均 {mean:.1f}，最长 {numbers.longest}，"
            f"达到上限 {numbers.cut}\n长度分布 {lengths}",
            f"{prepared.folder}\nformat {prepared.format}, {numbers.samples} samples to train on, "
            f"{numbers.eval_samples} set aside\n{numbers.tokens} tokens, {numbers.learned} of them learned ({share:.0%}); "
            f"mean {mean:.1f}, longest {numbers.longest}, {numbers.cut} at the limit\nlengths {lengths}",
        )
    )


def shown(prepared: Prepared, index: int, tokenizer: PreTrainedTokenizerBase) -> str:
    """Shows a sample token by token; what is learned stands in brackets."""
    sample = prepared.train()[index]
    parts = []
    for token, learned in zip(sample["input_ids"], sample["completion_mask"], strict=True):
        text = str(tokenizer.decode([int(token)])).replace("\n", "\\n")
        parts.append(f"[{text}]" if learned else text)
    return str(Text(f"样本 {index}：", f"sample {index}: ")) + "|".join(parts)


@dataclass(frozen=True)
class _Usual:
    """What holds where the command line says nothing else: the file's words, or the usual ones."""

    algorithm: str
    source: Source
    max_length: int
    seed: int
    data: Data


def _asked(flags: argparse.Namespace) -> tuple[Request, Source, Path, tuple[str, ...]]:
    usual = _usual(flags)
    data = usual.data
    given = Keys(
        {
            f"--{name}": getattr(flags, name.replace("-", "_"))
            for name in ("format", "max-length", "eval-share", "seed", "skip-bad", "processes")
        }
    )
    given.count("--processes", 1)
    paths = tuple(flags.files) or data.train
    request = request_of(
        paths,
        usual.algorithm,
        given.word("--format", data.format, OF_ALGORITHM[usual.algorithm]),
        given.count("--max-length", usual.max_length),
        given.number("--eval-share", data.eval_share, most=MOST_ASIDE),
        given.count("--seed", usual.seed, least=0, most=MOST_SEED),
        given.flag("--skip-bad", data.skip_bad),
    )
    source = Source(flags.model) if flags.model else usual.source
    return request, source, Path(flags.output) if flags.output else data.cache, paths


def _usual(flags: argparse.Namespace) -> _Usual:
    if flags.config:
        file = read(flags.config, flags.algorithm, changes=tuple(flags.set))
        run = run_of(file, source_of(file.keys))
        return _Usual(run.algorithm, run.source, run.max_length, run.seed, run.data)
    return _Usual(algorithm_of(flags.algorithm), Source("preset:tiny"), 1024, 42, Data())


class _Bar:
    """A bar on a terminal; elsewhere nothing."""

    def __init__(self) -> None:
        self._bar: Any = None
        self._done = 0

    def show(self, done: int, total: int) -> None:
        """Moves on."""
        if self._bar is None and sys.stderr.isatty():
            from tqdm import tqdm

            self._bar = tqdm(total=total, unit="B", unit_scale=True, desc=str(Text("分词", "tokenising")))
        if self._bar is not None:
            self._bar.update(done - self._done)
        self._done = done

    def close(self) -> None:
        """Ends the bar."""
        if self._bar is not None:
            self._bar.close()
