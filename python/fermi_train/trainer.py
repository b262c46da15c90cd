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

from .batch.probe import grown, is_want_of_memory, largest
from .batch.schedule import factor, warmup_steps
from .between_steps import Saver, check_loss, check_steps, drawn, is_due, tell_end, tell_resumed
from .checkpoints.beginning import begun
from .checkpoints.export import export
from .checkpoints.stop import Stop
from .checkpoints.store import Checkpoint, Note, Store, check_fits, model_of
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
from .strategies.filling import whole_on_device

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

Batch = dict[str, torch.Tensor]


class BaseTrainer:
    """Trains a model on samples. All ranks make one and call `train`.

    `model` may be wrapped in DDP by an extending class before `train`; otherwise the strategy wraps it there. Rank 0 alone
    may have read its weights: the others are given them here, or in `train` by a strategy that divides the model.
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
        """Joins the other ranks, and brings the model to its device where each rank holds the whole."""
        self.run, self.place = run, place
        self.strategy: Strategy = strategy_of(run, place)
        self.world = self.strategy.world
        self.is_distributed = self.world.ranks > 1
        self.local_rank = place.local_rank
        self.device = self.world.device
        check_everywhere(self.world.gathered(fingerprint))
        self._named = model_of(model)
        # A strategy that divides the model brings this rank's part there, and never the whole.
        self.model: Any = whole_on_device(model, self.world) if self.strategy.is_whole else model
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
        check_steps(total, run.epochs, len(self.samples))
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
        saver = Saver(run, store, self._note, self.strategy.save, self.reporter, step)
        self.reporter.begin(step, total)
        ended = 0
        try:
            while step < total:
                began = time.monotonic()
                torch.manual_seed(drawn(run.seed, step, self.world.rank))
                rate = run.optimiser.rate * factor(run.optimiser.schedule, step, total, warmup)
                loss, norm, tokens, samples, batch, asked = self._one_step(loader, rate, stop)
                step, epoch_before, position = step + 1, position.epoch, batch.position
                seconds = time.monotonic() - began
                epoch = position.epoch + position.offset / max(self.order.samples, 1)
                self.reporter.step(StepReport(step, total, epoch, loss, rate, norm, tokens, samples, seconds))
                check_loss(loss, step, run.precision)
                if step == (note.step if note else 0) + 1:
                    self._tell_proof()
                self.after_step(step)
                ended, _ = asked
                at_end_of_epoch = position.epoch > epoch_before
                saver.after(step, position, total, at_end_of_epoch, asked)
                self._evaluate_if_due(step, at_end_of_epoch)
                if ended:
                    break
        finally:
            loader.close()
            stop.close()
        if not ended:
            saver.at_end(step, position, total)
            export(self.strategy, self.tokenizer, run.folder / "model")
        tell_end(ended, step, run.folder / "model")
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
        if self.run.dynamic_batch and self.strategy.is_whole:
            self._fit_batch()
        self.strategy.setup(self.model)
        if self.run.dynamic_batch and not self.strategy.is_whole:
            self._fit_batch_together()
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
            tell_resumed(resumes_from.note.step, resumes_from.folder)

    def _fit_batch(self) -> None:
        """Finds the largest micro-batch on the longest samples."""
        share_of_rank = self.micro * self.accumulation
        self._settle(*largest(share_of_rank, self.fits, self.world.all_agree, self._begin()))

    def _fit_batch_together(self) -> None:
        """Does so on the model as the ranks hold it together."""
        share_of_rank = self.micro * self.accumulation
        self._settle(*grown(share_of_rank, self.room(), self.taken, self.world.all_agree, self._begin()))

    def _begin(self) -> int | None:
        """Gives where all ranks begin to search: nodes with other GPUs were told other sizes."""
        words = self.world.gathered(self.run.dynamic_from)
        return None if None in words else min(words)

    def _settle(self, micro: int, accumulation: int) -> None:
        self.micro, self.accumulation = micro, accumulation
        self.strategy.micro, self.strategy.accumulation = micro, accumulation
        logs.training().info("%s", Text(f"微批次定为 {self.micro}", f"the micro-batch is {self.micro}"))

    def fits(self, micro: int) -> bool:
        """Tries forward and backward with so many samples of full length on this rank.

        What is there only from the first step on is held meanwhile: two states of the optimiser for every trained
        parameter, and the buckets in which gradients travel.
        """
        later = 3 if self.is_distributed else 2
        try:
            batch = self._longest(micro)
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
        except RuntimeError as error:
            if not is_want_of_memory(error):
                raise
            return False
        finally:
            self.model.zero_grad(set_to_none=True)
            if torch.cuda.is_available():
                torch.cuda.empty_cache()

    def room(self) -> float:
        """Gives the bytes that this rank may take; without a GPU there is no bound."""
        if self.device.type == "cpu":
            return math.inf
        free, _ = torch.cuda.mem_get_info(self.device)
        # Pieces between what is in use are lost.
        return 0.95 * (free + torch.cuda.memory_reserved(self.device))

    def taken(self, samples: float) -> float:
        """Goes through a step with so many samples of full length, and gives the bytes that this rank took at most."""
        passes = 2 if samples < self.run.micro * self.run.accumulation else 1
        batch = self._longest(max(int(samples), 1), min(samples, 1.0))
        if self.device.type != "cpu":
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats(self.device)
        self.strategy.rehearse(lambda: self.compute_loss(self.strategy.model, batch), passes)
        if self.device.type == "cpu":
            return 0.0
        return float(torch.cuda.max_memory_allocated(self.device) + self.strategy.states_to_come())

    def _longest(self, samples: int, part: float = 1.0) -> Batch:
        """Makes samples of full length, or of a part of it."""
        most = min(self.run.max_length, getattr(self._bare().config, "max_position_embeddings", self.run.max_length))
        ids = torch.ones((samples, max(int(most * part), 2)), dtype=torch.long, device=self.device)
        return {"input_ids": ids, "attention_mask": torch.ones_like(ids), "labels": ids.clone()}

    def _bare(self) -> Any:
        """Gives the model itself, where an extending class has wrapped it."""
        return getattr(self.model, "module", self.model)

    def _checkpoints(self) -> tuple[Store, Checkpoint | None]:
        """Gives the folder to save in and the checkpoint to go on from, which must fit."""
        store, resumes_from = begun(self.run, self.place, self.world.barrier)
        if resumes_from is not None:
            check_fits(resumes_from, self.run, self.fingerprint, model=self._named)
            if resumes_from.note.effective != self.order.effective:
                before, now = resumes_from.note.effective, self.order.effective
                text = Text(f"有效批次由 {before} 变为 {now}", f"the effective batch was {before} and is {now} now")
                logs.training().warning("%s", text)
        return store, resumes_from

    def _note(self, step: int, position: Position, total: int) -> Note:
        ranks, effective = self.world.ranks, self.order.effective
        return Note.of(self.run, step, position, ranks, effective, self.fingerprint, total, model=self._named)

    def _evaluate_if_due(self, step: int, at_end_of_epoch: bool) -> None:
        settings = self.run.evaluation
        if self.evaluation is not None and is_due(settings.strategy, settings.steps, step, at_end_of_epoch):
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

    def _pad(self) -> int:
        return token(self.tokenizer.pad_token_id)


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
