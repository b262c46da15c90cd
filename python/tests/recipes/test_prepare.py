"""Bad rows are named by line and reason; good ones become the same samples on any number of processes."""

from __future__ import annotations

import fcntl
import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import tiny

import fermi_train.data.prepare as prepare_module
from fermi_train.command import main
from fermi_train.data.encoding import Encoder
from fermi_train.data.formats import recognise
from fermi_train.data.prepare import prepare
from fermi_train.data.prepared import Prepared, opened
from fermi_train.data.problems import REASONS
from fermi_train.data.request import request_of
from fermi_train.messages import Failure, Refusal
from fermi_train.models.bytes_tokenizer import bytes_tokenizer
from fermi_train.models.presets import preset

ASKED = {"role": "user", "content": "q"}
TOLD = {"role": "assistant", "content": "a"}


def chat(*messages: Any) -> str:
    return json.dumps({"messages": list(messages)})


# The algorithm, a row, the reason that must be given.
BAD: list[tuple[str, str | bytes, str]] = [
    ("sft", "", "empty_line"),
    ("sft", b'{"text": "\xff"}', "not_utf8"),
    ("sft", '{"text": "a"', "not_json"),
    ("sft", '{"text": "a", "text": "b"}', "key_twice"),
    ("sft", '{"text": NaN}', "no_number"),
    ("sft", '["text"]', "not_object"),
    ("sft", '{"body": "a"}', "unknown_format"),
    ("sft", '{"prompt": "a", "chosen": "b", "rejected": "c"}', "other_format"),
    ("sft", '{"messages": "hello"}', "not_list"),
    ("sft", '{"messages": []}', "no_messages"),
    ("sft", chat("hello"), "not_message"),
    ("sft", chat({"content": "a"}), "no_role"),
    ("sft", chat({"role": "owner", "content": "a"}), "unknown_role"),
    ("sft", chat(ASKED, {"role": "assistant", "content": 5}), "content_not_text"),
    ("sft", chat(ASKED, {"role": "assistant", "content": " "}), "content_empty"),
    ("sft", chat(ASKED, {"role": "system", "content": "s"}, TOLD), "system_not_first"),
    ("sft", chat(ASKED, ASKED, TOLD), "same_role_twice"),
    ("sft", chat(ASKED), "no_assistant"),
    ("sft", chat(ASKED, TOLD, ASKED), "assistant_not_last"),
    ("sft", '{"text": 5}', "field_not_text"),
    ("sft", '{"text": "  "}', "field_empty"),
    ("sft", '{"instruction": "a"}', "missing"),
    ("sft", '{"text": "\\ud800"}', "half_letter"),
    ("sft", json.dumps({"prompt": "p" * 80, "completion": "a"}), "nothing_to_learn"),
    ("dpo", '{"prompt": "p", "chosen": "a"}', "missing"),
    ("dpo", '{"prompt": "p", "chosen": "a", "rejected": "a"}', "same_answers"),
    (
        "dpo",
        json.dumps({"chosen": [ASKED, TOLD], "rejected": [{"role": "user", "content": "x"}, TOLD]}),
        "other_prompts",
    ),
    ("grpo", '{"prompt": ""}', "field_empty"),
]
GOOD = {"sft": '{"text": "fine"}', "dpo": '{"prompt": "p", "chosen": "a", "rejected": "b"}', "grpo": '{"prompt": "p"}'}


def _prepared(folder: Path, data: Path, algorithm: str = "sft", processes: int = 1, **more: Any) -> Prepared:
    request = request_of((str(data),), algorithm, more.pop("kind", None), more.pop("max_length", 64), **more)
    return prepare(request, bytes_tokenizer(), folder / "prepared", processes)


@pytest.mark.parametrize(("algorithm", "row", "reason"), BAD, ids=[f"{n}-{one[2]}" for n, one in enumerate(BAD)])
def test_a_bad_row_is_named_by_line_and_reason(algorithm: str, row: str | bytes, reason: str, tmp_path: Path) -> None:
    good = GOOD[algorithm].encode()
    # The format is that of the bad row's neighbours, unless the row itself must decide it.
    if algorithm == "sft" and reason not in ("other_format", "unknown_format", "not_object") and row:
        text = row if isinstance(row, str) else row.decode("latin-1")
        if '"messages"' in text:
            good = chat(ASKED, TOLD).encode()
        elif '"instruction"' in text or '"prompt"' in text:
            good = b'{"prompt": "p", "completion": "c"}'
    data = tmp_path / "data.jsonl"
    data.write_bytes(b"\n".join([good, good, row if isinstance(row, bytes) else row.encode(), good, b""]))
    with pytest.raises(Refusal) as refusal:
        _prepared(tmp_path, data, algorithm)
    assert f"{data}:3: {REASONS[reason].en}" in refusal.value.text.en
    assert f"{data}:3: {REASONS[reason].zh}" in refusal.value.text.zh
    assert refusal.value.text.en.startswith("1 rows are wrong")


def test_every_kind_of_bad_row_has_its_test() -> None:
    tried = {reason for _, _, reason in BAD} | {"not_csv", "wrong_fields"}
    assert tried == set(REASONS) and len(tried) >= 20


def test_csv_that_is_none_is_named_by_its_line(tmp_path: Path) -> None:
    data = tmp_path / "data.csv"
    data.write_text('text\nfine\n"open" quote\n')
    with pytest.raises(Refusal, match=r"data\.csv:3: it is no CSV"):
        _prepared(tmp_path, data)


def test_csv_with_a_missing_field_is_named_by_its_line(tmp_path: Path) -> None:
    data = tmp_path / "data.csv"
    data.write_text('prompt,completion\n"two\nlines",fine\nalone\n')
    with pytest.raises(Refusal, match=r"data\.csv:4: the number of fields"):
        _prepared(tmp_path, data)


def test_lines_are_counted_over_pieces_and_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [json.dumps({"text": f"row {n}"}) for n in range(500)]
    rows[321] = "broken"
    data = tmp_path / "data.jsonl"
    data.write_text("\n".join(rows) + "\n")
    monkeypatch.setattr("fermi_train.data.prepare.pieces_of", lambda file: _small(file))
    with pytest.raises(Refusal, match=r"data\.jsonl:322: it is no JSON"):
        _prepared(tmp_path, data, processes=2)


def _small(file: Path) -> Any:
    from fermi_train.data.files import pieces_of

    return pieces_of(file, 700)


def test_any_number_of_processes_makes_the_same_samples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = tiny.write_rows(tmp_path / "data.jsonl", tiny.answers(300))
    monkeypatch.setattr("fermi_train.data.prepare.pieces_of", lambda file: _small(file))
    made = []
    for processes in (1, 2):
        prepared = _prepared(tmp_path / str(processes), data, processes=processes, eval_share=0.2, seed=3)
        train, aside = prepared.train(), prepared.evaluation()
        assert aside is not None and len(train) + len(aside) == 300 and 30 < len(aside) < 90
        made.append(
            [
                [sample["input_ids"].tolist() for sample in map(part.__getitem__, range(len(part)))]
                for part in (train, aside)
            ]
        )
    assert made[0] == made[1]


def test_every_kind_of_file_gives_the_same_samples(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as parquet

    rows = tiny.answers(10)
    files = [tiny.write_rows(tmp_path / "rows.jsonl", rows), tmp_path / "rows.csv", tmp_path / "rows.parquet"]
    files[1].write_text("prompt,completion\n" + "".join(f"{row['prompt']},{row['completion']}\n" for row in rows))
    parquet.write_table(pa.Table.from_pylist(rows), files[2])
    samples = []
    for file in files:
        train = _prepared(tmp_path, file).train()
        samples.append([train[index]["input_ids"].tolist() for index in range(len(train))])
    assert samples[0] == samples[1] == samples[2]
    text = tmp_path / "lines.txt"
    text.write_text("one\n\ntwo\n")
    assert len(_prepared(tmp_path, text).train()) == 2


def test_one_array_of_json_gives_the_samples_of_lines(tmp_path: Path) -> None:
    rows = tiny.answers(10)
    lines = _prepared(tmp_path, tiny.write_rows(tmp_path / "rows.jsonl", rows)).train()
    for indent in (None, 2):
        file = tmp_path / "rows.json"
        file.write_text("\ufeff " + json.dumps(rows, indent=indent) + "\n", encoding="utf-8")
        train = _prepared(tmp_path, file).train()
        assert [train[n]["input_ids"].tolist() for n in range(10)] == [
            lines[n]["input_ids"].tolist() for n in range(10)
        ]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('[{"text": "a"},\n\n{"body": 1},\n{"text": 5}]', [":3: its format", ":4: a field is no text"]),
        ('[{"text": "a"},\n{"text": "b", "text": "c"},\n{"text": NaN}]', [":2: a key stands twice", ":3: NaN"]),
        ('[{"text": "a"},\n{"text": "b"\n]', [":3: it is no JSON"]),
        ('[{"text": "a"}\n{"text": "b"}]', [":2: it is no JSON"]),
        ('[{"text": "a"}]\nmore', [":1: it is no JSON (more)"]),
        ("[" * 100_000, [":1: it is no JSON"]),
        ("[]", []),
    ],
)
def test_bad_elements_of_an_array_are_named_by_their_line(text: str, told: list[str], tmp_path: Path) -> None:
    file = tmp_path / "rows.json"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(Refusal) as refusal:
        _prepared(tmp_path, file)
    said = refusal.value.text.en
    assert all(one in said for one in told) and said.count("rows.json:") == len(told)


def test_files_that_are_not_what_their_name_says(tmp_path: Path) -> None:
    torn, twice, long = tmp_path / "torn.parquet", tmp_path / "twice.csv", tmp_path / "long.csv"
    torn.write_bytes(b"PAR1 and no more")
    with pytest.raises(Refusal, match="it is no whole Parquet file"):
        _prepared(tmp_path, torn)
    twice.write_text("text,text\na,b\n")
    with pytest.raises(Refusal, match=r"twice\.csv:1: a key stands twice \(text\)"):
        _prepared(tmp_path, twice)
    long.write_text("text\n" + "a" * 200_000 + "\n")
    assert len(_prepared(tmp_path, long).train()) == 1


def test_a_parquet_file_that_is_torn_within_is_refused(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as parquet

    torn = tmp_path / "torn.parquet"
    parquet.write_table(pa.table({"text": [f"row {n}" for n in range(5000)]}), torn)
    content = bytearray(torn.read_bytes())
    content[4:2000] = bytes(1996)
    torn.write_bytes(content)
    with pytest.raises(Refusal, match="it is no whole Parquet file"):
        _prepared(tmp_path, torn)


def test_bytes_that_are_no_text_are_named_by_their_line_in_csv_too(tmp_path: Path) -> None:
    data = tmp_path / "data.csv"
    data.write_bytes(b"text\nfine\n\xff\xfe\nfine too\n\x80\n")
    with pytest.raises(Refusal) as refusal:
        _prepared(tmp_path, data)
    assert refusal.value.text.en.startswith("2 rows are wrong")
    assert all(f"data.csv:{line}: it is no UTF-8 text" in refusal.value.text.en for line in (3, 5))
    assert len(_prepared(tmp_path, data, skip_bad=True).train()) == 2


def test_what_is_no_file_is_no_data(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.jsonl"
    os.mkfifo(pipe)
    for path in (str(pipe), "/dev/zero"):
        with pytest.raises(Refusal, match="it is a pipe or a device, and no file"):
            _prepared(tmp_path, Path(path))
    with pytest.raises(Refusal, match="the path is empty"):
        request_of(("",), "sft", None, 64)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--max-length", "0"], "0 is no value for --max-length"),
        (["--eval-share", "1.5"], "1.5 is no value for --eval-share"),
        (["--eval-share", "nan"], "nan is no value for --eval-share"),
        (["--seed", "-1"], "-1 is no value for --seed"),
        (["--seed", "1" + "0" * 70], "is no value for --seed"),
        (["--processes", "0"], "0 is no value for --processes"),
        (["--model", "preset:huge"], "there is no preset 'huge'"),
        (["--algorithm", "lion"], "there is no algorithm 'lion'"),
        (["--algorithm", "rm"], "1 rows are wrong"),
        (["--algorithm", "dpo", "--format", "chat"], "'chat' is no value for --format"),
    ],
)
def test_wrong_words_are_refused(
    words: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = tiny.write_rows(tmp_path / "data.jsonl", [{"text": "fine"}])
    assert main(["prepare", str(data), "--output", str(tmp_path / "prepared"), *words]) == 2
    assert said in capsys.readouterr().err


def test_the_command_line_wins_over_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = tiny.write_rows(tmp_path / "data.jsonl", tiny.answers(40))
    words = ["prepare", "--config", str(tiny.settings(tmp_path, data)), "--json"]
    found = []
    for more in ([], ["--max-length", "6", "--eval-share", "0.5"]):
        assert main([*words, *more]) == 0
        found.append(json.loads(capsys.readouterr().out)["statistics"])
    assert found[0]["eval_samples"] == 0 and found[0]["longest"] > 6
    assert found[1]["eval_samples"] > 0 and found[1]["longest"] == 6


def test_what_is_prepared_does_not_depend_on_what_was_prepared_before(tmp_path: Path) -> None:
    tokenizer = bytes_tokenizer()
    tokenizer.chat_template = None
    rows = [{"messages": [ASKED, TOLD]}]
    request = request_of((str(tiny.write_rows(tmp_path / "chat.jsonl", rows)),), "sft", None, 64)
    first = prepare(request, tokenizer, tmp_path / "prepared", 1)
    assert tokenizer.chat_template is None
    assert prepare(request, tokenizer, tmp_path / "prepared", 1).folder == first.folder
    asked = "".join(chr(token) for token in first.train()[0]["input_ids"])
    assert len(asked) > len("q") + len("a")


class Letters:
    """A tokenizer whose tokens are letters, with or without one that begins each text."""

    def __init__(self, bos: int | None) -> None:
        self.bos_token_id = bos

    def __call__(self, texts: Any, add_special_tokens: bool = True) -> dict[str, Any]:
        begin = [self.bos_token_id] if self.bos_token_id is not None and add_special_tokens else []
        made = [begin + [ord(letter) for letter in text] for text in ([texts] if isinstance(texts, str) else texts)]
        return {"input_ids": made[0] if isinstance(texts, str) else made}


@pytest.mark.parametrize("bos", [None, 1])
def test_rows_encoded_together_are_those_encoded_alone(bos: int | None) -> None:
    dice = random.Random(4)
    rows = [[(tiny.word(dice, 0, 6), dice.random() < 0.5) for _ in range(dice.randint(1, 4))] for _ in range(200)]
    samples, bad = Encoder(Letters(bos), 8).learnable(rows)  # type: ignore[arg-type]
    begin = [] if bos is None else [bos]
    ids, mask, lengths, told = [], [], [], {}
    for place, row in enumerate(rows):
        tokens = begin + [ord(letter) for text, _ in row for letter in text]
        learned = [0] * len(begin) + [int(is_learned) for text, is_learned in row for _ in text]
        if any(learned[1:8]):
            ids, mask, lengths = ids + tokens[:8], mask + learned[:8], [*lengths, len(tokens[:8])]
        else:
            told[place] = f"{len(tokens)} > 8"
    assert (samples.ids.tolist(), samples.mask.tolist(), samples.lengths.tolist()) == (ids, mask, lengths)
    assert {place: problem.detail for place, problem in bad.items()} == told
    assert 10 < len(told) < 190


SHARD = """
import sys
from pathlib import Path
import numpy as np
from fermi_train.data.arrow import Shards, ShardWriter

path = Path(sys.argv[1])
writer = ShardWriter(path, {"input_ids": "int32", "completion_mask": "int8"})
for first in (0, 5):
    ids = np.arange(first, first + 5)
    writer.write({"input_ids": ids, "completion_mask": ids % 2}, np.array([2, 0, 3]))
writer.close()
shards = Shards([path])
print([[shards[n][name].tolist() for name in shards.columns] for n in range(len(shards))], "pandas" in sys.modules)
"""


def test_shards_are_read_as_they_were_written_and_without_pandas(tmp_path: Path) -> None:
    words = [sys.executable, "-c", SHARD, str(tmp_path / "shard.arrow")]
    said = subprocess.run(words, cwd=Path(__file__).parents[2], check=True, capture_output=True, text=True).stdout
    rows = [[[0, 1], [0, 1]], [[], []], [[2, 3, 4], [0, 1, 0]], [[5, 6], [1, 0]], [[], []], [[7, 8, 9], [1, 0, 1]]]
    assert said == f"{rows} False\n"


def test_formats_are_recognised() -> None:
    rows = {
        "text": {"text": "t"},
        "chat": {"conversations": [{"from": "human", "value": "q"}, {"from": "gpt", "value": "a"}]},
        "instruction": {"instruction": "i", "input": "", "output": "o"},
        "preference": {"prompt": "p", "chosen": "c", "rejected": "r"},
        "prompt": {"prompt": "p", "answer": "4"},
    }
    assert {name: recognise(row) for name, row in rows.items()} == {name: name for name in rows}


def test_only_what_the_assistant_says_is_learned_and_shown_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    turns = [ASKED, TOLD, {"role": "user", "content": "r"}, {"role": "assistant", "content": "b"}]
    data = tiny.write_rows(tmp_path / "chat.jsonl", [{"messages": turns}])
    assert main(["prepare", str(data), "--output", str(tmp_path / "prepared")]) == 0
    shown = capsys.readouterr().out
    assert "<|user|>|q|<|assistant|>|[a]|[<eos>]|<|user|>|r|<|assistant|>|[b]|[<eos>]" in shown
    assert "format chat, 1 samples" in shown


def test_prepared_data_becomes_a_version_of_a_dataset(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    data = tiny.write_rows(tmp_path / "data.jsonl", tiny.answers(3))
    fermi, said = tmp_path / "fermi", tmp_path / "said"
    fermi.write_text(
        f'#!/bin/sh\necho "$@" >> {said}\n'
        f'case "$2" in show) cat {tmp_path}/made ;;\n'
        f"""create) printf '{{"versions": [{{"version": "v1", "path": "%s"}}]}}' "$5" > {tmp_path}/made ;;\n"""
        'add-version) test "$5" = v9 && { echo "error: no server" >&2; exit 1; }; true ;; esac\n'
    )
    fermi.chmod(0o755)
    monkeypatch.setenv("FERMI_BIN", str(fermi))
    words = ["prepare", str(data), "--output", str(tmp_path / "prepared"), "--register"]
    for name in ("poems@v1", "poems@v1", "poems@v2"):
        assert main([*words, name]) == 0
    assert "registered as poems@v2" in capsys.readouterr().out
    (folder,) = (tmp_path / "prepared").glob("[!.]*")
    assert said.read_text().splitlines() == [
        "dataset show poems --json",
        f"dataset create poems --path {folder} --dataset-version v1",
        "dataset show poems --json",
        "dataset show poems --json",
        f"dataset add-version poems --version v2 --path {folder}",
    ]
    assert main([*words, "poems@v9"]) == 2
    assert "cannot be registered: error: no server" in capsys.readouterr().err
    assert main([*words, "poems@v1", "--max-length", "9"]) == 2
    assert f"poems@v1 is {folder} already, and a version never changes" in capsys.readouterr().err


def test_for_another_algorithm_the_files_themselves_are_the_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fermi, said = tmp_path / "fermi", tmp_path / "said"
    fermi.write_text(f'#!/bin/sh\necho "$@" >> {said}\ntest "$2" != show\n')
    fermi.chmod(0o755)
    monkeypatch.setenv("FERMI_BIN", str(fermi))
    data = tiny.write_rows(tmp_path / "pairs.jsonl", tiny.preferences(3))
    words = ["--algorithm", "dpo", "--output", str(tmp_path / "prepared"), "--register", "pairs@v1"]
    assert main(["prepare", str(data), *words]) == 0
    assert said.read_text().splitlines()[1] == f"dataset create pairs --path {data} --dataset-version v1"
    assert main(["prepare", str(data), str(data), *words]) == 2
    assert "a version for the algorithm dpo is one file or folder, and there are 2" in capsys.readouterr().err


def _prepared_for(folder: Path, algorithm: str, rows: list[dict[str, Any]]) -> str:
    return str(_prepared(folder, tiny.write_rows(folder / "data.jsonl", rows), algorithm).folder)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (
            {"model__name_or_path": "with another tokenizer"},
            "was prepared with another tokenizer than that of the model",
        ),
        ({"model__max_length": 8}, "has samples of up to 17 tokens, and max_length is 8"),
        ({}, "trained"),
    ],
)
def test_what_was_prepared_for_another_model_is_refused(more: dict[str, Any], said: str, tmp_path: Path) -> None:
    from running import sft

    model = tmp_path / "model"
    tokenizer = bytes_tokenizer()
    tokenizer.add_tokens(["one more"])
    tokenizer.save_pretrained(model)
    preset("tiny").save_pretrained(model)
    folder = _prepared_for(tmp_path, "sft", [{"prompt": "a" * 8, "completion": "b" * 8}])
    if "model__name_or_path" in more:
        more = {"model__name_or_path": f"config:{model}"}
    settings = tiny.settings(tmp_path, Path(folder), training__max_steps=1, **more)
    try:
        found = "trained" if sft(settings)["code"] == 0 else ""
    except Refusal as refusal:
        found = str(refusal)
    assert said in found


def test_prepared_data_is_for_sft_alone_and_says_so(tmp_path: Path) -> None:
    folder = _prepared_for(tmp_path, "dpo", tiny.preferences(3))
    found = opened(Path(folder))
    assert found is not None
    with pytest.raises(Refusal, match="has the format preference, which sft does not train on"):
        found.check_fits(bytes_tokenizer(), 64)
    with pytest.raises(Refusal, match="it is data that was tokenised for sft"):
        request_of((folder,), "dpo", None, 64)


def test_rows_that_are_written_while_they_are_read_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = tiny.write_rows(tmp_path / "data.jsonl", tiny.answers(3))
    read = prepare_module.first_format

    def grows(*arguments: Any) -> Any:
        with data.open("a") as file:
            file.write(json.dumps({"prompt": "late", "completion": "row"}) + "\n")
        return read(*arguments)

    monkeypatch.setattr(prepare_module, "first_format", grows)
    with pytest.raises(Failure, match=r"data\.jsonl was changed while it was read"):
        _prepared(tmp_path, data)
    monkeypatch.setattr(prepare_module, "first_format", read)
    assert len(_prepared(tmp_path, data).train()) == 4


def test_what_a_killed_process_has_left_gives_its_room_back(tmp_path: Path) -> None:
    folder = tmp_path / "prepared"
    left = [folder / ".gone.draft", folder / ".gone.old.draft"]
    # One is being written, the other is a model that another run exports.
    kept = [folder / ".here.draft", folder / ".here.old.draft", folder / ".model.draft"]
    for draft in (*left, *kept):
        draft.mkdir(parents=True)
        (draft / "train-000000.arrow").write_bytes(b"half")
    (folder / ".gone.lock").touch()
    with (folder / ".here.lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        _prepared(tmp_path, tiny.write_rows(tmp_path / "data.jsonl", tiny.answers(3)))
    assert sorted(folder.glob(".*.draft")) == sorted(kept)
    assert not (folder / ".model.lock").exists()


def test_bad_rows_are_left_out_when_that_is_asked_for(tmp_path: Path) -> None:
    data = tmp_path / "data.jsonl"
    data.write_text('{"text": "fine"}\nbroken\n')
    assert len(_prepared(tmp_path, data, skip_bad=True).train()) == 1
