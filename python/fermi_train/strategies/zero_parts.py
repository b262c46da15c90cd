"""A checkpoint of ZeRO on another number of ranks: each takes its part of every parameter out of the parts of all.

DeepSpeed's own way, `ds_to_universal`, writes everything once more, knows Adam alone, and with ZeRO-3 gives all groups the
weight decay of the first.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Any

import torch

from ..messages import Refusal, Text

# What the values of parameters are called beside the states of the optimiser.
_VALUE = "value"


@dataclass(frozen=True)
class _Fragment:
    """Where elements of a parameter lie: in which rank's file, in which group, from where on, and how many."""

    rank: int
    group: int
    begin: int
    count: int


class SavedParts:
    """The files that the ranks of a run have written; they are mapped, and only what is asked for is read."""

    def __init__(self, folder: Path) -> None:
        """Opens the files of all ranks."""
        states = [_opened(file)["optimizer_state_dict"] for file in parts_in(folder)]
        self.scaler: Any = states[0]["loss_scaler"]
        self.is_stage_3 = "fp32_flat_groups" in states[0]
        if self.is_stage_3:
            models = [
                _opened(folder / f"zero_pp_rank_{rank}_mp_rank_00_model_states.pt") for rank in range(len(states))
            ]
            values, others = "fp32_flat_groups", "optimizer_state_dict"
            self._fragments = _of_shapes(models[0]["param_shapes"], len(states))
            self._frozen = [model["frozen_param_fragments"] or {} for model in models]
        elif "single_partition_of_fp32_groups" in states[0] and "base_optimizer_state" in states[0]:
            models = [_opened(folder / "mp_rank_00_model_states.pt")]
            values, others = "single_partition_of_fp32_groups", "base_optimizer_state"
            self._fragments = _of_mappings([state["param_slice_mappings"] for state in states])
        else:
            raise _other_layout(len(states))
        self.model: dict[str, Any] = models[0]
        self._values = [state[values] for state in states]
        self._others: list[dict[int, dict[str, Any]]] = [state[others]["state"] for state in states]

    def numbers(self) -> dict[str, Any]:
        """Gives the states that all parameters have in common, such as the count of steps."""
        return {key: value for key, value in self._others[0].get(0, {}).items() if not _is_of_elements(value)}

    def part(self, name: str, begin: int, count: int) -> dict[str, torch.Tensor]:
        """Gives elements of a trained parameter and of its states; what is behind its end is zero."""
        fragments = self._fragments[name]
        of_group = self._others[fragments[0].rank].get(fragments[0].group, {})
        kinds = [_VALUE, *(key for key, value in of_group.items() if _is_of_elements(value))]
        return {kind: _joined(self._pieces(kind, fragments), begin, count) for kind in kinds}

    def frozen(self, name: str, begin: int, count: int) -> torch.Tensor:
        """Gives elements of a parameter that is not trained."""
        return _joined((fragments[name].flatten() for fragments in self._frozen), begin, count)

    def _pieces(self, kind: str, fragments: list[_Fragment]) -> Iterator[torch.Tensor]:
        for one in fragments:
            flat = self._values[one.rank][one.group] if kind == _VALUE else self._others[one.rank][one.group][kind]
            yield flat[one.begin : one.begin + one.count]


def parts_in(folder: Path) -> list[Path]:
    """Lists the files with the states of each rank, by rank."""
    files = folder.glob("*zero_pp_rank_*_optim_states.pt")
    return sorted(files, key=lambda file: int(file.name.split("zero_pp_rank_")[1].split("_")[0]))


@torch.no_grad()
def load_parts(engine: Any, folder: Path, rank: int) -> None:
    """Fills an engine with this rank's parts; its stage is that of the files."""
    saved = SavedParts(folder)
    load, flats = (_load_stage_3, "fp32_partitioned_groups_flat") if saved.is_stage_3 else (_load_parted, _PARTED)
    states = engine.optimizer.optimizer.state
    load(engine, saved, rank)
    for flat in getattr(engine.optimizer, flats):
        for key, number in saved.numbers().items():
            states[flat][key] = number.clone() if torch.is_tensor(number) else number
    engine.optimizer.loss_scaler = saved.scaler
    for name in ("global_steps", "global_samples", "skipped_steps"):
        setattr(engine, name, saved.model[name])


_PARTED = "single_partition_of_fp32_groups"


def _load_parted(engine: Any, saved: SavedParts, _rank: int) -> None:
    """Stages 1 and 2: every rank has the weights, and the precise ones and the states of its part."""
    engine.module.load_state_dict(saved.model["module"])
    for name, parameter in engine.module.named_parameters():
        own = getattr(parameter, "_hp_mapping", None)
        if own is None:
            continue
        part = saved.part(name, own.lp_fragment_address.start, own.lp_fragment_address.numel)
        own.hp_fragment.data.copy_(part.pop(_VALUE))
        flat = getattr(engine.optimizer, _PARTED)[own.param_group_index]
        begin, count = own.hp_fragment_address.start, own.hp_fragment_address.numel
        for key, state in part.items():
            _state_of(engine, flat, key)[begin : begin + count].copy_(state)


def _load_stage_3(engine: Any, saved: SavedParts, rank: int) -> None:
    """Stage 3: every rank has its part of each parameter."""
    from deepspeed.utils import safe_set_local_fp32_param, safe_set_local_optimizer_state

    for name, parameter in engine.module.named_parameters():
        own = parameter.ds_tensor
        begin, count = rank * own.numel(), own.numel()
        if not parameter.requires_grad:
            own.data.copy_(saved.frozen(name, begin, count))
            continue
        part = saved.part(name, begin, count)
        value = part.pop(_VALUE)
        own.data.copy_(value)
        safe_set_local_fp32_param(parameter, value)
        for key, state in part.items():
            for flat in engine.optimizer.fp32_partitioned_groups_flat:
                _state_of(engine, flat, key)
            safe_set_local_optimizer_state(parameter, state, key)
    buffers = dict(engine.module.named_buffers())
    for name in saved.model["buffer_names"]:
        buffers[name].copy_(saved.model["module"][name])


def _state_of(engine: Any, flat: torch.Tensor, key: str) -> torch.Tensor:
    """Gives a state of the optimiser; before the first step there is none yet."""
    state = engine.optimizer.optimizer.state[flat]
    if key not in state:
        state[key] = torch.zeros_like(flat)
    return state[key]


def _of_shapes(groups: list[dict[str, torch.Size]], ranks: int) -> dict[str, list[_Fragment]]:
    """Stage 3 gives every rank an equal part of each parameter, the last ones filled up with nothing."""
    found: dict[str, list[_Fragment]] = {}
    for group, shapes in enumerate(groups):
        begin = 0
        for name, shape in shapes.items():
            each = ceil(shape.numel() / ranks)
            counts = [max(0, min(each, shape.numel() - rank * each)) for rank in range(ranks)]
            found[name] = [_Fragment(rank, group, begin, count) for rank, count in enumerate(counts)]
            begin += each
    return found


def _of_mappings(ranks: list[list[dict[str, Any]]]) -> dict[str, list[_Fragment]]:
    """Stages 1 and 2 cut a long row of parameters; each rank says which of them lie in its part."""
    found: dict[str, list[_Fragment]] = {}
    for rank, groups in enumerate(ranks):
        for group, mapping in enumerate(groups):
            for name, address in mapping.items():
                found.setdefault(name, []).append(_Fragment(rank, group, address.start, address.numel))
    return found


def _joined(pieces: Iterator[torch.Tensor], begin: int, count: int) -> torch.Tensor:
    """Cuts elements out of pieces that follow one another."""
    made: torch.Tensor | None = None
    start = 0
    for piece in pieces:
        made = piece.new_zeros(count) if made is None else made
        low, high = max(begin, start), min(begin + count, start + piece.numel())
        if low < high:
            made[low - begin : high - begin] = piece[low - start : high - start]
        start += piece.numel()
    assert made is not None
    return made


def _is_of_elements(value: Any) -> bool:
    return torch.is_tensor(value) and value.ndim > 0


def _opened(file: Path) -> dict[str, Any]:
    # Our own run has written them; DeepSpeed keeps objects of its own in them.
    return torch.load(file, map_location="cpu", weights_only=False, mmap=True)


def _other_layout(ranks: int) -> Refusal:
    return Refusal(
        Text(
            f"此 DeepSpeed 检查点由 {ranks} 个进程保存，其格式不能用于其他数量的进程",
            f"this checkpoint of DeepSpeed is of {ranks} ranks, and its layout is not known for another number",
        ),
        Text(f"请使用 {ranks} 个进程继续", f"go on with {ranks} ranks"),
    )
