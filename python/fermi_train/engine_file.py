"""What DeepSpeed's own file says of the optimiser and the schedule, which are the run's and not the engine's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .keys import wrong
from .messages import Refusal, Text

# Its names, in any case; DeepSpeed's Adam decays as AdamW does unless it is told otherwise.
_OPTIMISERS = {"adam": "adamw_torch", "adamw": "adamw_torch", "sgd": "sgd"}
_SCHEDULES = {"WarmupLR": "constant_with_warmup", "WarmupDecayLR": "linear", "WarmupCosineLR": "cosine"}
# What a run obeys, or what only says by which code the same is computed.
_OBEYED = {"lr", "weight_decay", "betas", "eps", "torch_adam", "adam_w_mode", "fused", "foreach"}
# A schedule is as long as the run, whatever the file says of steps in all.
_OF_SCHEDULE = {"warmup_num_steps", "warmup_max_lr", "total_num_steps"}
# The values of others with which they change nothing; further ones are false and 0.
_USUAL = {"bias_correction": True, "warmup_type": "linear", "cos_min_ratio": 0.0001, "last_batch_iteration": -1}


@dataclass(frozen=True)
class EngineFile:
    """Words of the file; none where it has none, or `auto`."""

    optimiser: str | None = None
    rate: float | None = None
    weight_decay: float | None = None
    betas: tuple[float, float] | None = None
    epsilon: float | None = None
    schedule: str | None = None
    warmup_steps: int = 0
    max_grad_norm: float | None = None

    @classmethod
    def of(cls, file: dict[str, Any] | None) -> EngineFile:
        """Takes them; raises what no run of ours would do."""
        found = file or {}
        kind, params = _section(found, "optimizer")
        if kind and kind.lower() not in _OPTIMISERS:
            raise _unknown("optimizer", kind, "Adam, AdamW, SGD")
        _refuse("optimizer", params, _OBEYED)
        name = _OPTIMISERS[kind.lower()] if kind else None
        if name == "adamw_torch" and kind.lower() == "adam" and params.get("adam_w_mode") is False:
            name = "adam"
        plan, planned = _section(found, "scheduler")
        if plan and plan not in _SCHEDULES:
            raise _unknown("scheduler", plan, ", ".join(_SCHEDULES))
        _refuse("scheduler", planned, _OF_SCHEDULE)
        rate, highest = _number("optimizer", params, "lr"), _number("scheduler", planned, "warmup_max_lr")
        return cls(
            name,
            # As in DeepSpeed: the schedule sets the rate of each step.
            rate if highest is None else highest,
            _number("optimizer", params, "weight_decay"),
            _betas(params),
            _number("optimizer", params, "eps"),
            _SCHEDULES[plan] if plan else None,
            int(_number("scheduler", planned, "warmup_num_steps") or 0),
            _number("", found, "gradient_clipping"),
        )


def _section(file: dict[str, Any], name: str) -> tuple[str, dict[str, Any]]:
    section = file.get(name)
    if not isinstance(section, dict):
        return "", {}
    params = section.get("params")
    given = params if isinstance(params, dict) else {}
    return str(section.get("type") or ""), {key: value for key, value in given.items() if value not in ("auto", None)}


def _refuse(section: str, params: dict[str, Any], obeyed: set[str]) -> None:
    for key, value in params.items():
        usual = _USUAL.get(key, False)
        if key not in obeyed and value != usual and (value or usual is True):
            raise _without_effect(f"{section}.params.{key}")


def _number(section: str, params: dict[str, Any], name: str) -> float | None:
    value = params.get(name)
    if value in ("auto", None):
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
        path = f"{section}.params.{name}" if section else name
        raise wrong(f"DeepSpeed {path}", value, Text("不小于 0 的数", "a number from 0"))
    return float(value)


def _betas(params: dict[str, Any]) -> tuple[float, float] | None:
    given = params.get("betas")
    if given is None:
        return None
    if not isinstance(given, list) or len(given) != 2 or not all(_is_share(one) for one in given):
        wanted = Text("两个不小于 0 且小于 1 的数", "two numbers from 0 to below 1")
        raise wrong("DeepSpeed optimizer.params.betas", given, wanted)
    return float(given[0]), float(given[1])


def _is_share(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1


def _unknown(section: str, kind: str, known: str) -> Refusal:
    return Refusal(
        Text(
            f"DeepSpeed 的 JSON 中 {section}.type 是 {kind}，而配方只支持 {known}",
            f"{section}.type of DeepSpeed's JSON is {kind}, but recipes take {known} alone",
        ),
        Text(
            f"请更换，或从 JSON 中删除 {section}，改用 training.yaml 的 training.optim 和 lr_scheduler_type",
            f"take another one, or remove {section} from the JSON and give training.optim and lr_scheduler_type in training.yaml",
        ),
    )


def _without_effect(path: str) -> Refusal:
    return Refusal(
        Text(f"DeepSpeed 的 JSON 中的 {path} 不起作用", f"{path} of DeepSpeed's JSON would have no effect"),
        Text(
            "优化器和学习率计划由配方执行；请从 JSON 中删除它",
            "optimiser and schedule are the recipe's own; remove it from the JSON",
        ),
    )
