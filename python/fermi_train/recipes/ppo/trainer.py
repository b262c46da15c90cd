"""The loop of PPO: answers, then a few updates on them."""

from __future__ import annotations

import time
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from ...batch.schedule import factor, warmup_steps
from ...between_steps import Saver, check_loss, check_steps, drawn, tell_end, tell_resumed
from ...checkpoints.beginning import begun
from ...checkpoints.export import write
from ...checkpoints.stop import Stop
from ...checkpoints.store import Note, Store, check_fits, model_of
from ...data.fingerprint import check_everywhere
from ...data.order import Order, Position, share
from ...environment import Place
from ...report.reporter import Reporter, StepReport
from ...rewards.named import Reward
from ...settings import Run
from ...strategies.choosing import strategy_of
from ..with_trl import Rows
from .advantage import explained_variance, gae, moments, token_rewards, whiten
from .loss import log_probabilities, policy_loss, value_loss
from .rollout import Answers, answer
from .settings import Ppo
from .value import PolicyAndValue

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


@dataclass
class _Batch:
    """Answers with what the policy thought when it gave them."""

    answers: Answers
    old: Tensor
    values: Tensor
    advantages: Tensor
    returns: Tensor


class PpoTrainer:
    """Trains a policy against rewards, held near its reference by a price on every token."""

    def __init__(
        self,
        run: Run,
        settings: Ppo,
        place: Place,
        model: PolicyAndValue,
        reference: Any,
        tokenizer: PreTrainedTokenizerBase,
        rewards: list[Reward],
        rows: Rows,
    ) -> None:
        """Joins the other ranks and brings the models to their device."""
        self.run, self.settings, self.place = run, settings, place
        self.strategy = strategy_of(run, place)
        self.world = self.strategy.world
        check_everywhere(self.world.gathered(rows.fingerprint))
        self._named = model_of(model)
        self.reporter = Reporter(run, place)
        self.model = model.to(self.world.device)
        self.reference = reference.to(self.world.device).eval() if reference is not None else None
        self.tokenizer, self.rewards, self.rows = tokenizer, rewards, rows
        self.order = Order(len(rows.train), run.micro * run.accumulation * self.world.ranks, run.seed, True)
        if len(rows.train) < self.order.effective:
            # Every step needs a full batch of prompts: a small set is asked several times over.
            times = -(-self.order.effective // len(rows.train))
            rows.train = rows.train * times
            self.order = Order(len(rows.train), self.order.effective, run.seed, True)

    def train(self) -> int:
        """Trains to the end; gives 0, or 128 and the signal that ended it after a checkpoint."""
        run = self.run
        if run.gradient_checkpointing:
            self.model.gradient_checkpointing_enable({"use_reentrant": False})
        self.model.train()
        self.strategy.setup(self.model)
        step, position, store = self._restored()
        total = run.max_steps or step + self.order.steps_from(position, run.epochs)
        check_steps(total, run.epochs, len(self.rows.train))
        stop = Stop(self.place.checkpoint_signal)
        saver = Saver(run, store, self._note, self.strategy.save, self.reporter, step)
        self.reporter.begin(step, total)
        ended = 0
        prompts = self.order.batches(position)
        try:
            while step < total and not ended:
                before = position.epoch
                indexes, position = next(prompts)
                asked = self._one_step(step, total, indexes, position, stop)
                step, (ended, _) = step + 1, asked
                saver.after(step, position, total, position.epoch > before, asked)
        finally:
            stop.close()
        if not ended:
            saver.at_end(step, position, total)
            self._export()
        tell_end(ended, step, run.folder / "model")
        self.reporter.close()
        self.world.barrier()
        return 128 + ended if ended else 0

    def _one_step(self, step: int, total: int, indexes: Any, after: Position, stop: Stop) -> tuple[int, bool]:
        """Answers and learns from the answers; gives the signal to end by, and whether to save now."""
        run, began = self.run, time.monotonic()
        torch.manual_seed(drawn(run.seed, step, self.world.rank))
        warmup = warmup_steps(run.optimiser.warmup_steps, run.optimiser.warmup_ratio, total)
        rate = run.optimiser.rate * factor(run.optimiser.schedule, step, total, warmup)
        self.strategy.set_rate(rate)
        batch, metrics = self._rollout(indexes)
        loss, norm, more = self._updates(batch, step)
        tokens, ends, saves = self.world.sum(float(batch.answers.mask.sum()), *stop.take())
        report = StepReport(step + 1, total, after.epoch, loss, rate, norm, tokens, self.order.effective, 0.0)
        report.seconds, report.metrics = time.monotonic() - began, {**metrics, **more}
        self.reporter.step(report)
        check_loss(loss, step + 1, run.precision)
        return 0 if ends == 0 else stop.signal or 15, saves > 0

    def _rollout(self, indexes: Any) -> tuple[_Batch, dict[str, float]]:
        settings, device = self.settings, self.world.device
        (own,) = share(indexes, self.world.rank, self.world.ranks, self.run.micro * self.run.accumulation, 1)
        rows = [self.rows.train[index] for index in own]
        prompts = [row["prompt"] for row in rows]
        policy = self.strategy.bare.policy
        answers = answer(policy, self.tokenizer, prompts, settings, self.run.max_length, device)
        scores = self._scores(rows, prompts, answers)
        with torch.no_grad():
            logits, values = self.strategy.bare(answers.ids, answers.attention)
            old = log_probabilities(logits, answers.ids, settings.temperature)
            reference = log_probabilities(self._reference_logits(answers), answers.ids, settings.temperature)
        # The value of a token is what was expected before it was written.
        values = torch.cat([torch.zeros_like(values[:, :1]), values[:, :-1]], dim=1) * answers.mask
        rewards = token_rewards(scores.to(device), old, reference, answers.mask, settings.kl)
        advantages, returns = gae(rewards, values, answers.mask, settings.gamma, settings.lam)
        sums = self.world.sum(*moments(advantages, answers.mask))
        batch = _Batch(answers, old, values, whiten(advantages, answers.mask, *sums), returns)
        kl = ((old - reference) * answers.mask).sum()
        score, divergence, ended, count = self.world.sum(
            float(scores.sum()), float(kl), float(answers.ended.sum()), float(len(rows))
        )
        explained = explained_variance(values, returns, answers.mask)
        metrics = {"reward": score / count, "kl": divergence / count, "ended": ended / count}
        return batch, metrics | {"explained_variance": explained}

    def _scores(self, rows: list[dict[str, Any]], prompts: list[Any], answers: Answers) -> Tensor:
        columns = {name: [row.get(name) for row in rows] for name in rows[0] if name != "prompt"}
        total = torch.zeros(len(rows))
        for reward in self.rewards:
            total += torch.tensor([float(one) for one in reward(prompts=prompts, completions=answers.texts, **columns)])
        return total - self.settings.missing_end_penalty * (~answers.ended).float()

    def _reference_logits(self, answers: Answers) -> Tensor:
        model = self.reference if self.reference is not None else self.strategy.bare.policy
        with nullcontext() if self.reference is not None else model.disable_adapter():
            return model(input_ids=answers.ids, attention_mask=answers.attention, use_cache=False).logits

    def _updates(self, batch: _Batch, step: int) -> tuple[float, float, dict[str, float]]:
        settings = self.settings
        answers = len(batch.old)
        losses, norms, clipped, counted, first = 0.0, 0.0, 0.0, 0.0, (0.0, 0.0)
        rounds = 0
        for _ in range(settings.epochs):
            # Every answer once; where they cannot be divided some parts have one more.
            for chosen_ones in torch.randperm(answers).tensor_split(settings.minibatches):
                loss, norm, clips, tokens, apart = self._one_update(batch, chosen_ones)
                if rounds == 0:
                    first = (apart, clips / max(tokens, 1.0))
                losses, norms, rounds = losses + loss, norms + norm, rounds + 1
                clipped, counted = clipped + clips, counted + tokens
        more = {
            "clip_fraction": clipped / max(counted, 1.0),
            "first_ratio_error": first[0],
            "first_clip_fraction": first[1],
        }
        return losses / rounds, norms / rounds, more

    def _one_update(self, batch: _Batch, rows: Tensor) -> tuple[float, float, float, float, float]:
        settings = self.settings
        (tokens,) = self.world.sum(float(batch.answers.mask[rows].sum()))
        parts = rows.split(self.run.micro)
        total, clips, apart = 0.0, 0.0, 0.0
        for turn, part in enumerate(parts):
            is_last = turn == len(parts) - 1
            mask, ids = batch.answers.mask[part], batch.answers.ids[part]
            with self.strategy.micro_batch(is_last):
                logits, values = self.strategy.model(ids, batch.answers.attention[part])
                new = log_probabilities(logits, ids, settings.temperature)
                values = torch.cat([torch.zeros_like(values[:, :1]), values[:, :-1]], dim=1) * mask
                of_policy, clip = policy_loss(new, batch.old[part], batch.advantages[part], mask, settings.clip)
                of_value = value_loss(values, batch.values[part], batch.returns[part], mask, settings.value_clip)
                loss = (of_policy + settings.value_weight * of_value) / max(tokens, 1.0)
            self.strategy.backward(loss, is_last)
            total, clips = total + float(loss.detach()), clips + float(clip.detach())
            apart = max(apart, float((torch.exp((new.detach() - batch.old[part]) * mask) - 1).abs().max()))
        norm = float(self.strategy.step())
        total, clips = self.world.sum(total, clips)
        return total, norm, clips, tokens, apart

    def _restored(self) -> tuple[int, Position, Store]:
        store, found = begun(self.run, self.place, self.world.barrier)
        if found is None:
            return 0, Position(), store
        check_fits(found, self.run, self.rows.fingerprint, model=self._named)
        self.reporter.phase(found.note.step, "restoring")
        self.strategy.load(found.state)
        tell_resumed(found.note.step, found.folder)
        return found.note.step, found.note.position, store

    def _note(self, step: int, position: Position, total: int) -> Note:
        ranks, effective = self.world.ranks, self.order.effective
        return Note.of(self.run, step, position, ranks, effective, self.rows.fingerprint, total, model=self._named)

    def _export(self) -> None:
        if self.place.is_first:
            policy = self.strategy.bare.policy
            write(policy, policy.state_dict(), self.tokenizer, self.run.folder / "model")
