"""Supervised fine-tuning: the model learns the answers of its data, token by token."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ..data.prepare import prepare
from ..data.prepared import Prepared, opened
from ..data.request import request_of
from ..data.templates import give_template
from ..environment import Place
from ..models.sources import check_vocabulary
from ..reading import File
from ..settings import Run
from ..trainer import BaseTrainer
from . import obeyed

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


def train(file: File, place: Place, kind: type[BaseTrainer] = BaseTrainer) -> int:
    """Trains; gives the exit code."""
    from transformers import AutoModelForCausalLM

    run = obeyed.sft(file)
    tokenizer = run.source.tokenizer()
    # Before ranks are connected: the others wait at a lock, not in a collective that times out.
    prepared = _prepared(run, run.data.train, tokenizer, run.data.eval_share)
    aside = prepared.evaluation()
    if run.data.evaluation:
        aside = _prepared(run, run.data.evaluation, tokenizer, 0.0).train()
    give_template(tokenizer)
    model = run.source.load(AutoModelForCausalLM, run.seed)
    check_vocabulary(model, tokenizer)
    trained = run.lora.wrap(model) if run.lora else model
    trainer = kind(run, place, trained, tokenizer, prepared.train(), prepared.fingerprint, aside)
    try:
        return trainer.train()
    finally:
        trainer.reporter.close()
        trainer.world.leave()


def _prepared(run: Run, paths: tuple[str, ...], tokenizer: PreTrainedTokenizerBase, share: float) -> Prepared:
    if len(paths) == 1 and (found := opened(Path(paths[0]))) is not None:
        return found
    data = run.data
    request = request_of(paths, "sft", data.format, run.max_length, share, run.seed, data.skip_bad)
    return prepare(request, tokenizer, data.cache)
