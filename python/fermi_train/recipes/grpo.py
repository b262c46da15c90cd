"""GRPO: answers of the model compete with each other; those above their group's mean reward become likelier."""

from __future__ import annotations

from typing import Any

from ..environment import Place
from ..keys import Keys
from ..messages import Refusal, Text
from ..models.sources import check_vocabulary
from ..reading import File
from ..rewards.named import Reward, reward_of
from ..settings import Run, run_of, source_of
from .with_trl import check_strategy, rows_of, run_trl, whole_checkpoints


def train(file: File, place: Place) -> int:
    """Trains; gives the exit code."""
    from datasets import Dataset
    from transformers import AutoModelForCausalLM
    from trl import GRPOConfig, GRPOTrainer

    keys = file.keys
    run = run_of(file, source_of(keys))
    rewards = rewards_of(keys)
    own: dict[str, Any] = {
        "num_generations": keys.count("recipe.num_generations", 8, least=2),
        "max_completion_length": keys.count("recipe.max_completion_length", 256),
        "temperature": keys.number("recipe.temperature", 1.0),
        "top_p": keys.number("recipe.top_p", 1.0, most=1.0),
        "beta": keys.number("recipe.beta", 0.0),
        "epsilon": keys.number("recipe.epsilon", 0.2),
        "num_iterations": keys.count("recipe.num_iterations", 1),
        "loss_type": keys.word("recipe.loss_type", "dapo"),
        "scale_rewards": keys.word("recipe.scale_rewards", "group", ("group", "batch", "none")),
    }
    keys.refuse_left("grpo", run.strategy)
    check_strategy(run)
    _check_group(run, place.ranks, own["num_generations"])
    tokenizer = run.source.tokenizer()
    rows = rows_of(run, tokenizer)
    model = run.source.load(AutoModelForCausalLM, run.seed)
    check_vocabulary(model, tokenizer)

    def make(arguments: dict[str, Any], callbacks: list[Any]) -> Any:
        return whole_checkpoints(GRPOTrainer)(
            model=model,
            reward_funcs=rewards,
            args=GRPOConfig(**arguments, **own, disable_dropout=True, use_vllm=False),
            train_dataset=Dataset.from_list(rows.train),
            eval_dataset=Dataset.from_list(rows.evaluation) if rows.evaluation else None,
            processing_class=tokenizer,
            peft_config=run.lora.peft_config("CAUSAL_LM") if run.lora else None,
            callbacks=callbacks,
        )

    return run_trl(run, place, make, rows, tokenizer)


def rewards_of(keys: Keys) -> list[Reward]:
    """Takes the rewards that the file names; their sum counts."""
    names = keys.words("recipe.reward")
    if not names:
        raise Refusal(
            Text("没有指定奖励", "there is no reward"),
            Text("请填写 recipe: {reward: exact} 或 模块:函数", "give recipe: {reward: exact}, or module:function"),
        )
    return [reward_of(name) for name in names]


def _check_group(run: Run, ranks: int, generations: int) -> None:
    effective = run.micro * run.accumulation * ranks
    if effective % generations:
        raise Refusal(
            Text(
                f"有效批次 {effective} 不能被 num_generations {generations} 整除",
                f"the effective batch {effective} cannot be divided by num_generations {generations}",
            ),
            Text(
                "请调整 per_device_train_batch_size、gradient_accumulation_steps 或 recipe.num_generations",
                "change per_device_train_batch_size, gradient_accumulation_steps or recipe.num_generations",
            ),
        )
