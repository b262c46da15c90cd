"""Files as scripts load them."""

from __future__ import annotations

import json
import os
import pickle
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from fermi_training import Settings, TrainingYamlError, load, read
from fermi_training.sentence import in_chinese


class Loading(unittest.TestCase):
    """What `load` takes from the file, and what from the place."""

    def setUp(self) -> None:
        """Gives every test a folder of its own."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def file(self, text: str, name: str = "training.yaml") -> Path:
        """Writes a file."""
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return path

    def test_without_a_path_it_is_the_file_of_the_launch(self) -> None:
        named = "training: {distributed_strategy: deepspeed, deepspeed: {config_path: elsewhere.json}}"
        launch = {
            "FERMI_TRAINING_FILE": str(self.file(named, "training.json")),
            "FERMI_CONFIG_FILE": str(self.file('{"zero_optimization": {"stage": 3}}', "ds_config.json")),
            "FERMI_FRAMEWORK": "deepspeed",
            "WORLD_SIZE": "2",
        }
        with mock.patch.dict(os.environ, launch, clear=True):
            self.assertEqual(load(gpus=False).stage, 3)
        with mock.patch.dict(os.environ, {}, clear=True), self.assertRaisesRegex(OSError, "--config training.yaml"):
            load(gpus=False)

    def test_the_launcher_says_how_many_ranks_there_are(self) -> None:
        path = self.file("training: {per_device_train_batch_size: 2}")
        for world_size, ranks in ((None, 1), ("", 1), ("6", 6)):
            given = {} if world_size is None else {"WORLD_SIZE": world_size}
            with mock.patch.dict(os.environ, given, clear=True):
                self.assertEqual(load(path, gpus=False).batch.effective, 2 * ranks)
        with mock.patch.dict(os.environ, {"WORLD_SIZE": "6"}):
            self.assertEqual(load(path, ranks=3, gpus=False).batch.effective, 6)
        for wrong in ("0", "many", "-1", "1.5"):
            with (
                mock.patch.dict(os.environ, {"WORLD_SIZE": wrong}),
                self.assertRaisesRegex(ValueError, "WORLD_SIZE is"),
            ):
                load(path, gpus=False)

    def test_torch_is_asked_for_gpus_where_it_is_there(self) -> None:
        path = self.file("training: {fp16: true}")
        torch = mock.MagicMock()
        for seen, precision, backend in ((True, "fp16", "nccl"), (False, "fp32", "gloo")):
            torch.cuda.is_available.return_value = seen
            with mock.patch.dict(sys.modules, {"torch": torch}), mock.patch("importlib.util.find_spec"):
                settings = load(path, ranks=1)
            self.assertEqual((settings.precision, settings.backend), (precision, backend))
        with mock.patch("importlib.util.find_spec", return_value=None):
            self.assertEqual(load(path, ranks=1).precision, "fp32")

    def test_deepspeeds_file_is_read_from_here_or_from_beside_the_yaml(self) -> None:
        json_text = json.dumps({"zero_optimization": {"stage": 3}, "bf16": {"enabled": True}})
        yaml = "training: {distributed_strategy: deepspeed, deepspeed: {config_path: fermi_test_ds.json}}"
        path = self.file(yaml)
        with self.assertRaises(TrainingYamlError) as refused:
            load(path, ranks=1, gpus=True)
        self.assertIn(
            "cannot read fermi_test_ds.json, which training.deepspeed.config_path names", str(refused.exception)
        )
        self.assertTrue(in_chinese(refused.exception.mistakes[0].text).endswith("fermi_test_ds.json：不存在"))
        self.file(json_text, "fermi_test_ds.json")
        settings = load(path, ranks=1, gpus=True)
        self.assertEqual((settings.stage, settings.precision, settings.warnings), (3, "bf16", []))
        for broken in ("{", "[]", '{"a": NaN}'):
            self.file(broken, "fermi_test_ds.json")
            with self.assertRaisesRegex(TrainingYamlError, "is not one JSON object"):
                load(path, ranks=1, gpus=True)

    def test_mistakes_name_the_file_and_cross_to_another_process(self) -> None:
        path = self.file("sed: 1\ntraining: {save_steps: 0}")
        with self.assertRaises(TrainingYamlError) as refused:
            load(path)
        error = refused.exception
        self.assertEqual([one.path for one in error.mistakes], ["sed", "training.save_steps"])
        self.assertEqual(
            str(error),
            f"{path} has mistakes:\n  unknown key sed (did you mean seed?)\n"
            "  0 is no value for training.save_steps (give a whole number of at least 1)",
        )
        again = pickle.loads(pickle.dumps(error))
        self.assertEqual((str(again), again.mistakes, again.file), (str(error), error.mistakes, error.file))

    def test_a_file_that_is_not_there_is_an_error_of_the_system(self) -> None:
        with self.assertRaises(FileNotFoundError):
            load(self.folder / "none.yaml")

    def test_what_never_ends_is_refused_with_its_bound(self) -> None:
        with self.assertRaisesRegex(OSError, "it has more than 64 MiB, as no such file has"):
            load("/dev/zero")


class Answers(unittest.TestCase):
    """What settings can be asked."""

    settings: Settings = read(
        "dataloader: {batch_size: 4}\ndata: {files: [a]}\nlearning_rate: 5e-5", ranks=2, gpus=True
    )

    def test_a_key_is_found_by_any_of_its_spellings(self) -> None:
        for path in ("training.per_device_train_batch_size", "training.dataloader.batch_size", "dataloader.batch_size"):
            self.assertEqual(self.settings.get(path), 4)
        self.assertEqual(self.settings.get("training.save_steps", 500), 500)
        self.assertIsNone(self.settings.get("save_steps"))
        with self.assertRaisesRegex(KeyError, "save_stepz"):
            self.settings.get("training.save_stepz")

    def test_it_says_the_lines_of_fermi(self) -> None:
        lines = ["strategy DDP", "effective batch 8 = 4 x 2 ranks x 1 accumulation steps"]
        lines += ["precision fp32, backend nccl", "learning rate 0.00005"]
        self.assertEqual(self.settings.describe(), "\n".join(lines))

    def test_plain_values_are_a_copy(self) -> None:
        plain = self.settings.to_dict()
        plain["values"]["data"]["files"].append("b")
        plain["warnings"].append("x")
        self.assertEqual((self.settings.get("data"), self.settings.warnings), ({"files": ["a"]}, []))
        self.assertEqual(json.loads(json.dumps(self.settings.to_dict())), self.settings.to_dict())


if __name__ == "__main__":
    unittest.main()
