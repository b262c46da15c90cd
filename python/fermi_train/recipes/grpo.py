"""GRPO: answers of the model compete with each other; those above their group's mean reward become likelier."""

from __future__ import annotations

from typing import Any

from ..environment import Place
from ..models.dropout import without_dropout
from ..models.sources import check_length, check_vocabulary
from ..reading import File
from ..rewards.named import reward_of
from . import obeyed
from .prompts import check_prompts, longest_prompt
from .with_trl import rows_of, run_trl, whole_checkpoints


def train(file: File, place: Place) -> int:
    """Trains; gives the exit code."""
    from transformers import AutoModelForCausalLM
    from trl import GRPOConfig, GRPOTrainer

    run, own, names = obeyed.grpo(file, place.ranks)
    rewards = [reward_of(name) for name in names]
    tokenizer = run.source.tokenizer()
    rows = rows_of(run, tokenizer)
    longest = longest_prompt(rows, tokenizer)
    check_prompts(longest, run.max_length)
    model = run.source.load(AutoModelForCausalLM, run.seed)
    check_vocabulary(model, tokenizer)
    check_length(model, longest + own["max_completion_length"])

    def make(arguments: dict[str, Any], given: dict[str, Any]) -> Any:
        return whole_checkpoints(GRPOTrainer)(
            model=without_dropout(model),
            reward_funcs=rewards,
            args=GRPOConfig(**arguments, **own, disable_dropout=True, use_vllm=False),
            peft_config=run.lora.peft_config("CAUSAL_LM") if run.lora else None,
            **given,
        )

    return run_trl(run, place, make, rows, tokenizer)
