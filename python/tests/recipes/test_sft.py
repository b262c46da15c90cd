"""SFT learns what it is shown, and nothing else; one trajectory, however the batch is cut."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import tiny
import torch
from ranks import run_ranks
from running import Watched, sft
from torch.nn.parallel import DistributedDataParallel
from transformers import AutoModelForCausalLM, AutoTokenizer

from fermi_train.data.loading import Collate
from fermi_train.messages import Refusal
from fermi_train.trainer import BaseTrainer


def test_it_begins_at_chance_and_repeats_what_it_learned(tmp_path: Path) -> None:
    rows = tiny.answers(32)
    config = tiny.settings(
        tmp_path,
        tiny.write_rows(tmp_path / "data.jsonl", rows),
        training__per_device_train_batch_size=32,
        training__gradient_accumulation_steps=1,
        training__max_steps=150,
        training__learning_rate=3e-3,
        training__lr_scheduler_type="cosine",
    )
    outcome = sft(config)
    assert outcome["loss"][0] == pytest.approx(math.log(264), rel=0.1)
    assert outcome["loss"][-1] < 0.1
    model = AutoModelForCausalLM.from_pretrained(tmp_path / "out/model")
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "out/model")
    right = total = 0
    for row in rows:
        ids = tokenizer(row["prompt"], add_special_tokens=False, return_tensors="pt")["input_ids"]
        told = model.generate(ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=20)[
            0, ids.shape[1] :
        ]
        wanted = tokenizer(row["completion"] + "<eos>", add_special_tokens=False)["input_ids"]
        right += sum(one == other for one, other in zip(told.tolist(), wanted, strict=False))
        total += len(wanted)
    assert right / total >= 0.95


def test_prompts_are_not_learned_and_the_end_is(tmp_path: Path) -> None:
    dice = random.Random(3)
    rows = [{"prompt": tiny.word(dice, 12, 12, "mnopqrstuvwxyz"), "completion": "abc"} for _ in range(64)]
    config = tiny.settings(
        tmp_path, tiny.write_rows(tmp_path / "data.jsonl", rows), training__max_steps=60, training__learning_rate=5e-3
    )
    sft(config)
    trainer = Watched.last
    batch = Collate(0)([{**trainer.samples[index], "index": index} for index in range(16)])  # type: ignore[dict-item]
    assert batch["labels"][0][-1] == trainer.tokenizer.eos_token_id
    model = trainer.strategy.bare.eval()
    with torch.no_grad():
        spoken = trainer.compute_loss(model, batch) / trainer.weight(batch)
        asked = {**batch, "labels": torch.where(batch["labels"] == -100, batch["input_ids"], -100)}
        unasked = trainer.compute_loss(model, asked) / trainer.weight(asked)
    assert float(spoken) < 0.1
    assert float(unasked) > 0.8 * math.log(264)


def test_the_cut_of_a_batch_does_not_matter(tmp_path: Path) -> None:
    def trained(micro: int, accumulation: int, ranks: int) -> dict[str, Any]:
        folder = tmp_path / f"{micro}-{accumulation}-{ranks}"
        folder.mkdir()
        config = tiny.settings(
            folder,
            tiny.write_rows(folder / "data.jsonl", tiny.answers(44, least=1, most=40)),
            training__per_device_train_batch_size=micro,
            training__gradient_accumulation_steps=accumulation,
            training__max_steps=12,
        )
        return run_ranks(ranks, sft, config)[0]

    one = trained(1, 8, 1)
    for other in (trained(2, 2, 2), trained(8, 1, 1)):
        apart = [a - b for a, b in zip(one["loss"], other["loss"], strict=True)]
        assert max(map(abs, apart)) < 1e-4
        assert abs(sum(apart)) / len(apart) < 5e-5
        assert one["norm"] == pytest.approx(other["norm"], abs=1e-3)


class Reversed(BaseTrainer):
    """A trainer of one's own: it unlearns."""

    def compute_loss(self, model: Any, batch: Any) -> torch.Tensor:
        """Turns the loss around."""
        return -super().compute_loss(model, batch)


def test_everything_at_once_in_bf16_with_lora_and_evaluation(tmp_path: Path) -> None:
    config = tiny.settings(
        tmp_path,
        tiny.write_rows(tmp_path / "data.jsonl", tiny.answers(40)),
        data__eval_share=0.2,
        lora__r=4,
        training__mixed_precision="bf16",
        training__gradient_checkpointing=True,
        training__eval_strategy="steps",
        training__eval_steps=3,
        training__warmup_ratio=0.5,
        training__report_to=["tensorboard"],
        training__save_strategy="steps",
        training__save_steps=2,
        training__save_total_limit=2,
        training__lr_scheduler_type="linear",
    )
    outcome = sft(config)
    assert outcome["code"] == 0
    assert outcome["rate"][:3] == sorted(outcome["rate"][:3])
    folder = tmp_path / "out"
    assert sorted(path.name for path in (folder / "checkpoints").iterdir()) == ["latest", "step-000004", "step-000006"]
    assert (folder / "model/adapter_config.json").exists()
    assert list((folder / "tensorboard").iterdir())
    assert "eval_loss" in (folder / "logs/training.log").read_text()
    assert (folder / "logs/distributed.log").exists()


@pytest.mark.parametrize("is_prepared", [False, True])
def test_an_evaluation_of_nothing_is_refused(is_prepared: bool, tmp_path: Path) -> None:
    data = tiny.write_rows(tmp_path / "data.jsonl", tiny.answers(4))
    if is_prepared:
        assert sft(tiny.settings(tmp_path, data))["code"] == 0
        data = next(path.parent for path in (tmp_path / "prepared").glob("*/prepared.json"))
    more = {"training__eval_strategy": "epoch", "data__eval_share": 0.5 if is_prepared else 1e-9}
    with pytest.raises(Refusal, match="no sample is set aside"):
        sft(tiny.settings(tmp_path, data, **more))


def test_a_trainer_of_ones_own_is_used(tmp_path: Path) -> None:
    config = tiny.settings(tmp_path, tiny.write_rows(tmp_path / "data.jsonl", tiny.answers(8)), training__max_steps=3)
    assert sft(config, Reversed)["loss"][-1] < -5.0


class Narrow(Watched):
    """Wraps its model itself; one rank alone has no room for more than two samples at once."""

    def __init__(self, *arguments: Any, **more: Any) -> None:
        """Wraps as the loop would."""
        super().__init__(*arguments, **more)
        if self.is_distributed:
            self.model = DistributedDataParallel(self.model, bucket_cap_mb=50, gradient_as_bucket_view=True)

    def fits(self, micro: int) -> bool:
        """Says so."""
        return micro <= 2 or self.place.rank != 1


class ToldOtherwise(Narrow):
    """Its two ranks were told other sizes to begin at, as nodes with other GPUs are."""

    def __init__(self, run: Any, place: Any, *more: Any) -> None:
        """Changes the word."""
        super().__init__(replace(run, dynamic_from=(8, 4)[place.rank]), place, *more)

    def fits(self, micro: int) -> bool:
        """Notes it."""
        self.every.append([micro])
        return super().fits(micro)


def test_ranks_that_were_told_other_sizes_try_the_same(tmp_path: Path) -> None:
    data = tiny.write_rows(tmp_path / "data.jsonl", tiny.answers(32))
    wide = {"training__per_device_train_batch_size": 8, "training__gradient_accumulation_steps": 1}
    config = tiny.settings(tmp_path, data, **wide, recipe__dynamic_batch=True, training__max_steps=1)
    first, second = run_ranks(2, sft, config, ToldOtherwise)
    assert first["trained"][:2] == second["trained"][:2] == [[4], [2]]
    assert [len(one["trained"][2]) for one in (first, second)] == [8, 8]


def test_all_ranks_settle_on_what_fits_everywhere(tmp_path: Path) -> None:
    def trained(name: str, kind: type[BaseTrainer], **more: Any) -> list[dict[str, Any]]:
        folder = tmp_path / name
        folder.mkdir()
        data = tiny.write_rows(folder / "data.jsonl", tiny.answers(32))
        return run_ranks(2, sft, tiny.settings(folder, data, **more), kind)

    wide = {"training__per_device_train_batch_size": 8, "training__gradient_accumulation_steps": 1}
    fixed = {"training__per_device_train_batch_size": 2, "training__gradient_accumulation_steps": 4}
    more: dict[str, Any] = {"recipe__dynamic_batch": True, "training__gradient_checkpointing": True}
    one = trained("narrow", Narrow, **wide, **more)
    other = trained("fixed", Watched, **fixed)
    assert [len(step) for step in one[0]["trained"]] == [8] * 6
    # The order of samples among ranks follows the micro-batch; what a step has in all does not.
    for first, second in zip(
        zip(*(rank["trained"] for rank in one), strict=True),
        zip(*(rank["trained"] for rank in other), strict=True),
        strict=True,
    ):
        assert sorted(sum(first, [])) == sorted(sum(second, []))
    assert one[0]["loss"] == pytest.approx(other[0]["loss"], abs=1e-5)


def test_an_epoch_without_a_step_is_refused(tmp_path: Path) -> None:
    data = tiny.write_rows(tmp_path / "data.jsonl", tiny.answers(4))
    config = tiny.settings(tmp_path, data, training__max_steps=None, training__num_train_epochs=0.1)
    with pytest.raises(Refusal, match="0.1 epochs of 4 samples have no step to train"):
        sft(config)
