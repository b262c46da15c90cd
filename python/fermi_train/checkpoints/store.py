"""The folder of checkpoints: `step-000017/` each, `latest` beside them."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..data.order import Position
from ..environment import Place
from ..folders import failure_of, flush, flush_one, make
from ..messages import Failure, Refusal, Text

if TYPE_CHECKING:
    from ..settings import Run

_NAME = re.compile(r"step-(\d+)")
_STATE, _NOTE, _COMPLETE, _LATEST = "state", "fermi_train.json", "complete", "latest"


@dataclass(frozen=True)
class Note:
    """What a checkpoint says of itself."""

    step: int
    epoch: int
    offset: int
    ranks: int
    strategy: str
    effective: int
    fingerprint: str
    seed: int
    algorithm: str
    total_steps: int = 0
    # Of ZeRO; none for other strategies, and in checkpoints from before it was noted.
    stage: int | None = None
    # What the parameters and states belong to; empty in checkpoints from before it was noted.
    holds: str = ""
    # Whose weights they are, as `model_of` names it; likewise.
    model: str = ""
    # Grows with each one that is written into a folder; 0 in checkpoints from before it was noted.
    turn: int = 0

    @classmethod
    def of(
        cls,
        run: Run,
        step: int,
        position: Position,
        ranks: int,
        effective: int,
        fingerprint: str,
        total_steps: int = 0,
        strategy: str | None = None,
        model: str = "",
    ) -> Note:
        """Notes where a run is; `strategy` names files that are of another kind than the run's own."""
        return cls(
            step=step,
            epoch=position.epoch,
            offset=position.offset,
            ranks=ranks,
            strategy=strategy or run.strategy,
            effective=effective,
            fingerprint=fingerprint,
            seed=run.seed,
            algorithm=run.algorithm,
            total_steps=total_steps,
            stage=run.stage,
            holds=holds_of(run),
            model=model,
        )

    @property
    def position(self) -> Position:
        """Gives the position of the data."""
        return Position(self.epoch, self.offset)


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint that is whole."""

    folder: Path
    note: Note

    @property
    def state(self) -> Path:
        """Gives the folder of parameters and states."""
        return self.folder / _STATE


class Store:
    """Saves, finds and removes checkpoints."""

    def __init__(
        self, folder: Path, place: Place, limit: int | None, barrier: Callable[[], None], link: Path | None = None
    ) -> None:
        """Keeps the folder; it is made when the first checkpoint is saved, and so is a link that leads to it."""
        self.folder, self._place, self._limit, self._barrier = folder, place, limit, barrier
        self._link = link

    def save(self, note: Note, write: Callable[[Path], None]) -> Path:
        """Writes under another name, then renames: all ranks call it, and all go on when the checkpoint is whole."""
        target = self.folder / f"step-{note.step:06d}"
        draft = self.folder / f"step-{note.step:06d}.draft"
        try:
            if self._place.saves:
                make(self.folder)
                self._remove_drafts()
                (draft / _STATE).mkdir(parents=True)
            self._barrier()
            write(draft / _STATE)
            self._barrier()
            if self._place.saves:
                turn = 1 + max((one.note.turn for one in whole_ones(self.folder)), default=0)
                noted = json.dumps(asdict(replace(note, turn=turn)), indent=2)
                (draft / _NOTE).write_text(noted, encoding="utf-8")
                (draft / _COMPLETE).touch()
                flush(draft)
                # One of that step may be there, where the run went on from an older one: it is whole until it is none.
                old = self.folder / f"{target.name}.old.draft"
                with suppress(FileNotFoundError):
                    target.rename(old)
                draft.rename(target)
                _point(self.folder / _LATEST, target.name)
                # What it takes the place of is there until its name is on disk.
                flush_one(self.folder)
                shutil.rmtree(old, ignore_errors=True)
                self._remove_old(target)
            if self._place.is_first and self._link is not None:
                make(self._link.parent)
                if not self._link.is_symlink():
                    with suppress(FileNotFoundError):
                        self._link.rmdir()
                _point(self._link, str(self.folder.resolve()))
                self._link = None
        except BaseException as error:
            if self._place.saves:
                self._remove_drafts()
            if (failure := failure_of(error)) is not None:
                raise _not_saved(target, failure) from error
            raise
        self._barrier()
        return target

    def _remove_drafts(self) -> None:
        """Gives back the room of what was never finished."""
        for old in self.folder.glob("step-*.draft"):
            shutil.rmtree(old, ignore_errors=True)

    def _remove_old(self, saved: Path) -> None:
        if self._limit is None:
            return
        others = [one for one in whole_ones(self.folder) if one.folder.name != saved.name]
        for old in others[: max(len(others) + 1 - self._limit, 0)]:
            # Without its mark a half removed checkpoint is none.
            (old.folder / _COMPLETE).unlink(missing_ok=True)
            shutil.rmtree(old.folder, ignore_errors=True)


def whole_ones(folder: Path) -> list[Checkpoint]:
    """Lists the whole checkpoints of a folder in the order in which they were written.

    That is not the order of steps where a run went on from an older one, and left later ones of another course beside it.
    """
    found = [opened(path) for path in folder.glob("step-*") if _NAME.fullmatch(path.name)]
    return sorted((one for one in found if one is not None), key=lambda one: (one.note.turn, one.note.step))


def opened(folder: Path) -> Checkpoint | None:
    """Opens a checkpoint; none where it is not whole."""
    if not (folder / _COMPLETE).exists():
        return None
    known = Note.__dataclass_fields__
    try:
        found: dict[str, Any] = json.loads((folder / _NOTE).read_text(encoding="utf-8"))
        note = Note(**{name: value for name, value in found.items() if name in known})
    except (OSError, ValueError, TypeError, AttributeError):
        # A power cut may leave the mark and not what it stands for.
        return None
    return Checkpoint(folder.resolve(), note)


def check_fits(
    checkpoint: Checkpoint, run: Run, fingerprint: str, strategy: str | None = None, model: str = ""
) -> None:
    """Refuses to go on with other data, another seed or another algorithm: the order of samples would be another.

    So is another model, and a strategy that cannot read what another one has written. The number of ranks may be any.
    """
    note = checkpoint.note
    stage = run.stage if note.stage else None
    for name, saved, now in (
        (Text("算法", "algorithm"), note.algorithm, run.algorithm),
        (Text("模型", "model"), note.model, model if note.model else ""),
        (Text("数据", "data"), note.fingerprint, fingerprint),
        (Text("随机种子", "seed"), note.seed, run.seed),
        (Text("策略", "strategy"), _files_of(note.strategy, note.stage), _files_of(strategy or run.strategy, stage)),
        (Text("LoRA 和优化器", "LoRA and optimiser"), note.holds, holds_of(run) if note.holds else ""),
    ):
        if saved != now:
            raise Refusal(
                Text(
                    f"检查点 {checkpoint.folder} 的{name.zh}是 {saved}，而现在是 {now}",
                    f"the checkpoint {checkpoint.folder} has {name.en} {saved}, and this run has {now}",
                ),
                Text(
                    "请使用相同的设置，或删除 resume_from_checkpoint",
                    "keep it the same, or remove resume_from_checkpoint",
                ),
            )


def holds_of(run: Run) -> str:
    """Names what the states belong to: another rank of LoRA or another optimiser has others, and ZeRO those of a precision."""
    parts = [f"lora.r {run.lora.rank}"] if run.lora else []
    parts.append("sgd" if run.optimiser.name == "sgd" else "adam")
    parts += [run.precision] if run.strategy == "deepspeed" else []
    return ", ".join(parts)


def model_of(model: Any) -> str:
    """Names a model by its kind and its number of parameters; called before a strategy divides it."""
    return f"{model.config.model_type} × {sum(parameter.numel() for parameter in model.parameters())}"


def check_shared(run: Run, place: Place, why: Text, other: Text) -> None:
    """Refuses to save what no node could go on from alone where nodes have folders of their own."""
    if not place.shares_checkpoints and run.saving.strategy != "no":
        raise Refusal(
            Text(
                f"各节点的检查点文件夹不同，而{why.zh}", f"the nodes have checkpoint folders of their own, but {why.en}"
            ),
            Text(
                f"请用 --checkpoint-dir 指定共享文件夹，或{other.zh}",
                f"name a shared folder by --checkpoint-dir, or {other.en}",
            ),
        )


def check_batch(checkpoint: Checkpoint, effective: int) -> None:
    """Refuses another effective batch where the place in the data is counted in steps."""
    saved = checkpoint.note.effective
    if saved != effective:
        raise Refusal(
            Text(
                f"检查点 {checkpoint.folder} 的有效批次是 {saved}，而现在是 {effective}：数据位置按步计数，会重复或漏掉样本",
                f"the checkpoint {checkpoint.folder} has an effective batch of {saved}, and this run has {effective}: "
                "its place in the data is counted in steps, so samples would come twice or never",
            ),
            Text(
                f"请调整 per_device_train_batch_size 和 gradient_accumulation_steps，使有效批次为 {saved}",
                f"choose per_device_train_batch_size and gradient_accumulation_steps so that the effective batch is {saved}",
            ),
        )


def _files_of(strategy: str, stage: int | None) -> str:
    """Names the strategies that read one another's files."""
    if strategy == "deepspeed":
        return "deepspeed" if stage is None else "ZeRO-3" if stage == 3 else "ZeRO-1/2"
    return "ddp/fsdp" if strategy in ("single", "ddp", "fsdp") else strategy


def _point(link: Path, name: str) -> None:
    draft = link.with_name(f".{link.name}.draft")
    draft.unlink(missing_ok=True)
    draft.symlink_to(name)
    os.replace(draft, link)


def _not_saved(target: Path, failure: Failure) -> Failure:
    return Failure(
        Text(f"没有保存检查点 {target}。{failure.text.zh}", f"the checkpoint {target} is not saved; {failure.text.en}"),
        Text(
            "请腾出空间后以 resume_from_checkpoint: latest 继续；save_total_limit 限制保留的个数",
            "make room and go on by resume_from_checkpoint: latest; save_total_limit bounds how many are kept",
        ),
    )
