"""The loop of PPO: answers, then a few updates on them."""

from __future__ import annotations

import time
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from ...batch.schedule import factor, warmup_steps
from ...checkpoints.export import write
from ...checkpoints.stop import Stop
from ...checkpoints.store import Note, Store, check_fits, chosen, model_of
from ...data.fingerprint import check_everywhere
from ...data.order import Order, Position, share
from ...environment import Place
from ...messages import Text
from ...report import logs
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
        warmup = warmup_steps(run.optimiser.warmup_steps, run.optimiser.warmup_ratio, total)
        stop = Stop(self.place.checkpoint_signal)
        self.reporter.begin(step, total)
        ended, saved = 0, step
        prompts = self.order.batches(position)
        while step < total and not ended:
            began = time.monotonic()
            torch.manual_seed((run.seed * 1_000_003 + step * 8_191 + self.world.rank) % (1 << 63))
            rate = run.optimiser.rate * factor(run.optimiser.schedule, step, total, warmup)
            self.strategy.set_rate(rate)
            before = position.epoch
            indexes, position = next(prompts)
            batch, metrics = self._rollout(indexes)
            loss, norm, more = self._updates(batch, step)
            step += 1
            tokens, ends, saves = self.world.sum(float(batch.answers.mask.sum()), *stop.take())
            ended = 0 if ends == 0 else stop.signal or 15
            report = StepReport(step, total, position.epoch, loss, rate, norm, tokens, self.order.effective, 0.0)
            report.seconds, report.metrics = time.monotonic() - began, {**metrics, **more}
            self.reporter.step(report)
            due = run.saving.strategy == "steps" and step % run.saving.steps == 0
            due = due or (run.saving.strategy == "epoch" and position.epoch > before)
            if due or saves or (ended and run.saving.strategy != "no"):
                self._save(store, step, position)
                saved = step
        stop.close()
        if not ended:
            if saved < step and run.saving.strategy != "no":
                self._save(store, step, position)
            self._export()
        self.reporter.close()
        self.world.barrier()
        return 128 + ended if ended else 0

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
        folder = self.place.checkpoint_dir or self.run.folder / "checkpoints"
        store = Store(folder, self.place, self.run.saving.limit, self.world.barrier)
        found = chosen(self.run.saving.resume, [folder], self.place)
        if found is None:
            return 0, Position(), store
        check_fits(found, self.run, self.rows.fingerprint, model=self._named)
        self.strategy.load(found.state)
        return found.note.step, found.note.position, store

    def _save(self, store: Store, step: int, position: Position) -> None:
        self.reporter.phase(step, "saving")
        ranks, effective = self.world.ranks, self.order.effective
        note = Note.of(self.run, step, position, ranks, effective, self.rows.fingerprint, model=self._named)
        store.save(note, self.strategy.save)

    def _export(self) -> None:
        if self.place.is_first:
            folder, policy = self.run.folder / "model", self.strategy.bare.policy
            write(policy, policy.state_dict(), self.tokenizer, folder)
            logs.training().info("%s", Text(f"训练完成，模型在 {folder}", f"done; the model is in {folder}"))
