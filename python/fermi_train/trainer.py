"""The loop: steps, checkpoints, evaluation, and an end that all ranks agree on.

A recipe of one's own extends `BaseTrainer` and is named by `--trainer module:Class`; most change `compute_loss` alone.
"""

from __future__ import annotations

import math
import time
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import torch
import torch.nn.functional as functional
from torch import nn

from .batch.probe import largest
from .batch.schedule import factor, warmup_steps
from .checkpoints.export import export
from .checkpoints.stop import Stop
from .checkpoints.store import Checkpoint, Note, Store, check_fits, chosen, model_of
from .data.arrow import Shards
from .data.fingerprint import check_everywhere
from .data.loading import IGNORED, Collate, NumberedSamples, StepBatch, StepLoader
from .data.order import Order, Position, share
from .environment import Place
from .messages import Refusal, Text
from .models.bytes_tokenizer import token
from .report import logs
from .report.reporter import Reporter, StepReport
from .settings import Run
from .strategies.base import Strategy
from .strategies.choosing import prove, strategy_of

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

Batch = dict[str, torch.Tensor]


class BaseTrainer:
    """Trains a model on samples. All ranks make one and call `train`.

    `model` may be wrapped in DDP by an extending class before `train`; otherwise the strategy wraps it there.
    """

    def __init__(
        self,
        run: Run,
        place: Place,
        model: nn.Module,
        tokenizer: PreTrainedTokenizerBase,
        samples: Shards,
        fingerprint: str,
        evaluation: Shards | None = None,
    ) -> None:
        """Joins the other ranks and brings the model to its device."""
        self.run, self.place = run, place
        self.strategy: Strategy = strategy_of(run, place)
        self.world = self.strategy.world
        self.is_distributed = self.world.ranks > 1
        self.local_rank = place.local_rank
        self.device = self.world.device
        check_everywhere(self.world.gathered(fingerprint))
        self._named = model_of(model)
        self.model: Any = model.to(self.device)
        self.tokenizer, self.samples, self.evaluation = tokenizer, samples, evaluation
        self.fingerprint = fingerprint
        self.reporter = Reporter(run, place)
        self.micro, self.accumulation = run.micro, run.accumulation
        self.order = Order(len(samples), run.micro * run.accumulation * self.world.ranks, run.seed, run.drop_last)
        if run.drop_last and len(samples) < self.order.effective:
            raise _too_few(len(samples), self.order.effective)
        # Which samples this rank trained on in the last step.
        self.trained: list[int] = []
        self._next: StepBatch | None = None

    # What a recipe of one's own may change.

    def weight(self, batch: Batch) -> float:
        """Counts what a micro-batch weighs in the mean of its step: the tokens that are learned."""
        return float((batch["labels"][:, 1:] != IGNORED).sum())

    def compute_loss(self, model: Any, batch: Batch) -> torch.Tensor:
        """Gives the sum of the losses of a micro-batch; the loop divides by the weight of the whole step."""
        logits = model(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"], use_cache=False).logits
        labels = functional.pad(batch["labels"], (0, 1), value=IGNORED)[:, 1:]
        flat = logits.float().flatten(0, 1)
        return functional.cross_entropy(flat, labels.flatten(), ignore_index=IGNORED, reduction="sum")

    def after_step(self, step: int) -> None:
        """Is called after each step, on all ranks."""

    # The loop.

    def train(self) -> int:
        """Trains to the end; gives 0, or 128 and the signal that ended it after a checkpoint."""
        run = self.run
        store, resumes_from = self._checkpoints()
        self._set_up(resumes_from)
        note = resumes_from.note if resumes_from else None
        step, position = (note.step, note.position) if note else (0, Position())
        total = run.max_steps or step + self.order.steps_from(position, run.epochs)
        if total == 0:
            raise _no_step(run.epochs, len(self.samples))
        warmup = warmup_steps(run.optimiser.warmup_steps, run.optimiser.warmup_ratio, total)
        stop = Stop(self.place.checkpoint_signal)
        loader = StepLoader(
            self.samples,
            self.order,
            (self.world.rank, self.world.ranks),
            (self.micro, self.accumulation),
            self._pad(),
            run.loader,
        ).steps(position)
        self.reporter.begin(step, total)
        ended, saved = 0, step
        try:
            while step < total:
                began = time.monotonic()
                torch.manual_seed(_drawn(run.seed, step, self.world.rank))
                rate = run.optimiser.rate * factor(run.optimiser.schedule, step, total, warmup)
                loss, norm, tokens, samples, batch, asked = self._one_step(loader, rate, stop)
                step, epoch_before, position = step + 1, position.epoch, batch.position
                seconds = time.monotonic() - began
                epoch = position.epoch + position.offset / max(self.order.samples, 1)
                self.reporter.step(StepReport(step, total, epoch, loss, rate, norm, tokens, samples, seconds))
                self._check_loss(loss, step)
                if step == (note.step if note else 0) + 1:
                    self._tell_proof()
                self.after_step(step)
                ended, saves_now = asked
                at_end_of_epoch = position.epoch > epoch_before
                due = _is_due(run.saving.strategy, run.saving.steps, step, at_end_of_epoch)
                if due or saves_now or (ended and run.saving.strategy != "no"):
                    self._save(store, step, position, total)
                    saved = step
                self._evaluate_if_due(step, at_end_of_epoch)
                if ended:
                    break
        finally:
            loader.close()
            stop.close()
        if not ended and saved < step and run.saving.strategy != "no":
            self._save(store, step, position, total)
        if not ended:
            folder = export(self.strategy, self.tokenizer, run.folder / "model")
            logs.training().info("%s", Text(f"训练完成，模型在 {folder}", f"done; the model is in {folder}"))
        else:
            logs.training().info("%s", Text(f"收到信号，已在第 {step} 步停止", f"stopped by a signal at step {step}"))
        self.reporter.close()
        self.world.barrier()
        return 128 + ended if ended else 0

    def _one_step(
        self, loader: Any, rate: float, stop: Stop
    ) -> tuple[float, float, float, float, StepBatch, tuple[int, bool]]:
        batch: StepBatch = self._next or next(loader)
        weights = [self.weight(micro) for micro in batch.micro_batches]
        self.trained = [one for micro in batch.micro_batches for one in micro["index"].tolist() if one >= 0]
        tokens = sum(int(micro["attention_mask"].sum()) for micro in batch.micro_batches)
        # One word of all ranks per step: what the step is divided by, and what was asked of any of them.
        weight, samples, tokens, ends, saves = self.world.sum(sum(weights), len(self.trained), tokens, *stop.take())
        self.strategy.set_rate(rate)
        total = torch.zeros((), device=self.device)
        for turn, micro in enumerate(batch.micro_batches):
            is_last = turn == len(batch.micro_batches) - 1
            with self.strategy.micro_batch(is_last):
                loss = self.compute_loss(self.strategy.model, self._on_device(micro)) / max(weight, 1.0)
            self.strategy.backward(loss, is_last)
            total += loss.detach()
        norm = self.strategy.step()
        # Read while the GPU works; what follows waits for it.
        self._next = next(loader)
        mean = self.world.sum(float(total))[0]
        signal = 0 if ends == 0 else 15 if stop.signal == 0 else stop.signal
        return mean, float(norm), tokens, samples, batch, (signal, saves > 0)

    def _set_up(self, resumes_from: Checkpoint | None) -> None:
        if self.run.gradient_checkpointing:
            self._bare().gradient_checkpointing_enable({"use_reentrant": False})
        self.model.train()
        if self.run.dynamic_batch:
            self._fit_batch()
        self.strategy.setup(self.model)
        run = self.run
        logs.training().info(
            "%s",
            Text(
                f"{run.algorithm}：{run.strategy} × {self.world.ranks}，{run.precision}，有效批次 {self.order.effective} = "
                f"{self.micro} × {self.world.ranks} × {self.accumulation}，{len(self.samples)} 个样本",
                f"{run.algorithm}: {run.strategy} x {self.world.ranks}, {run.precision}, effective batch "
                f"{self.order.effective} = {self.micro} x {self.world.ranks} x {self.accumulation}, {len(self.samples)} samples",
            ),
        )
        ranks, backend = self.world.ranks, self.world.backend
        logs.distributed().info("%s", Text(f"{ranks} 个 rank，后端 {backend}", f"{ranks} ranks, backend {backend}"))
        if resumes_from is not None:
            self.reporter.phase(resumes_from.note.step, "restoring")
            self.strategy.load(resumes_from.state)
            logs.training().info(
                "%s",
                Text(
                    f"从第 {resumes_from.note.step} 步继续（{resumes_from.folder}）",
                    f"goes on from step {resumes_from.note.step} ({resumes_from.folder})",
                ),
            )

    def _fit_batch(self) -> None:
        """Finds the largest micro-batch on the longest samples."""
        share_of_rank = self.micro * self.accumulation
        self.micro, self.accumulation = largest(share_of_rank, self.fits, self.world.all_agree)
        self.strategy.micro, self.strategy.accumulation = self.micro, self.accumulation
        logs.training().info("%s", Text(f"微批次定为 {self.micro}", f"the micro-batch is {self.micro}"))

    def fits(self, micro: int) -> bool:
        """Tries forward and backward with so many samples of full length on this rank.

        What is there only from the first step on is held meanwhile: two states of the optimiser for every trained
        parameter, and the buckets in which gradients travel.
        """
        length = min(self.run.max_length, getattr(self._bare().config, "max_position_embeddings", self.run.max_length))
        ids = torch.ones((micro, length), dtype=torch.long, device=self.device)
        batch = {"input_ids": ids, "attention_mask": torch.ones_like(ids), "labels": ids.clone()}
        later = 3 if self.is_distributed else 2
        try:
            held = [
                torch.empty((later, *one.shape), dtype=one.dtype, device=self.device)
                for one in self.model.parameters()
                if one.requires_grad and self.device.type != "cpu"
            ]
            with self.strategy.autocast():
                loss = self.compute_loss(self._bare(), batch)
            loss.backward()
            del held
            return True
        except torch.OutOfMemoryError:
            return False
        finally:
            self.model.zero_grad(set_to_none=True)
            if torch.cuda.is_available():
                torch.cuda.empty_cache()

    def _bare(self) -> Any:
        """Gives the model itself, where an extending class has wrapped it."""
        return getattr(self.model, "module", self.model)

    def _checkpoints(self) -> tuple[Store, Checkpoint | None]:
        """Gives the folder to save in and the checkpoint to go on from.

        The launcher's folder is taken where there is one, because a restart looks there; the experiment's folder then has
        a link to it.
        """
        own = self.run.folder / "checkpoints"
        given = self.place.checkpoint_dir
        folders = [own.resolve()] if own.exists() else []
        folder = own
        if given is not None and given.resolve() != own.resolve():
            folder = given
            folders.append(given)
        resumes_from = chosen(self.run.saving.resume, folders, self.place)
        self.world.barrier()
        if self.place.is_first and folder is not own and (own.is_symlink() or not own.exists()):
            own.unlink(missing_ok=True)
            own.parent.mkdir(parents=True, exist_ok=True)
            own.symlink_to(folder.resolve())
        if resumes_from is not None:
            check_fits(resumes_from, self.run, self.fingerprint, model=self._named)
            if resumes_from.note.effective != self.order.effective:
                before, now = resumes_from.note.effective, self.order.effective
                text = Text(f"有效批次由 {before} 变为 {now}", f"the effective batch was {before} and is {now} now")
                logs.training().warning("%s", text)
        return Store(folder, self.place, self.run.saving.limit, self.world.barrier), resumes_from

    def _save(self, store: Store, step: int, position: Position, total: int) -> None:
        self.reporter.phase(step, "saving")
        began = time.monotonic()
        ranks, effective = self.world.ranks, self.order.effective
        note = Note.of(self.run, step, position, ranks, effective, self.fingerprint, total, model=self._named)
        path = store.save(note, self.strategy.save)
        seconds = time.monotonic() - began
        logs.training().info("%s", Text(f"已保存 {path}（{seconds:.1f} 秒）", f"saved {path} in {seconds:.1f} s"))

    def _evaluate_if_due(self, step: int, at_end_of_epoch: bool) -> None:
        settings = self.run.evaluation
        if self.evaluation is not None and _is_due(settings.strategy, settings.steps, step, at_end_of_epoch):
            self.reporter.evaluated(step, self.evaluate(self.evaluation))

    @torch.no_grad()
    def evaluate(self, samples: Shards) -> dict[str, float]:
        """Gives the mean loss over samples that were not trained on."""
        self.model.eval()
        micro, ranks = self.run.evaluation.micro, self.world.ranks
        collate, loss, weight = Collate(self._pad()), 0.0, 0.0
        numbered = NumberedSamples(samples)
        step = Order(len(samples), len(samples), 0).permutation(0)
        for begin in range(0, len(samples), micro * ranks):
            (indexes,) = share(step[begin : begin + micro * ranks], self.world.rank, ranks, micro, 1)
            batch = collate([numbered[index] for index in indexes])
            with self.strategy.micro_batch(True), self._in_fp16():
                loss += float(self.compute_loss(self.strategy.model, self._on_device(batch)))
            weight += self.weight(batch)
        self.model.train()
        loss, weight = self.world.sum(loss, weight)
        return {"eval_loss": loss / max(weight, 1.0)}

    def _in_fp16(self) -> Any:
        kind = self.device.type
        return torch.autocast(kind, dtype=torch.float16, enabled=True) if self.run.evaluation.in_fp16 else nullcontext()

    def _on_device(self, batch: Batch) -> Batch:
        return {name: value.to(self.device, non_blocking=True) for name, value in batch.items()}

    def _tell_proof(self) -> None:
        held = prove(self.strategy)
        logs.distributed().info("%s", Text(f"各 rank 持有的字节数：{held}", f"bytes held by each rank: {held}"))
        self.held = held

    def _check_loss(self, loss: float, step: int) -> None:
        if not math.isfinite(loss) and self.run.precision != "fp16":
            logs.training().warning("%s", Text(f"第 {step} 步的损失是 {loss}", f"the loss of step {step} is {loss}"))

    def _pad(self) -> int:
        return token(self.tokenizer.pad_token_id)


def _drawn(seed: int, step: int, rank: int) -> int:
    """Gives the seed of dropout in a step: the same after a restart, another on every rank."""
    return (seed * 1_000_003 + step * 8_191 + rank) % (1 << 63)


def _too_few(samples: int, effective: int) -> Refusal:
    return Refusal(
        Text(
            f"只有 {samples} 个样本，少于有效批次 {effective}，而 dataloader_drop_last 会丢弃不满的批次",
            f"there are {samples} samples, fewer than the effective batch of {effective}, "
            "and dataloader_drop_last leaves out a batch that is not full",
        ),
        Text(
            "请删除 training.dataloader_drop_last，或减小批次",
            "remove training.dataloader_drop_last, or take a smaller batch",
        ),
    )


def _no_step(epochs: float, samples: int) -> Refusal:
    return Refusal(
        Text(
            f"{samples} 个样本的 {epochs:g} 个轮次中没有一步可训练",
            f"{epochs:g} epochs of {samples} samples have no step to train",
        ),
        Text("请增大 training.num_train_epochs", "give more by training.num_train_epochs"),
    )


def _is_due(strategy: str, every: int, step: int, at_end_of_epoch: bool) -> bool:
    return (strategy == "steps" and step % every == 0) or (strategy == "epoch" and at_end_of_epoch)
