"""What each recipe takes from the file. Nothing here needs torch: a launcher asks before any rank starts."""

from __future__ import annotations

from typing import Any

from ..keys import Keys, wrong
from ..messages import Refusal, Text
from ..reading import File
from ..settings import Run, run_of, source_of
from .ppo.settings import LEAST_CHANCE, Ppo

# Arguments for the configuration of one of TRL's trainers.
Arguments = dict[str, Any]
# The losses of TRL that need nothing which has no key here.
LOSSES = {
    "dpo": [
        "sigmoid",
        "hinge",
        "ipo",
        "exo_pair",
        "nca_pair",
        "robust",
        "bco_pair",
        "sppo_hard",
        "aot",
        "aot_unpaired",
        "apo_zero",
        "apo_down",
        "discopop",
        "sft",
        "sigmoid_norm",
    ],
    "grpo": ["grpo", "bnpo", "dr_grpo", "dapo", "cispo", "sapo", "vespo"],
}
# Of them those that read `label_smoothing`, and those that have a clip of their own, or no reference.
_SMOOTHED, _UNCLIPPED, _WITHOUT_BETA = {"exo_pair", "robust", "aot", "aot_unpaired"}, {"sapo", "vespo"}, {"sft"}


def check(file: File, ranks: int) -> Run:
    """Takes all keys as the recipe of this file will; raises what it would refuse."""
    match file.algorithm:
        case "sft":
            return sft(file)
        case "reward":
            return reward(file)[0]
        case "dpo":
            return dpo(file)[0]
        case "grpo":
            return grpo(file, ranks)[0]
        case _:
            return ppo(file)[0]


def sft(file: File) -> Run:
    """Takes what SFT obeys."""
    run = run_of(file, source_of(file.keys))
    file.keys.refuse_left("sft", run.strategy)
    return run


def reward(file: File) -> tuple[Run, Arguments]:
    """Takes what a reward model obeys."""
    run = run_of(file, source_of(file.keys))
    own: Arguments = {"center_rewards_coefficient": file.keys.number("recipe.center_rewards", 0.0) or None}
    return _by_trl(file, run), own


def dpo(file: File) -> tuple[Run, Arguments]:
    """Takes what DPO obeys."""
    keys = file.keys
    run = run_of(file, source_of(keys))
    losses, smoothing = _losses(keys, "dpo", "sigmoid"), keys.number("recipe.label_smoothing", 0.0, most=0.5)
    # TRL divides by one minus twice the first, and takes the logarithm of the second.
    if ("robust" in losses and smoothing == 0.5) or ("exo_pair" in losses and smoothing == 0.0):
        wanted = Text("小于 0.5 的数", "a number below 0.5") if smoothing else Text("大于 0 的数", "a number above 0")
        raise wrong("recipe.label_smoothing", smoothing, wanted)
    if smoothing and not _SMOOTHED.intersection(losses):
        raise _unobeyed("recipe.label_smoothing", "dpo", losses)
    if _WITHOUT_BETA.issuperset(losses) and keys.take("recipe.beta") is not None:
        raise _unobeyed("recipe.beta", "dpo", losses)
    own: Arguments = {"beta": keys.number("recipe.beta", 0.1), "loss_type": losses, "label_smoothing": smoothing}
    return _by_trl(file, run), own


def grpo(file: File, ranks: int) -> tuple[Run, Arguments, tuple[str, ...]]:
    """Takes what GRPO obeys, and the names of its rewards."""
    keys = file.keys
    run = run_of(file, source_of(keys))
    names = _rewards(keys)
    own: Arguments = {
        "num_generations": keys.count("recipe.num_generations", 8, least=2),
        "max_completion_length": keys.count("recipe.max_completion_length", 256),
        "temperature": keys.number("recipe.temperature", 1.0, least=LEAST_CHANCE),
        "top_p": keys.number("recipe.top_p", 1.0, least=LEAST_CHANCE, most=1.0),
        "beta": keys.number("recipe.beta", 0.0),
        "epsilon": keys.number("recipe.epsilon", 0.2),
        "num_iterations": keys.count("recipe.num_iterations", 1),
        "loss_type": _one_loss(keys),
        "scale_rewards": keys.word("recipe.scale_rewards", "group", ("group", "batch", "none")),
    }
    if own["loss_type"] in _UNCLIPPED and keys.take("recipe.epsilon") is not None:
        raise _unobeyed("recipe.epsilon", "grpo", [own["loss_type"]])
    _by_trl(file, run)
    _check_group(run, ranks, own["num_generations"])
    return run, own, names


def ppo(file: File) -> tuple[Run, Ppo, tuple[str, ...]]:
    """Takes what PPO obeys, and the names of its rewards."""
    keys = file.keys
    run = run_of(file, source_of(keys))
    own, names = Ppo.of(keys), _rewards(keys)
    keys.refuse_left("ppo", run.strategy)
    if run.strategy not in ("ddp", "single"):
        raise Refusal(
            Text(
                f"算法 ppo 不支持 distributed_strategy: {run.strategy}",
                f"the algorithm ppo does not obey distributed_strategy: {run.strategy}",
            ),
            Text("请使用 ddp，可配合 lora", "train by ddp, with lora if need be"),
        )
    if own.minibatches > (answers := run.micro * run.accumulation):
        wanted = Text(
            f"至多为 {answers} 的整数（每个进程一步的回答数）",
            f"a whole number of at most {answers}, the answers of a rank in one step",
        )
        raise wrong("recipe.minibatches", own.minibatches, wanted)
    # Prompts are short and answers are made, not loaded; every step has a full batch, of a small set asked several times over.
    unused = {
        "training.eval_strategy": run.evaluation.strategy != "no",
        "data.eval_share": run.data.eval_share > 0,
        "recipe.dynamic_batch": run.dynamic_batch,
        "training.dataloader_num_workers": run.loader.workers > 0,
        "training.dataloader_pin_memory": keys.take("training.dataloader_pin_memory") is not None,
        "training.dataloader_drop_last": keys.take("training.dataloader_drop_last") is not None,
        # Answers are judged by what the policy said when it gave them.
        "lora.dropout": run.lora is not None and run.lora.dropout > 0,
    }
    for key, is_given in unused.items():
        if is_given:
            raise _unobeyed(key, "ppo")
    return run, own, names


def _rewards(keys: Keys) -> tuple[str, ...]:
    """Takes the rewards that the file names; their sum counts."""
    names = keys.words("recipe.reward")
    if not names:
        raise Refusal(
            Text("没有指定奖励", "there is no reward"),
            Text("请填写 recipe: {reward: exact} 或 模块:函数", "give recipe: {reward: exact}, or module:function"),
        )
    return names


def _losses(keys: Keys, algorithm: str, usual: str) -> list[str]:
    given, known = list(keys.words("recipe.loss_type", [usual])), ", ".join(LOSSES[algorithm])
    for word in given:
        if word not in LOSSES[algorithm]:
            raise wrong("recipe.loss_type", word, Text(f"以下之一：{known}", f"one of {known}"))
    if not given:
        raise wrong("recipe.loss_type", given, Text(f"以下之一：{known}", f"one of {known}"))
    return given


def _one_loss(keys: Keys) -> str:
    given = _losses(keys, "grpo", "dapo")
    if len(given) != 1:
        raise wrong("recipe.loss_type", given, Text("一个文本", "one text"))
    return given[0]


def _by_trl(file: File, run: Run) -> Run:
    """Refuses what TRL's trainers would not do: they shard on GPUs alone, and do not say so elsewhere."""
    file.keys.refuse_left(run.algorithm, run.strategy)
    if run.dynamic_batch or run.ddp.hook or run.ddp.gradient_as_bucket_view:
        key = "recipe.dynamic_batch" if run.dynamic_batch else "recipe.ddp_comm_hook"
        key = "training.gradient_as_bucket_view" if run.ddp.gradient_as_bucket_view else key
        raise _unobeyed(key, run.algorithm)
    if run.optimiser.name == "adam":
        raise _unobeyed("training.optim: adam", run.algorithm)
    if run.strategy in ("fsdp", "deepspeed"):
        raise Refusal(
            Text(
                f"算法 {run.algorithm} 不支持策略 {run.strategy}",
                f"the algorithm {run.algorithm} does not train by the strategy {run.strategy}",
            ),
            Text(
                "请使用 distributed_strategy: ddp，并可配合 lora",
                "give distributed_strategy: ddp, with lora if need be",
            ),
        )
    return run


def _unobeyed(key: str, algorithm: str, losses: list[str] | None = None) -> Refusal:
    loss = ", ".join(losses or ())
    loss_zh, loss = (f"（loss_type {loss}）", f" and loss_type {loss}") if loss else (" ", "")
    return Refusal(
        Text(
            f"{key} 对算法 {algorithm}{loss_zh}不起作用", f"{key} would have no effect with algorithm {algorithm}{loss}"
        ),
        Text("请删除该键", "remove it"),
    )


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
