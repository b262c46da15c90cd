"""A key that is not obeyed is named; what the ranks decide together they decide alike."""

from __future__ import annotations

import ast
import json
import os
from pathlib import Path
from typing import Any

import pytest
import tiny
import torch

from fermi_train import environment
from fermi_train.batch.probe import grown, is_want_of_memory, largest
from fermi_train.batch.schedule import factor
from fermi_train.command import main
from fermi_train.data.order import NO_SAMPLE, Order, Position, share
from fermi_train.environment import place_here
from fermi_train.messages import Refusal
from fermi_train.models.bytes_tokenizer import bytes_tokenizer
from fermi_train.models.sources import Source, check_length
from fermi_train.reading import read
from fermi_train.recipes import jax_lm, obeyed
from fermi_train.recipes.prompts import check_prompts, longest_prompt
from fermi_train.recipes.with_trl import Rows
from fermi_train.settings import Saving, run_of, source_of
from fermi_training.sentence import in_chinese


def _run(config: Path, algorithm: str = "sft") -> Any:
    file = read(str(config), algorithm)
    run = run_of(file, source_of(file.keys))
    file.keys.refuse_left(algorithm, run.strategy)
    return run


@pytest.mark.parametrize(
    ("more", "named"),
    [
        ({"recipe__num_generations": 4}, "recipe.num_generations"),
        ({"training__distributed_strategy": "fsdp", "training__ddp_bucket_cap_mb": 25}, "training.ddp_bucket_cap_mb"),
        ({"training__fsdp__offload_params": True}, "training.fsdp.offload_params"),
        ({"data__trian": "x"}, "data.trian"),
        ({"lora__rank": 4}, "lora.rank"),
        ({"training__fp16_opt_level": "O2"}, "fp16_opt_level"),
        ({"training__optim": "lion"}, "training.optim"),
        ({"training__report_to": ["mlflow"]}, "training.report_to"),
        ({"training__num_train_epochs": 3}, "training.num_train_epochs"),
        ({"training__save_steps": 5}, "training.save_steps"),
        ({"training__eval_steps": 5}, "training.eval_steps"),
        ({"training__eval_strategy": "steps"}, "training.eval_strategy"),
        ({"training__dataloader_prefetch_factor": 2}, "training.dataloader_prefetch_factor"),
        ({"lora": True}, "lora"),
        ({"training__max_steps": None, "training__num_train_epochs": 0}, "training.num_train_epochs"),
        ({"training__max_steps": None, "training__num_train_epochs": 1e308}, "training.num_train_epochs"),
        ({"training__dataloader_num_workers": 10**6}, "training.dataloader_num_workers"),
        ({"training__seed": 1 << 32}, "training.seed"),
        ({"training__per_device_train_batch_size": 10**9}, "per_device_train_batch_size"),
        ({"training__gradient_accumulation_steps": 10**9}, "gradient_accumulation_steps"),
        ({"data__eval": "x.jsonl"}, "data.eval would have no effect: training.eval_strategy is no"),
        ({"training__fp16_full_eval": True}, "training.fp16_full_eval would have no effect"),
    ],
)
def test_a_key_that_has_no_effect_is_refused_by_name(more: dict[str, Any], named: str, tmp_path: Path) -> None:
    data = tiny.write_rows(tmp_path / "data.jsonl", tiny.answers(4))
    with pytest.raises(Refusal, match=named):
        _run(tiny.settings(tmp_path, data, **more))


@pytest.mark.parametrize(
    ("algorithm", "more", "named"),
    [
        ("dpo", {"recipe__loss_type": "lion"}, "recipe.loss_type"),
        ("dpo", {"recipe__loss_type": []}, "recipe.loss_type"),
        ("dpo", {"recipe__loss_type": "robust", "recipe__label_smoothing": 0.5}, "recipe.label_smoothing"),
        ("dpo", {"recipe__loss_type": "exo_pair"}, "recipe.label_smoothing"),
        ("dpo", {"recipe__label_smoothing": 0.1}, "label_smoothing would have .* dpo and loss_type sigmoid"),
        ("dpo", {"recipe__loss_type": "sft", "recipe__beta": 0.1}, "recipe.beta would have no effect"),
        ("grpo", {"recipe__loss_type": "sapo", "recipe__epsilon": 0.2}, "recipe.epsilon would have no effect"),
        ("grpo", {"recipe__loss_type": ["dapo", "grpo"]}, "recipe.loss_type"),
        ("grpo", {"recipe__loss_type": "luspo"}, "recipe.loss_type"),
        ("grpo", {"recipe__temperature": 0}, "recipe.temperature"),
        ("ppo", {"recipe__top_p": 0}, "recipe.top_p"),
        ("ppo", {"recipe__minibatches": 5}, "recipe.minibatches"),
        ("ppo", {"training__dataloader_num_workers": 1}, "training.dataloader_num_workers would have no effect"),
        ("ppo", {"training__dataloader_pin_memory": True}, "training.dataloader_pin_memory would have no effect"),
        ("ppo", {"training__dataloader_drop_last": False}, "training.dataloader_drop_last would have no effect"),
        ("ppo", {"lora__r": 4, "lora__dropout": 0.1}, "lora.dropout would have no effect"),
        ("ppo", {"data__eval_share": 0.1}, "data.eval_share would have no effect"),
        ("ppo", {"training__distributed_strategy": "fsdp"}, "distributed_strategy: fsdp"),
    ],
)
def test_what_an_algorithm_cannot_do_is_refused_by_name(
    algorithm: str, more: dict[str, Any], named: str, tmp_path: Path
) -> None:
    data = tiny.write_rows(tmp_path / "data.jsonl", tiny.answers(4))
    usual = {"recipe__reward": "share:a"} if algorithm in ("grpo", "ppo") else {}
    with pytest.raises(Refusal, match=named):
        obeyed.check(read(str(tiny.settings(tmp_path, data, **usual, **more)), algorithm), 2)


def _with_engine_file(folder: Path, engine: dict[str, Any], **more: Any) -> Any:
    (folder / "ds.json").write_text(json.dumps(engine), encoding="utf-8")
    named = {"training__deepspeed__config_path": str(folder / "ds.json"), "training__distributed_strategy": "deepspeed"}
    data = tiny.write_rows(folder / "data.jsonl", tiny.answers(4))
    return _run(tiny.settings(folder, data, **{**named, "training__lr_scheduler_type": None, **more}))


@pytest.mark.parametrize(
    ("engine", "named"),
    [
        ({"optimizer": {"type": "Lamb"}}, "optimizer.type of DeepSpeed's JSON is Lamb"),
        ({"optimizer": {"type": "OneBitAdam", "params": {}}}, "is OneBitAdam, but recipes take Adam, AdamW, SGD alone"),
        ({"optimizer": {"type": "SGD", "params": {"momentum": 0.9}}}, "optimizer.params.momentum of DeepSpeed's JSON"),
        ({"optimizer": {"type": "Adam", "params": {"bias_correction": False}}}, "optimizer.params.bias_correction"),
        ({"optimizer": {"type": "Adam", "params": {"betas": [0.9, 1.0]}}}, "DeepSpeed optimizer.params.betas"),
        ({"scheduler": {"type": "OneCycle"}}, "scheduler.type of DeepSpeed's JSON is OneCycle"),
        ({"scheduler": {"type": "WarmupLR", "params": {"warmup_min_lr": 1e-6}}}, "scheduler.params.warmup_min_lr"),
        ({"scheduler": {"type": "WarmupLR", "params": {"warmup_type": "log"}}}, "scheduler.params.warmup_type"),
        ({"gradient_clipping": "much"}, "no value for DeepSpeed gradient_clipping"),
    ],
)
def test_what_the_engines_file_asks_in_vain_is_refused(engine: dict[str, Any], named: str, tmp_path: Path) -> None:
    with pytest.raises(Refusal, match=named):
        _with_engine_file(tmp_path, engine)


def test_optimiser_and_schedule_of_the_engines_file_are_the_runs(tmp_path: Path) -> None:
    optimiser = {"type": "Adam", "params": {"betas": [0.8, 0.99], "eps": 1e-6, "adam_w_mode": False, "lr": "auto"}}
    plan = {"type": "WarmupCosineLR", "params": {"warmup_num_steps": 3, "warmup_min_ratio": 0, "total_num_steps": 9}}
    engine: dict[str, Any] = {"optimizer": optimiser, "scheduler": plan, "gradient_clipping": 0.0}
    found = _with_engine_file(tmp_path, engine).optimiser
    assert (found.name, found.betas, found.epsilon) == ("adam", (0.8, 0.99), 1e-6)
    assert (found.schedule, found.warmup_steps, found.max_grad_norm) == ("cosine", 3, 0.0)
    named = {"optimizer": {"type": "SGD"}, "scheduler": {"type": "WarmupLR", "params": {"warmup_max_lr": 0.5}}}
    assert _with_engine_file(tmp_path, named).optimiser.name == "sgd"
    other = _with_engine_file(tmp_path, named, training__optim="adamw", training__learning_rate=None).optimiser
    assert (other.name, other.schedule, other.rate) == ("adamw", "constant_with_warmup", 0.5)


def test_the_losses_that_are_taken_are_those_of_trl() -> None:
    from trl.trainer import dpo_trainer, grpo_trainer

    for module, algorithm in ((dpo_trainer, "dpo"), (grpo_trainer, "grpo")):
        source = Path(str(module.__file__)).read_text(encoding="utf-8")
        assert [name for name in obeyed.LOSSES[algorithm] if f'"{name}"' not in source] == []


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("training.optim", "sgd"),
        ("training.dataloader_num_workers", 2),
        ("training.dataloader_pin_memory", True),
        ("training.ddp_bucket_cap_mb", 50),
        ("training.gradient_as_bucket_view", True),
        ("data.eval_share", 0.1),
    ],
)
def test_what_the_jax_recipe_does_not_obey_is_refused(key: str, value: Any, tmp_path: Path) -> None:
    data = tiny.write_rows(tmp_path / "data.jsonl", tiny.answers(4))
    config = tiny.settings(tmp_path, data, **{key.replace(".", "__"): value})
    with pytest.raises(Refusal, match=f"the JAX recipe does not obey {key}"):
        jax_lm.train(read(str(config), "sft"), place_here())


@pytest.mark.parametrize(
    ("strategy", "saved"), [("steps", [4, 8, 10]), ("epoch", [3, 6, 9, 10]), ("no", [])], ids=["steps", "epoch", "no"]
)
def test_the_jax_recipe_saves_what_it_ends_with(strategy: str, saved: list[int]) -> None:
    saving = Saving(strategy, 4, None, None)
    ends = {step: Position(step // 3, step % 3) for step in range(1, 11)}
    assert [step for step, after in ends.items() if jax_lm._is_due(saving, step, 10, after)] == saved


def test_a_refusal_has_both_languages_and_a_hint(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    data = tiny.write_rows(tmp_path / "data.jsonl", tiny.answers(4))
    config = tiny.settings(tmp_path, data, recipe__beta=1)
    for language, words in (("zh", ("错误：", "提示：", "不起作用")), ("en", ("error: ", "hint: ", "no effect"))):
        monkeypatch.setenv("FERMI_LANG", language)
        assert main(["--config", str(config), "--algorithm", "sft"]) == 2
        shown = capsys.readouterr().err
        assert all(word in shown for word in words), shown


def test_the_experiment_has_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    data = tiny.write_rows(tmp_path / "data.jsonl", tiny.answers(4))
    run = _run(tiny.settings(tmp_path, data, training__output_dir=None, training__experiment_name="mine"))
    assert run.folder == Path("outputs/mine")


def test_a_launch_has_chosen_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = tiny.write_rows(tmp_path / "data.jsonl", tiny.answers(4))
    monkeypatch.setenv("FERMI_OUTPUT_DIR", "/task/outputs")

    def folder(is_of_launch: bool, output: Path | None = None, **more: Any) -> str:
        config = tiny.settings(tmp_path, data, **{"training__output_dir": None, **more})
        monkeypatch.setenv("FERMI_TRAINING_FILE", str(config))
        return str(obeyed.sft(read(None if is_of_launch else str(config), "sft", output=output)).folder)

    named: dict[str, Any] = {"training__experiment_name": "mine"}
    assert folder(True, **named) == "/task/outputs"
    assert folder(True, **named, training__output_dir="results") == "/task/outputs"
    assert folder(True, **named, training__output_dir="/shared") == "/shared/mine"
    assert folder(True, Path("/here"), **named, training__output_dir="/shared") == "/here"
    # A file that the script itself names is not of the launch.
    assert folder(False, **named) == "outputs/mine"
    assert folder(False) == "/task/outputs"


def test_presets_have_the_size_of_their_name() -> None:
    assert Source("preset:opt-350m").parameters() == pytest.approx(331e6, rel=0.01)
    with pytest.raises(Refusal, match="no preset"):
        Source("preset:gpt-9").config()


def test_sequences_beyond_learned_positions_are_refused() -> None:
    from transformers import AutoModelForCausalLM

    learned, counted = (Source(f"preset:{name}").load(AutoModelForCausalLM, 1) for name in ("tiny-opt", "tiny"))
    check_length(learned, 512)
    check_length(counted, 5000)
    with pytest.raises(Refusal, match="up to 513 tokens, and the model 512 positions"):
        check_length(learned, 513)


def test_a_prompt_that_no_trainer_would_cut_is_refused() -> None:
    rows = Rows([{"prompt": "abc"}, {"prompt": [{"role": "user", "content": "q"}]}], [{"prompt": "abcde"}], "x")
    longest = longest_prompt(rows, bytes_tokenizer())
    assert longest == 5
    check_prompts(longest, 5)
    with pytest.raises(Refusal, match="the longest prompt has 5 tokens, more than the max_length of 4"):
        check_prompts(longest, 4)


def test_every_sample_comes_once_whatever_the_ranks() -> None:
    order = Order(samples=26, effective=8, seed=1)
    steps = [step for step, _ in zip(order.batches(Position()), range(4), strict=False)]
    assert sorted(int(one) for samples, _ in steps for one in samples) == list(range(26))
    assert steps[-1][1] == Position(1, 0)
    for ranks, micro, accumulation in ((1, 8, 1), (2, 2, 2), (4, 1, 2)):
        shared = [share(steps[-1][0], rank, ranks, micro, accumulation) for rank in range(ranks)]
        kept = [one for rank in shared for turn in rank for one in turn if one != NO_SAMPLE]
        assert sorted(kept) == sorted(int(one) for one in steps[-1][0])
    assert order.steps_from(Position(0, 8), 2.0) == 3 + 4


@pytest.mark.parametrize(
    ("epochs", "drop_last", "steps"),
    [(0.5, False, 2), (1.0, False, 4), (2.25, False, 9), (0.5, True, 1), (2.25, True, 6), (3.0, True, 9)],
)
def test_the_steps_that_are_left_fall_by_one_with_each(epochs: float, drop_last: bool, steps: int) -> None:
    order = Order(samples=26, effective=8, seed=1, drop_last=drop_last)
    assert order.steps_from(Position(), epochs) == steps
    batches = order.batches(Position())
    left = [order.steps_from(after, epochs) for _, (_, after) in zip(range(steps), batches, strict=False)]
    assert left == list(reversed(range(steps)))
    assert order.steps_from(Position(10**6), 1e6) == 0


def test_the_micro_batch_is_the_largest_that_fits_on_every_rank() -> None:
    verdicts = {8: [True, False], 4: [True, True]}
    tried: list[int] = []

    def agree(fits: bool) -> bool:
        tried.append(1)
        return fits

    assert largest(8, lambda size: all(verdicts.get(size, [True])), agree) == (4, 2)
    assert largest(6, lambda size: size <= 3, agree) == (3, 2)
    assert largest(5, lambda _: False, agree) == (1, 5)


@pytest.mark.parametrize("share", [1, 7, 12, 64])
def test_where_a_search_begins_changes_what_is_tried_and_not_what_is_found(share: int) -> None:
    def found(most: int, begin: int | None) -> list[tuple[int, int]]:
        alone = largest(share, lambda size: size <= most, lambda fits: fits, begin)
        return [alone, grown(share, most, lambda size: size, lambda fits: fits, begin)]

    for most in range(share + 2):
        for begin in range(1, share + 3):
            assert found(most, begin) == found(most, None)


def test_a_search_that_begins_near_its_end_is_short() -> None:
    def tried(begin: int | None, most: int) -> list[float]:
        sizes: list[float] = []
        largest(64, lambda size: sizes.append(size) or size <= most, lambda fits: fits, begin)
        return sizes

    def grew(begin: int | None, most: int, rises: float = 1.0) -> list[float]:
        sizes: list[float] = []
        grown(64, 100 + most, lambda size: sizes.append(size) or 100 + rises * size, lambda fits: fits, begin)
        return sizes

    assert tried(None, 8) == [64, 32, 16, 8] and tried(8, 8) == [8, 16] and tried(16, 8) == [16, 8]
    assert tried(1, 1) == [2] and tried(100, 64) == [64]
    assert grew(None, 32) == [0.5, 1, 2, 4, 8, 16, 32] and grew(16, 32) == [0.5, 1, 16, 32]
    # More than there is room for, and a line that does not rise yet, are no place to go to at once.
    assert grew(64, 32) == grew(None, 32)
    assert grew(16, 32, rises=0.0) == grew(None, 32, rises=0.0)


@pytest.mark.parametrize(
    ("error", "is_want"),
    [
        (torch.OutOfMemoryError("CUDA out of memory"), True),
        (RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"), True),
        (RuntimeError("CUDA error: device-side assert triggered"), False),
    ],
)
def test_a_gpu_without_room_says_so_in_several_words(error: RuntimeError, is_want: bool) -> None:
    assert is_want_of_memory(error) is is_want


@pytest.mark.parametrize(
    ("room", "settled", "sizes"),
    [(100, 8, [0.5, 1, 2, 4, 8]), (49, 4, [0.5, 1, 2, 4]), (18, 1, [0.5, 1]), (20, 2, [0.5, 1, 2])],
)
def test_ranks_that_hold_a_model_together_try_only_what_has_room(room: int, settled: int, sizes: list[float]) -> None:
    tried: list[float] = []

    def take(samples: float) -> float:
        tried.append(samples)
        return 10 + 5 * samples

    assert grown(8, room, take, lambda fits: fits) == (settled, 8 // settled)
    assert tried == sizes
    # One rank without room is enough.
    assert grown(8, 100, take, lambda _: False) == (1, 8)


@pytest.mark.parametrize(("hidden", "is_there", "chosen"), [(None, True, None), ("", True, "cpu"), (None, False, "cpu")])
def test_deepspeed_takes_the_processors_where_no_gpu_is_seen(
    hidden: str | None, is_there: bool, chosen: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "nvidiactl").touch()
    monkeypatch.setattr(environment, "_OF_GPUS", (str(tmp_path / ("nvidiactl" if is_there else "none")),))
    for name, value in (("DS_ACCELERATOR", None), ("CUDA_VISIBLE_DEVICES", hidden)):
        monkeypatch.setenv(name, value or "")
        if value is None:
            monkeypatch.delenv(name)
    environment.prepare_imports()
    assert os.environ.get("DS_ACCELERATOR") == chosen


def test_the_learning_rate_rises_and_falls() -> None:
    cosine = [factor("cosine", step, 100, 10) for step in range(100)]
    assert cosine[:10] == sorted(cosine[:10]) and cosine[10] == 1.0
    assert cosine[10:] == sorted(cosine[10:], reverse=True) and cosine[-1] < 0.01
    assert factor("constant", 0, 10, 5) == 1.0


def test_every_name_of_the_libraries_is_there() -> None:
    from transformers import AutoModel, AutoModelForCausalLM, AutoModelForSequenceClassification, TrainerCallback
    from trl import DPOConfig, DPOTrainer, GRPOConfig, GRPOTrainer, RewardConfig, RewardTrainer

    for kind in (DPOTrainer, GRPOTrainer, RewardTrainer):
        assert hasattr(kind, "_save_checkpoint"), kind
    assert all((AutoModel, AutoModelForCausalLM, AutoModelForSequenceClassification, TrainerCallback))
    assert all((DPOConfig, GRPOConfig, RewardConfig))
    assert os.environ["HF_HUB_DISABLE_TELEMETRY"] == "1"


def test_what_pyright_is_told_of_transformers_is_so() -> None:
    import transformers

    told = ast.parse((Path(__file__).parents[1] / "stubs/transformers/__init__.pyi").read_text(encoding="utf-8"))
    classes = [node for node in told.body if isinstance(node, ast.ClassDef)]
    assert len(classes) > 10
    for kind in classes:
        real = getattr(transformers, kind.name)
        for member in kind.body:
            if isinstance(member, ast.FunctionDef) and member.name != "__getattr__":
                assert callable(getattr(real, member.name)), f"{kind.name}.{member.name}"
            elif isinstance(member, ast.AnnAssign) and kind.name == "PreTrainedTokenizerBase":
                name = ast.unparse(member.target)
                assert hasattr(bytes_tokenizer(), name), name
    assert callable(transformers.utils.logging.disable_progress_bar)


def test_mistakes_and_warnings_are_told_in_chinese_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = tiny.write_rows(tmp_path / "data.jsonl", tiny.answers(4))
    config = tiny.settings(
        tmp_path, data, training__learning_rat=1, training__seed="x", training__mixed_precision="fp64"
    )
    monkeypatch.setenv("FERMI_LANG", "zh")
    with pytest.raises(Refusal) as refused:
        read(str(config), "sft")
    shown = refused.value.shown()
    assert "未知的键 training.learning_rat（是否指 training.learning_rate？）" in shown
    assert 'training.seed 的值 "x" 无效（应为不小于 0 的整数）' in shown
    assert "之一）" in shown and "give" not in shown
    run = _run(tiny.settings(tmp_path, data, training__mixed_precision="fp16", training__distributed_backend="nccl"))
    assert [in_chinese(warning) for warning in run.warnings] == ["没有 GPU：fp16 改为 fp32", "没有 GPU：nccl 改为 gloo"]
