"""Supervised fine-tuning: the model learns the answers of its data, token by token."""

from __future__ import annotations

from ..data.prepare import prepared_for
from ..data.templates import give_template
from ..environment import Place
from ..models.sources import check_length, check_vocabulary
from ..reading import File
from ..settings import check_set_aside
from ..trainer import BaseTrainer
from . import obeyed


def train(file: File, place: Place, kind: type[BaseTrainer] = BaseTrainer) -> int:
    """Trains; gives the exit code."""
    from transformers import AutoModelForCausalLM

    run = obeyed.sft(file)
    tokenizer = run.source.tokenizer()
    # Before ranks are connected: the others wait at a lock, not in a collective that times out.
    prepared = prepared_for(run, run.data.train, tokenizer, run.data.eval_share)
    evaluated = prepared_for(run, run.data.evaluation, tokenizer, 0.0) if run.data.evaluation else None
    aside = evaluated.train() if evaluated else prepared.evaluation()
    check_set_aside(run, len(aside) if aside else 0)
    give_template(tokenizer)
    model = run.source.load(AutoModelForCausalLM, run.seed)
    check_vocabulary(model, tokenizer)
    check_length(model, max(part.statistics.longest for part in (prepared, evaluated) if part))
    trained = run.lora.wrap(model) if run.lora else model
    trainer = kind(run, place, trained, tokenizer, prepared.train(), prepared.fingerprint, aside)
    try:
        return trainer.train()
    finally:
        trainer.reporter.close()
        trainer.world.leave()
