"""`python -m fermi_training`, as people type it."""

from __future__ import annotations

import contextlib
import io
import json
import tempfile
import unittest
from pathlib import Path

from fermi_training.__main__ import main


class Command(unittest.TestCase):
    """What it prints, where, and with which exit code."""

    def play(self, text: str, *flags: str) -> tuple[int, str, str]:
        """Plays the command on a file of this text."""
        out, err = io.StringIO(), io.StringIO()
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "t.yaml"
            path.write_text(text, encoding="utf-8")
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                code = main([str(path), *flags])
        return code, out.getvalue(), err.getvalue().replace(f"{folder}/", "")

    def test_it_says_what_a_file_means(self) -> None:
        code, out, err = self.play("fp16: true", "--ranks", "4", "--gpus")
        self.assertEqual((code, err), (0, ""))
        self.assertEqual(out.splitlines()[0], "strategy DDP")
        self.assertEqual(out.splitlines()[2], "precision fp16, backend nccl")
        self.assertIn("there are no GPUs: fp32 instead of fp16", self.play("fp16: true", "--cpu")[1])

    def test_json_has_everything(self) -> None:
        code, out, _ = self.play("fp16: true", "--ranks", "4", "--gpus", "--json")
        self.assertEqual(code, 0)
        self.assertEqual(json.loads(out)["values"], {"training.fp16": True})
        code, out, _ = self.play("sed: 1", "--json")
        hint = "did you mean seed?"
        self.assertEqual(code, 2)
        self.assertEqual(json.loads(out), {"mistakes": [{"path": "sed", "text": "unknown key sed", "hint": hint}]})

    def test_mistakes_go_to_stderr(self) -> None:
        code, out, err = self.play("sed: 1")
        self.assertEqual((code, out), (2, ""))
        said = "error: t.yaml has mistakes:\n  unknown key sed (did you mean seed?)\n\n"
        self.assertEqual(err, f"{said}hint: training.schema.json has every key\n")

    def test_a_file_that_is_not_there_is_named(self) -> None:
        err = io.StringIO()
        with contextlib.redirect_stderr(err):
            code = main(["none.yaml", "--cpu"])
        self.assertEqual(code, 2)
        said = "error: cannot read none.yaml: No such file or directory\n\n"
        self.assertEqual(err.getvalue(), f"{said}hint: look at the path and its permissions\n")

    def test_a_number_of_ranks_is_at_least_one(self) -> None:
        with contextlib.redirect_stderr(io.StringIO()) as err, self.assertRaises(SystemExit) as ended:
            main(["t.yaml", "--ranks", "0"])
        self.assertEqual(ended.exception.code, 2)
        self.assertIn("0 is no number of ranks", err.getvalue())


if __name__ == "__main__":
    unittest.main()
