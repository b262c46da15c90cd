"""What RM, DPO and GRPO share: TRL's trainers with our settings, checkpoints, reports and end."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from transformers import PrinterCallback, TrainerCallback

from ..batch.schedule import warmup_steps
from ..checkpoints.beginning import begun
from ..checkpoints.stop import Stop
from ..checkpoints.store import Checkpoint, Note, Store, check_batch, check_fits, check_shared, model_of
from ..data.checked import samples_of
from ..data.fingerprint import check_everywhere, fingerprint
from ..data.order import Position
from ..data.request import Request, request_of
from ..data.templates import give_template
from ..data.tokenising import is_eval
from ..environment import Place
from ..folders import replaced
from ..messages import Refusal, Text
from ..report import logs
from ..report.reporter import Reporter, StepReport
from ..settings import Run, check_set_aside
from ..strategies.world import World

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


@dataclass
class Rows:
    """Checked rows: those to train on, those set aside, and a name for all of them."""

    train: list[dict[str, Any]]
    evaluation: list[dict[str, Any]] | None
    fingerprint: str
    # A name for those set aside; that of all where they are a share of them.
    evaluated: str = ""


def rows_of(run: Run, tokenizer: PreTrainedTokenizerBase) -> Rows:
    """Reads and checks the data; a share of it is set aside by the rows' own bytes."""
    data = run.data
    request = request_of(
        data.train, run.algorithm, data.format, run.max_length, data.eval_share, run.seed, data.skip_bad
    )
    rows = [shaped(row, run.algorithm) for row in samples_of(request)[1]]
    aside: list[dict[str, Any]] | None = None
    mark = evaluated = fingerprint(request, tokenizer)
    if data.evaluation:
        other = _of_files(request, data.evaluation)
        aside, evaluated = [shaped(row, run.algorithm) for row in samples_of(other)[1]], fingerprint(other, tokenizer)
    elif data.eval_share:
        drawn = [is_eval(repr(row).encode(), run.seed, data.eval_share) for row in rows]
        aside = [row for row, side in zip(rows, drawn, strict=True) if side]
        rows = [row for row, side in zip(rows, drawn, strict=True) if not side]
    check_set_aside(run, len(aside or ()))
    return Rows(rows, aside, mark, evaluated)


def shaped(row: dict[str, Any], algorithm: str) -> dict[str, Any]:
    """Gives a row as TRL has it; for answers by the model only the prompt counts, the known answer is a column."""
    if algorithm in ("reward", "dpo"):
        return row
    if "messages" in row:
        return {"prompt": row["messages"][:-1], "answer": row["messages"][-1]["content"]}
    if "completion" in row:
        return {"prompt": row["prompt"], "answer": row["completion"]}
    return row


def _of_files(request: Request, paths: tuple[str, ...]) -> Request:
    return request_of(paths, request.algorithm, request.format, request.max_length)


def arguments_of(run: Run, samples: int, ranks: int) -> dict[str, Any]:
    """Gives transformers' arguments, every default that TRL changes written out."""
    optimiser, gpus = run.optimiser, torch.cuda.is_available()
    steps = run.max_steps or max(1, int(run.epochs * samples / (run.micro * run.accumulation * ranks)))
    arguments: dict[str, Any] = {
        # It is made when there is none; checkpoints go where `Store` puts them.
        "output_dir": str(run.folder),
        "per_device_train_batch_size": run.micro,
        "per_device_eval_batch_size": run.evaluation.micro,
        "gradient_accumulation_steps": run.accumulation,
        "learning_rate": optimiser.rate,
        "lr_scheduler_type": optimiser.schedule,
        "warmup_steps": warmup_steps(optimiser.warmup_steps, optimiser.warmup_ratio, steps),
        "weight_decay": optimiser.weight_decay,
        "adam_beta1": optimiser.betas[0],
        "adam_beta2": optimiser.betas[1],
        "adam_epsilon": optimiser.epsilon,
        "optim": "adamw_torch" if optimiser.name == "adamw" else optimiser.name,
        "max_grad_norm": optimiser.max_grad_norm,
        "num_train_epochs": run.epochs,
        "max_steps": run.max_steps or -1,
        "logging_steps": 1,
        "save_strategy": run.saving.strategy,
        "save_steps": run.saving.steps,
        "eval_strategy": run.evaluation.strategy,
        "eval_steps": run.evaluation.steps,
        "bf16": run.precision == "bf16",
        "fp16": run.precision == "fp16",
        "fp16_full_eval": run.evaluation.in_fp16,
        "gradient_checkpointing": run.gradient_checkpointing,
        "gradient_checkpointing_kwargs": {"use_reentrant": False},
        "seed": run.seed,
        "data_seed": run.seed,
        "dataloader_num_workers": run.loader.workers,
        "dataloader_pin_memory": run.loader.pin_memory and gpus,
        "dataloader_prefetch_factor": run.loader.prefetch,
        "dataloader_drop_last": run.drop_last,
        "ddp_bucket_cap_mb": run.ddp.bucket_cap_mb,
        "ddp_find_unused_parameters": run.ddp.find_unused,
        "ddp_broadcast_buffers": run.ddp.broadcast_buffers,
        "report_to": "none",
        "disable_tqdm": True,
        "use_cpu": not gpus,
    }
    if ranks > 1:
        arguments["ddp_backend"] = run.backend
    return arguments


class Told(TrainerCallback):
    """Reports steps, and lets all ranks end together after a checkpoint."""

    def __init__(self, run: Run, world: World, reporter: Reporter, stop: Stop) -> None:
        """Keeps whom to tell."""
        self._run, self._world, self._reporter, self._stop = run, world, reporter, stop
        self._began = time.monotonic()
        self._tokens = 0.0
        self.ended = 0

    def on_step_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Starts the clock of a step."""
        self._began = time.monotonic()

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Agrees on what was asked of any rank."""
        ends, saves = self._world.sum(*self._stop.take())
        if ends or saves:
            control.should_save = self._run.saving.strategy != "no" or bool(saves)
        if ends:
            self.ended = self._stop.signal or 15
            control.should_training_stop = True

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, Any] | None = None, **_: Any) -> None:
        """Tells the numbers of a step; TRL has them under names of its own."""
        numbers = {name: float(value) for name, value in (logs or {}).items() if isinstance(value, int | float)}
        if "loss" not in numbers:
            if any(name.startswith("eval_") for name in numbers):
                self._reporter.evaluated(state.global_step, numbers)
            return
        seconds = max(time.monotonic() - self._began, 1e-9)
        samples = self._run.micro * self._run.accumulation * self._world.ranks
        loss, rate = numbers.pop("loss"), numbers.pop("learning_rate", 0.0)
        norm, epoch = numbers.pop("grad_norm", float("nan")), numbers.pop("epoch", 0.0)
        tokens = numbers.pop("num_tokens", 0.0)
        before, self._tokens = self._tokens, tokens
        self._reporter.step(
            StepReport(
                state.global_step, state.max_steps, epoch, loss, rate, norm, tokens - before, samples, seconds, numbers
            )
        )


def whole_checkpoints(kind: type[Any]) -> type[Any]:
    """Gives a trainer of TRL's that saves through our `Store`: whole or absent, noted, pruned."""

    class Whole(kind):
        store: Store
        note: Callable[[int, float], Note]

        def _save_checkpoint(self, model: Any, trial: Any) -> None:
            usual = self.args.output_dir

            def write(folder: Path) -> None:
                self.args.output_dir = str(folder)
                try:
                    super(Whole, self)._save_checkpoint(model, trial)
                finally:
                    self.args.output_dir = usual

            self.store.save(self.note(self.state.global_step, self.state.epoch or 0.0), write)

    Whole.__name__ = kind.__name__
    return Whole


def run_trl(
    run: Run,
    place: Place,
    make: Callable[[dict[str, Any], dict[str, Any]], Any],
    rows: Rows,
    tokenizer: PreTrainedTokenizerBase,
) -> int:
    """Trains by the trainer that `make` makes of its arguments and of what every trainer is given; gives the exit code.

    It goes on from the checkpoint that the run names.
    """
    from datasets import Dataset
    from datasets.utils import disable_progress_bars

    if not (place.is_first and sys.stderr.isatty()):
        disable_progress_bars()
    # transformers writes a model on rank 0, and the other nodes would find none in their folders.
    why = Text(
        f"算法 {run.algorithm} 的检查点只由 rank 0 写入", f"checkpoints of {run.algorithm} are written by rank 0 alone"
    )
    check_shared(run, place, why, Text("填写 training.save_strategy: no", "give training.save_strategy: no"))
    give_template(tokenizer)
    world = World(place, run.backend, alone=run.strategy == "single")
    reporter, stop = Reporter(run, place), Stop(place.checkpoint_signal)
    told = Told(run, world, reporter, stop)
    # Before accelerate would: its own group has no way for words between CPUs where there are GPUs.
    world.join(False)
    check_everywhere(world.gathered(rows.fingerprint))
    given = {
        "train_dataset": Dataset.from_list(rows.train),
        "eval_dataset": Dataset.from_list(rows.evaluation) if rows.evaluation else None,
        "processing_class": tokenizer,
        "callbacks": [told],
    }
    trainer = make(arguments_of(run, len(rows.train), world.ranks), given)
    # Its lines would stand beside those of `Told`.
    trainer.remove_callback(PrinterCallback)
    _check_samples(len(trainer.train_dataset), len(rows.train), run.max_length)
    # TRL leaves out those that are too long here as well.
    check_set_aside(run, len(trainer.eval_dataset or ()))
    if not len(trainer.get_train_dataloader()):
        raise _no_batch(len(trainer.train_dataset))
    named = model_of(trainer.model)
    trainer.store, resumes_from = begun(run, place, world.barrier)
    if resumes_from is not None:
        check_fits(resumes_from, run, rows.fingerprint, model=named)
        check_batch(resumes_from, run.effective)
    trainer.note = lambda step, epoch: Note.of(
        run, step, Position(int(epoch)), world.ranks, run.effective, rows.fingerprint, model=named
    )
    try:
        trainer.train(resume_from_checkpoint=_inside(resumes_from))
        if not told.ended and place.is_first:
            path = run.folder / "model"
            with replaced(path) as draft:
                trainer.save_model(str(draft))
                tokenizer.save_pretrained(draft)
            logs.training().info("%s", Text(f"训练完成，模型在 {path}", f"done; the model is in {path}"))
        world.barrier()
    finally:
        stop.close()
        reporter.close()
    return 128 + told.ended if told.ended else 0


def _check_samples(kept: int, given: int, longest: int) -> None:
    """Says how many samples TRL leaves out for their length; without any that is left there is nothing to train on."""
    left = Text(
        f"{given} 个样本中有 {given - kept} 个超过 max_length {longest}",
        f"{given - kept} of {given} samples are longer than the max_length of {longest}",
    )
    if not kept:
        raise Refusal(left, Text("请增大 model.max_length", "raise model.max_length"))
    if kept < given:
        text = Text(f"{left.zh}，不参与训练", f"{left.en}, and are left out")
        logs.training().warning("%s", text)


def _no_batch(samples: int) -> Refusal:
    """Says that nothing would be trained: GRPO needs its prompts for a whole step, `drop_last` a full batch on every rank."""
    return Refusal(
        Text(
            f"{samples} 个样本不足一批，没有一步可训练",
            f"{samples} samples fill no batch, so there is no step to train",
        ),
        Text(
            "请减小批次或增加数据；grpo 也可增大 recipe.num_generations，其他算法可删除 training.dataloader_drop_last",
            "take a smaller batch or more data; for grpo also a larger recipe.num_generations, "
            "for others remove training.dataloader_drop_last",
        ),
    )


def _inside(checkpoint: Checkpoint | None) -> str | None:
    """Gives the folder that transformers wrote within a checkpoint."""
    if checkpoint is None:
        return None
    return str(checkpoint.state / f"checkpoint-{checkpoint.note.step}")
