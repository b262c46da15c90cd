"""Supervised fine-tuning: the model learns the answers of its data, token by token."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

from ..data.prepare import prepared_for
from ..data.templates import give_template
from ..environment import Place
from ..models.outline import is_outline, read_once, without_memory
from ..models.sources import check_length, check_vocabulary
from ..reading import File
from ..settings import Run, check_set_aside
from ..trainer import BaseTrainer
from . import obeyed


def train(file: File, place: Place, kind: type[BaseTrainer] = BaseTrainer) -> int:
    """Trains; gives the exit code."""
    run = obeyed.sft(file)
    tokenizer = run.source.tokenizer()
    # Before ranks are connected: the others wait at a lock, not in a collective that times out.
    prepared = prepared_for(run, run.data.train, tokenizer, run.data.eval_share)
    evaluated = prepared_for(run, run.data.evaluation, tokenizer, 0.0) if run.data.evaluation else None
    aside = evaluated.train() if evaluated else prepared.evaluation()
    check_set_aside(run, len(aside) if aside else 0)
    give_template(tokenizer)
    model, adapts = _loaded(run, place, kind)
    check_vocabulary(model, tokenizer)
    check_length(model, max(part.statistics.longest for part in (prepared, evaluated) if part))
    with adapts:
        trained = run.lora.wrap(model) if run.lora else model
    trainer = kind(run, place, trained, tokenizer, prepared.train(), prepared.fingerprint, aside)
    try:
        return trainer.train()
    finally:
        trainer.reporter.close()
        trainer.world.leave()


def _loaded(run: Run, place: Place, kind: type[BaseTrainer]) -> tuple[Any, AbstractContextManager[None]]:
    """Gives the model, on ranks that are given its values only the outline, and in which way LoRA is put beside it."""
    from transformers import AutoModelForCausalLM

    if place.ranks == 1 or run.strategy == "single":
        return run.source.load(AutoModelForCausalLM, run.seed), nullcontext()
    # A trainer of one's own may change the values that it is made with; those of LoRA are drawn beside real ones.
    waits = run.lora is None and kind.__init__ is BaseTrainer.__init__
    model = read_once(run.source, AutoModelForCausalLM, run.seed, place.rank, waits)
    is_given = place.rank > 0 and is_outline(model)
    return model, without_memory() if is_given else nullcontext()
