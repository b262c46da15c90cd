"""The recipe, from top to bottom."""

from __future__ import annotations

from ...data.templates import give_template
from ...environment import Place
from ...models.dropout import without_dropout
from ...models.sources import check_length, check_vocabulary
from ...reading import File
from ...rewards.named import reward_of
from .. import obeyed
from ..prompts import longest_prompt
from ..with_trl import rows_of
from .trainer import PpoTrainer
from .value import PolicyAndValue


def train(file: File, place: Place) -> int:
    """Trains; gives the exit code."""
    from transformers import AutoModel, AutoModelForCausalLM

    run, settings, names = obeyed.ppo(file)
    rewards = [reward_of(name) for name in names]
    tokenizer = run.source.tokenizer()
    rows = rows_of(run, tokenizer)
    give_template(tokenizer)
    policy = run.source.load(AutoModelForCausalLM, run.seed)
    check_vocabulary(policy, tokenizer)
    # Prompts are cut at `max_length`.
    check_length(policy, min(longest_prompt(rows, tokenizer), run.max_length) + settings.length)
    # With LoRA the reference is the policy without its small matrices.
    reference = None if run.lora else run.source.load(AutoModelForCausalLM, run.seed)
    value = run.source.load(AutoModel, run.seed)
    if run.lora:
        policy, value = run.lora.wrap(policy), run.lora.wrap(value, "FEATURE_EXTRACTION")
    # What a policy says of an answer is compared with what it said when it gave it: chance must have no part in it.
    both = without_dropout(PolicyAndValue(policy, value))
    trainer = PpoTrainer(run, settings, place, both, reference, tokenizer, rewards, rows)
    try:
        return trainer.train()
    finally:
        trainer.reporter.close()
        trainer.world.leave()
