"""The recipe, from top to bottom."""

from __future__ import annotations

from ...environment import Place
from ...messages import Refusal, Text
from ...models.sources import check_vocabulary
from ...reading import File
from ...settings import run_of, source_of
from ..grpo import rewards_of
from ..with_trl import rows_of
from .settings import Ppo
from .trainer import PpoTrainer
from .value import PolicyAndValue


def train(file: File, place: Place) -> int:
    """Trains; gives the exit code."""
    from transformers import AutoModel, AutoModelForCausalLM

    keys = file.keys
    run = run_of(file, source_of(keys))
    settings, rewards = Ppo.of(keys), rewards_of(keys)
    keys.refuse_left("ppo", run.strategy)
    if run.strategy not in ("ddp", "single") or run.dynamic_batch or run.evaluation.strategy != "no":
        what = "training.eval_strategy" if run.evaluation.strategy != "no" else "recipe.dynamic_batch"
        what = what if run.strategy in ("ddp", "single") else f"distributed_strategy: {run.strategy}"
        raise Refusal(
            Text(f"算法 ppo 不支持 {what}", f"the algorithm ppo does not obey {what}"),
            Text("请使用 ddp，可配合 lora", "train by ddp, with lora if need be"),
        )
    tokenizer = run.source.tokenizer()
    rows = rows_of(run, tokenizer)
    policy = run.source.load(AutoModelForCausalLM, run.seed)
    check_vocabulary(policy, tokenizer)
    # With LoRA the reference is the policy without its small matrices.
    reference = None if run.lora else run.source.load(AutoModelForCausalLM, run.seed)
    trained = run.lora.wrap(policy) if run.lora else policy
    value = run.source.load(AutoModel, run.seed)
    trainer = PpoTrainer(run, settings, place, PolicyAndValue(trained, value), reference, tokenizer, rewards, rows)
    try:
        return trainer.train()
    finally:
        trainer.world.leave()
