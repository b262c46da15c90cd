"""The command line of `python -m fermi_train prepare`; help and mistakes need none of the libraries."""

from __future__ import annotations

import argparse

from .arguments import Arguments
from .data.formats import FORMATS
from .messages import Text


def parse(words: list[str], prog: str) -> argparse.Namespace:
    """What the words ask for; leaves the program where they ask for help or for nothing that can be done."""
    parser = _flags(prog)
    flags = parser.parse_args(words)
    if not flags.config and not flags.files:
        parser.error(str(Text("请提供数据文件或 --config", "give data files, or --config")))
    if not flags.config and flags.set:
        parser.error(str(Text("--set 需要 --config", "--set is for --config alone")))
    return flags


def _flags(prog: str) -> Arguments:
    about = Text("检查并分词数据。", "Check and tokenise data.")
    parser = Arguments(about, prog=prog)
    parser.add_argument(
        "files", nargs="*", metavar="FILE", help=str(Text("JSONL、Parquet、CSV 或文本", "JSONL, Parquet, CSV or text"))
    )
    parser.add_argument("--config", metavar="FILE", help=str(Text("training.yaml", "take everything from this file")))
    over = Text("覆盖文件中的一个键，可重复", "put a value over the file's (repeatable)")
    parser.add_argument("--set", metavar="KEY=VALUE", action="append", default=[], help=str(over))
    parser.add_argument("--algorithm", metavar="NAME", help=str(Text("为哪种算法准备", "for which algorithm")))
    parser.add_argument("--model", help=str(Text("分词器所属的模型", "whose tokenizer is taken")))
    parser.add_argument("--format", choices=FORMATS, help=str(Text("不给则自动识别", "recognised where not given")))
    parser.add_argument("--output", metavar="FOLDER", help=str(Text("结果写到哪里", "where the result goes")))
    parser.add_argument("--max-length", type=int, help=str(Text("最多几个 token", "tokens at most")))
    parser.add_argument("--eval-share", type=float, help=str(Text("留作评估的比例", "how much is kept for evaluation")))
    parser.add_argument("--seed", type=int, help=str(Text("划分所用的种子", "the seed of the split")))
    parser.add_argument("--processes", type=int, help=str(Text("并行的进程数", "how many work side by side")))
    parser.add_argument(
        "--skip-bad", action="store_true", default=None, help=str(Text("跳过有误的行", "leave out rows that are wrong"))
    )
    parser.add_argument("--show", type=int, default=1, metavar="N", help=str(Text("显示几个样本", "samples to show")))
    as_dataset = Text("在服务器上登记为数据集的一个版本", "register it on the server as a version of a dataset")
    parser.add_argument("--register", metavar="DATASET[@VERSION]", help=str(as_dataset))
    parser.add_argument("--json", action="store_true", help=str(Text("以 JSON 输出", "the result as JSON")))
    return parser
