"""Fills a stopped server's data folder with many tasks and environments, by copying those it has.

    python3 fill.py DATA_DIR --tasks 100000 --environments 1000
"""

import argparse
import json
import sqlite3
from pathlib import Path

ZONES = ("北京可用区A", "北京可用区B", "上海可用区A", "深圳可用区C")
GPUS = (("A100", 8), ("H100", 8), ("V100", 4), ("A100", 2))
NAMES = ("bert-finetune", "gpt-pretrain", "llama-sft", "vision-ablation-with-a-rather-long-name", "中文指令微调")
MINUTE = 60_000


def rows(db: sqlite3.Connection, table: str) -> list[dict]:
    found = db.execute(f"SELECT * FROM {table} ORDER BY seq")
    names = [column[0] for column in found.description]
    return [dict(zip(names, row)) for row in found]


def insert(db: sqlite3.Connection, table: str, made: list[dict]) -> None:
    names = list(made[0])
    places = ", ".join(f":{name}" for name in names)
    db.executemany(f"INSERT INTO {table} ({', '.join(names)}) VALUES ({places})", made)


def more_environments(db: sqlite3.Connection, count: int) -> None:
    known = rows(db, "environments")
    made = []
    for number in range(len(known), count):
        row = dict(known[0])
        name = f"gn{number + 1:04}"
        model, gpus = GPUS[number % len(GPUS)]
        document = json.loads(row["document"])
        document |= {"name": name, "zone": ZONES[number * 7 // 5 % len(ZONES)]}
        document["gpus"] = [document["gpus"][0] | {"model": model, "count": gpus}]
        row |= {"seq": number + 1, "name": name, "identity": None, "document": json.dumps(document, ensure_ascii=False)}
        made.append(row)
    insert(db, "environments", made)


def more_tasks(db: sqlite3.Connection, count: int) -> None:
    known = rows(db, "tasks")
    newest = known[-1]["created_ms"]
    last = known[-1]["seq"]
    made, nodes = [], []
    for number in range(1, count - len(known) + 1):
        row = dict(known[number % 17 == 0])
        back = (count - number) * MINUTE
        took = number * 7919 % 240 * MINUTE
        name = f"{NAMES[number % len(NAMES)]}-{number}"
        moved = {key: newest - back + (took if key == "ended_ms" else 0) for key in ("created_ms", "updated_ms", "ended_ms")}
        brief = json.loads(row["brief"]) | {"startedMs": moved["created_ms"]}
        row |= moved | {"seq": last + number, "name": name, "name_folded": name.casefold()}
        row |= {"brief": json.dumps(brief, ensure_ascii=False)}
        row["document"] = row["document"].replace(f'"id":"task-{known[number % 17 == 0]["seq"]}"', f'"id":"task-{last + number}"')
        made.append(row)
        nodes.append((brief["environments"][0], last + number))
    insert(db, "tasks", made)
    db.executemany("INSERT INTO task_nodes (environment_id, task_seq) VALUES (?, ?)", nodes)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data_dir", type=Path)
    parser.add_argument("--tasks", type=int, default=100_000)
    parser.add_argument("--environments", type=int, default=1_000)
    asked = parser.parse_args()
    with sqlite3.connect(asked.data_dir / "fermi.db") as db:
        more_environments(db, asked.environments)
        more_tasks(db, asked.tasks)


if __name__ == "__main__":
    main()
