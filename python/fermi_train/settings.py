"""What a run obeys, taken from the file key by key."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import environment
from .batch.schedule import SCHEDULES
from .data.settings import Data, LoaderSettings
from .engine_file import EngineFile
from .keys import Keys, check_most, wrong
from .messages import Refusal, Text
from .models.lora import Lora
from .models.sources import Source
from .reading import File

USUAL_RATE = {"sft": 5e-5, "reward": 1e-5, "dpo": 1e-6, "grpo": 1e-6, "ppo": 1e-5}
# As torch has it.
USUAL_BUCKET_MB = 25
OPTIMISERS = ("adamw_torch", "adamw_torch_fused", "adamw", "adam", "sgd")
TRACKERS = ("tensorboard", "wandb")
# What NumPy takes, which transformers seeds too.
MOST_SEED = (1 << 32) - 1
# More is a slip of the hand: each loader is a process, and each epoch a pass over all data.
_MOST_LOADERS, _MOST_EPOCHS = 512, 1e6
# Likewise: samples of a rank in one pass, and passes before an update.
_MOST_SAMPLES, _MOST_PASSES = 1 << 16, 1 << 16


@dataclass(frozen=True)
class Optimiser:
    """How parameters are changed."""

    name: str
    rate: float
    weight_decay: float
    betas: tuple[float, float]
    epsilon: float
    max_grad_norm: float
    schedule: str
    warmup_steps: int
    warmup_ratio: float


@dataclass(frozen=True)
class Saving:
    """When checkpoints are saved, how many are kept, and what a run goes on from."""

    strategy: str
    steps: int
    limit: int | None
    resume: str | None


@dataclass(frozen=True)
class Evaluation:
    """When the model is evaluated."""

    strategy: str
    steps: int
    micro: int
    in_fp16: bool


@dataclass(frozen=True)
class Ddp:
    """What DistributedDataParallel is given."""

    bucket_cap_mb: int
    find_unused: bool
    broadcast_buffers: bool
    gradient_as_bucket_view: bool
    hook: str | None


@dataclass(frozen=True)
class Fsdp:
    """How FSDP2 divides the model."""

    sharding: str
    layers: tuple[str, ...]
    min_params: int | None
    offload: bool


@dataclass(frozen=True)
class Run:
    """Everything of one run."""

    algorithm: str
    source: Source
    max_length: int
    data: Data
    strategy: str
    stage: int | None
    backend: str
    precision: str
    micro: int
    accumulation: int
    dynamic_batch: bool
    # Where the search for the micro-batch begins.
    dynamic_from: int | None
    epochs: float
    max_steps: int | None
    optimiser: Optimiser
    loader: LoaderSettings
    drop_last: bool
    gradient_checkpointing: bool
    lora: Lora | None
    saving: Saving
    evaluation: Evaluation
    log_steps: int
    trackers: tuple[str, ...]
    seed: int
    name: str
    folder: Path
    ddp: Ddp
    fsdp: Fsdp
    deepspeed: dict[str, Any]
    warnings: tuple[str, ...]

    @property
    def effective(self) -> int:
        """Counts the samples of one update, over all ranks of this launch."""
        return self.micro * self.accumulation * environment.place_here().ranks


def source_of(keys: Keys) -> Source:
    """Takes the model's name; the model that a task chose wins over the file's."""
    named = keys.word("model.name_or_path")
    name = environment.model_path() or named
    if not name:
        raise Refusal(
            Text("没有指定模型", "there is no model"),
            Text("请填写 model.name_or_path", "give model.name_or_path"),
        )
    source = Source(name)
    source.check_there()
    return source


def run_of(file: File, source: Source) -> Run:
    """Takes what every recipe obeys; what a recipe has of its own it takes before `Keys.refuse_left`."""
    keys, settings = file.keys, file.settings
    seed = keys.count("training.seed", 42, least=0, most=MOST_SEED)
    name, folder = _folder(file)
    if keys.word("training.fp16_opt_level", "O1") != "O1":
        level = keys.word("training.fp16_opt_level")
        raise wrong(
            "training.fp16_opt_level", level, Text("O1（即 torch 的自动混合精度）", "O1, which is torch's autocast")
        )
    micro, max_steps = settings.batch.micro, keys.take("training.max_steps")
    check_most("training.per_device_train_batch_size", micro, _MOST_SAMPLES)
    check_most("training.gradient_accumulation_steps", settings.batch.accumulation, _MOST_PASSES)
    data, workers = Data.of(keys, file.algorithm), keys.count("training.dataloader_num_workers", 0, 0, _MOST_LOADERS)
    return Run(
        algorithm=file.algorithm,
        source=source,
        max_length=_max_length(keys),
        data=data,
        strategy=settings.strategy,
        stage=settings.stage,
        backend=settings.backend,
        precision=settings.precision,
        micro=micro,
        accumulation=settings.batch.accumulation,
        dynamic_batch=(dynamic := keys.flag("recipe.dynamic_batch", False)),
        # Without a search it would have no effect, and is refused.
        dynamic_from=keys.take("recipe.dynamic_batch_from") if dynamic else None,
        # Steps win over epochs: with both, the epochs are left, and refused.
        epochs=1.0 if max_steps else _epochs(keys),
        max_steps=max_steps,
        optimiser=_optimiser(keys, file, USUAL_RATE[file.algorithm]),
        loader=LoaderSettings(
            workers,
            keys.flag("training.dataloader_pin_memory", True),
            keys.take("training.dataloader_prefetch_factor") if workers else None,
        ),
        drop_last=keys.flag("training.dataloader_drop_last", False),
        gradient_checkpointing=keys.flag("training.gradient_checkpointing", False),
        lora=Lora.of(keys),
        saving=_saving(keys),
        evaluation=_evaluation(keys, data, micro),
        log_steps=keys.count("training.logging_steps", 10),
        trackers=_trackers(keys),
        seed=seed,
        name=name,
        folder=folder,
        ddp=_ddp(keys, settings.strategy),
        fsdp=_fsdp(keys, settings.strategy),
        deepspeed=dict(file.deepspeed_json or {}) if settings.strategy == "deepspeed" else {},
        warnings=tuple(settings.warnings),
    )


def _folder(file: File) -> tuple[str, Path]:
    """Gives the experiment's name and its folder: `outputs/<name>` unless another one is named.

    A launch whose settings these are has a folder for results, which is that of its task or the one that `fermi train`
    made of the same keys; only an absolute path in the file leads elsewhere.
    """
    keys = file.keys
    name, given = keys.word("training.experiment_name"), keys.word("training.output_dir")
    launched = environment.place_here().output_dir
    if file.output is not None:
        folder = file.output
    elif launched is not None and file.is_of_launch and not (given and Path(given).is_absolute()):
        folder = launched
    elif given:
        folder = Path(given) / name if name else Path(given)
    elif name or launched is None:
        folder = Path("outputs") / (name or file.algorithm)
    else:
        folder = launched
    return name or file.algorithm, folder


def _epochs(keys: Keys) -> float:
    epochs = keys.number("training.num_train_epochs", 1.0, most=_MOST_EPOCHS)
    if epochs == 0:
        raise wrong("training.num_train_epochs", 0, Text("大于 0 的数", "a number above 0"))
    return epochs


def _max_length(keys: Keys) -> int:
    one, other = keys.take("training.max_seq_length"), keys.take("model.max_length")
    if one is not None and other is not None and one != other:
        raise Refusal(
            Text(
                f"training.max_seq_length 是 {one}，而 model.max_length 是 {other}",
                f"training.max_seq_length is {one}, but model.max_length is {other}",
            ),
            Text("请保留其中一个", "keep one of them"),
        )
    return int(one or other or 1024)


def _optimiser(keys: Keys, file: File, usual: float) -> Optimiser:
    """Takes the file's words, then those of DeepSpeed's JSON, then the usual ones."""
    engine = EngineFile.of(file.deepspeed_json)
    ratio = keys.number("training.warmup_ratio", 0.0, most=1.0)
    given = file.settings.learning_rate
    return Optimiser(
        str(keys.word("training.optim", engine.optimiser or "adamw_torch", OPTIMISERS)),
        given if given is not None else _first(engine.rate, usual),
        keys.number("training.weight_decay", _first(engine.weight_decay, 0.0)),
        engine.betas or (0.9, 0.999),
        _first(engine.epsilon, 1e-8),
        keys.number("training.max_grad_norm", _first(engine.max_grad_norm, 1.0)),
        str(keys.word("training.lr_scheduler_type", engine.schedule or "linear", SCHEDULES)),
        keys.count("training.warmup_steps", 0 if ratio else engine.warmup_steps, least=0),
        ratio,
    )


def _first(given: float | None, usual: float) -> float:
    return usual if given is None else given


def _evaluation(keys: Keys, data: Data, micro: int) -> Evaluation:
    """Takes what evaluation needs where there is any; without it these keys are refused."""
    strategy = str(keys.word("training.eval_strategy", "no"))
    if strategy != "no" and not data.evaluation and not data.eval_share:
        raise Refusal(
            Text(
                f"training.eval_strategy 是 {strategy}，但没有评估数据",
                f"training.eval_strategy is {strategy}, but there is no data to evaluate on",
            ),
            Text("请填写 data.eval 或 data.eval_share", "give data.eval or data.eval_share"),
        )
    steps = keys.count("training.eval_steps", 500) if strategy == "steps" else 500
    size = keys.count("training.per_device_eval_batch_size", micro, most=_MOST_SAMPLES) if strategy != "no" else micro
    in_fp16 = keys.flag("training.fp16_full_eval", False)
    if strategy == "no" and (data.evaluation or in_fp16):
        key = "data.eval" if data.evaluation else "training.fp16_full_eval"
        raise Refusal(
            Text(
                f"training.eval_strategy 是 no，{key} 不起作用",
                f"{key} would have no effect: training.eval_strategy is no",
            ),
            Text(
                f"请填写 training.eval_strategy: epoch 或 steps，或删除 {key}",
                f"give training.eval_strategy: epoch or steps, or remove {key}",
            ),
        )
    return Evaluation(strategy, steps, size, in_fp16)


def check_set_aside(run: Run, samples: int) -> None:
    """Refuses to evaluate on nothing: a small share of a few rows sets none aside, nor may data that was prepared before."""
    if run.evaluation.strategy != "no" and samples == 0:
        raise Refusal(
            Text(
                f"没有留出任何评估样本，training.eval_strategy: {run.evaluation.strategy} 不起作用",
                f"no sample is set aside, so training.eval_strategy: {run.evaluation.strategy} would have no effect",
            ),
            Text(
                "请增大 data.eval_share（已分词的数据须重新准备），或填写 data.eval",
                "give a larger data.eval_share, and prepare data anew that was prepared before, or give data.eval",
            ),
        )


def _saving(keys: Keys) -> Saving:
    resume = keys.take("training.resume_from_checkpoint")
    resume = "latest" if resume is True else None if resume is False else resume
    strategy = str(keys.word("training.save_strategy", "steps"))
    return Saving(
        strategy,
        keys.count("training.save_steps", 500) if strategy == "steps" else 500,
        keys.take("training.save_total_limit") if strategy != "no" else None,
        resume,
    )


def _trackers(keys: Keys) -> tuple[str, ...]:
    given = tuple(word for word in keys.words("training.report_to") if word != "none")
    if unknown := [word for word in given if word not in TRACKERS]:
        raise wrong("training.report_to", unknown[0], Text("、".join(TRACKERS), ", ".join(TRACKERS)))
    return given


def _ddp(keys: Keys, strategy: str) -> Ddp:
    """Takes the keys of DDP where it trains; under another strategy they are left, and refused."""
    if strategy not in ("ddp", "single"):
        return Ddp(USUAL_BUCKET_MB, False, True, False, None)
    return Ddp(
        keys.count("training.ddp_bucket_cap_mb", USUAL_BUCKET_MB),
        keys.flag("training.find_unused_parameters", False),
        keys.flag("training.ddp_broadcast_buffers", True),
        keys.flag("training.gradient_as_bucket_view", False),
        keys.word("recipe.ddp_comm_hook", None, ("fp16", "bf16", "powersgd")),
    )


def _fsdp(keys: Keys, strategy: str) -> Fsdp:
    if strategy != "fsdp":
        return Fsdp("FULL_SHARD", (), None, False)
    return Fsdp(
        str(keys.word("training.fsdp.sharding_strategy", "FULL_SHARD")),
        keys.words("training.fsdp.transformer_layer_cls_to_wrap"),
        keys.take("training.fsdp.min_num_params"),
        keys.flag("training.fsdp.offload_params", False),
    )
