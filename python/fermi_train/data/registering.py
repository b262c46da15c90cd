"""Tells the server of prepared data: a version of a dataset that tasks choose by name."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

from ..messages import Refusal, Text
from .prepared import Prepared
from .request import Request


def registered_path(prepared: Prepared, paths: tuple[str, ...], request: Request) -> Path:
    """Gives what tasks will train on: for SFT the prepared folder, for other algorithms the file or folder itself."""
    if request.algorithm == "sft":
        return prepared.folder
    if len(paths) != 1:
        raise Refusal(
            Text(
                f"算法 {request.algorithm} 的数据集版本是一个文件或文件夹，而这里有 {len(paths)} 个",
                f"a version for the algorithm {request.algorithm} is one file or folder, and there are {len(paths)}",
            ),
            Text("请把文件放进一个文件夹", "put the files into one folder"),
        )
    return Path(paths[0])


def register(prepared: Prepared, name: str, path: Path) -> str:
    """Adds a version to the dataset, which is made where there is none; gives the two names as `dataset@version`.

    `name` is the dataset's, or `dataset@version`; without a version its name is the beginning of the fingerprint. Where
    the server is, and by which token it is asked, is what `fermi` itself takes from its environment.
    """
    dataset, _, version = name.partition("@")
    version = version or prepared.fingerprint[:12]
    where = str(path.resolve())
    is_known, said = _fermi("dataset", "show", dataset, "--json")
    if is_known and (there := _path_of(version, said)) is not None:
        if there != where:
            raise _other_data(f"{dataset}@{version}", there, dataset)
        return f"{dataset}@{version}"
    if is_known:
        done, said = _fermi("dataset", "add-version", dataset, "--version", version, "--path", where)
    else:
        done, said = _fermi("dataset", "create", dataset, "--path", where, "--dataset-version", version)
    if not done:
        raise Refusal(
            Text(f"无法登记 {dataset}：{said}", f"the data is prepared, but {dataset} cannot be registered: {said}"),
            Text(
                "请检查 FERMI_SERVER 与 FERMI_TOKEN，然后再次运行：数据不会重新分词",
                "look at FERMI_SERVER and FERMI_TOKEN and run it again: the data is not tokenised anew",
            ),
        )
    return f"{dataset}@{version}"


def _path_of(version: str, said: str) -> str | None:
    """Finds where a version of a dataset lies, in what `fermi dataset show --json` says of it."""
    try:
        paths = {str(one["version"]): str(one["path"]) for one in json.loads(said)["versions"]}
    except (ValueError, TypeError, KeyError):
        return None
    return paths.get(version)


def _other_data(name: str, there: str, dataset: str) -> Refusal:
    return Refusal(
        Text(
            f"数据已准备好，但 {name} 已是 {there}，版本不可更改",
            f"the data is prepared, but {name} is {there} already, and a version never changes",
        ),
        Text(f"请指定其他版本：--register {dataset}@名称", f"name another version: --register {dataset}@NAME"),
    )


def _fermi(*words: str) -> tuple[bool, str]:
    """Runs `fermi`: the one that started this process, else that of the PATH."""
    program = os.environ.get("FERMI_BIN") or shutil.which("fermi")
    if program is None:
        raise Refusal(
            Text("找不到 fermi，无法登记数据集", "there is no fermi to register the dataset with"),
            Text("请使用 fermi train prepare，或用 FERMI_BIN 指定", "use fermi train prepare, or name it in FERMI_BIN"),
        )
    done = subprocess.run([program, *words], capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return True, done.stdout
    return False, " ".join((done.stderr or done.stdout).split())
