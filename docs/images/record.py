"""Records real runs in a terminal and draws them as run.svg and run.zh-CN.svg, the pictures of the READMEs.

    docs/images/record.py target/release/fermi

The commands run under a pseudo-terminal. What they write is read as a terminal reads it, and every line appears in the
picture at the moment at which it came, at most PAUSE after the one before. The temporary home of the recording is shown
as /home/user; nothing else is changed.
"""

import html
import os
import pty
import re
import select
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unicodedata
from fcntl import ioctl
from pathlib import Path

HERE = Path(__file__).parent
COLUMNS = 116
PAUSE = 0.7
HOME = "/home/user"

TRAIN = """\
import os, time

def load_shard(rank, step):
    return open("/data/shards/00017.bin", "rb") if rank == 3 and step == 3 else None

rank = int(os.environ["RANK"])
for step in range(1, 6):
    batch = load_shard(rank, step)
    if rank == 0:
        print(f"step {step}  loss {4.2 / step:.3f}", flush=True)
    time.sleep(0.3)
"""

# What is typed, and what runs then.
COMMANDS = [
    ("fermi run --nproc-per-node 4 train.py", ["--nproc-per-node", "4", "train.py"]),
    ("fermi run --nproc-per-node 2 --max-restarts 1 resume.py --crash-at 30",
     ["--nproc-per-node", "2", "--max-restarts", "1", "resume.py", "--crash-at", "30"]),
]

# The terminal has a background of its own, so that light and dark pages show the same.
BACKGROUND, FOREGROUND, FAINT, FRAME = "#10141c", "#d6dbe5", "#8791a5", "#2a3242"
COLOURS = {31: "#ff6b6b", 32: "#63d188", 33: "#e8c468", 34: "#6cb2ff", 35: "#d299ff", 36: "#5ed3d3"}
FONT, WIDTH, HEIGHT, MARGIN, BAR = 14, 8.43, 19, 18, 30


def wide(character: str) -> bool:
    return unicodedata.east_asian_width(character) in "WF"


class Screen:
    """Rows of cells and when each row was last written; knows what Fermi writes, not all that a terminal can."""

    def __init__(self) -> None:
        self.rows: list[dict[int, tuple[str, tuple[int, ...]]]] = [{}]
        self.times = [0.0]
        self.row = self.column = 0
        self.style: tuple[int, ...] = ()

    def feed(self, text: str, now: float) -> None:
        for part in re.findall(r"\x1b\[[0-9;?]*[A-Za-z]|.", text, re.S):
            if part.startswith("\x1b["):
                self.control(part[2:-1], part[-1])
            elif part == "\r":
                self.column = 0
            elif part == "\n":
                self.down(1)
            elif part >= " ":
                self.put(part, now)

    def put(self, character: str, now: float) -> None:
        width = 2 if wide(character) else 1
        if self.column + width > COLUMNS:
            self.column = 0
            self.down(1)
        self.rows[self.row][self.column] = (character, self.style)
        self.times[self.row] = now
        self.column += width

    def down(self, count: int) -> None:
        self.row += count
        while len(self.rows) <= self.row:
            self.rows.append({})
            self.times.append(self.times[-1])

    def control(self, words: str, kind: str) -> None:
        number = int(words) if words.isdigit() else 1
        if kind == "m":
            codes = [int(word or 0) for word in words.split(";")]
            self.style = () if codes == [0] else tuple(sorted({*self.style, *codes} - {0}))
        elif kind == "K":
            whole = words == "2"
            self.rows[self.row] = {} if whole else {at: c for at, c in self.rows[self.row].items() if at < self.column}
        elif kind == "A":
            self.row = max(0, self.row - number)
        elif kind == "B":
            self.down(number)


def play(screen: Screen, command: list[str], home: Path, language: str, clock: float) -> float:
    """Runs a command in a terminal of its own; returns the clock of the picture after it."""
    master, slave = pty.openpty()
    ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, COLUMNS, 0, 0))
    variables = {
        "PATH": os.environ["PATH"], "TERM": "xterm-256color", "HOME": str(home), "LANG": "C.UTF-8",
        "OMP_NUM_THREADS": "1", "FERMI_LANG": language, "FERMI_NODE_NAME": "gn6",
    }
    child = subprocess.Popen(command, cwd=home, env=variables, stdin=slave, stdout=slave, stderr=slave)
    os.close(slave)
    last, pending = time.monotonic(), b""
    while True:
        if not select.select([master], [], [], 30)[0]:
            raise SystemExit(f"{command} says nothing for 30 s")
        try:
            piece = os.read(master, 65536)
        except OSError:
            piece = b""
        if not piece:
            break
        now = time.monotonic()
        clock, last = clock + min(now - last, PAUSE), now
        # A piece may end within a character or a control sequence: whole lines only, and what is left at the end.
        lines, newline, pending = (pending + piece).rpartition(b"\n")
        screen.feed((lines + newline).decode().replace(str(home), HOME), clock)
    screen.feed(pending.decode().replace(str(home), HOME), clock)
    child.wait()
    os.close(master)
    return clock


def record(fermi: Path, language: str) -> Screen:
    screen, clock = Screen(), 0.0
    with tempfile.TemporaryDirectory(prefix="fermi-record-") as folder:
        home = Path(folder)
        (home / "train.py").write_text(TRAIN)
        (home / "resume.py").write_text((HERE / "../../examples/resume.py").read_text())
        for index, (typed, words) in enumerate(COMMANDS):
            screen.style = (32,)
            screen.feed("$ ", clock)
            screen.style = (1,)
            screen.feed(f"{typed}\r\n", clock)
            screen.style = ()
            clock = play(screen, [str(fermi), "run", *words], home, language, clock + 0.8)
            if index + 1 < len(COMMANDS):
                clock += 1.6
                screen.feed("\r\n", clock)
    while not screen.rows[-1]:
        screen.rows.pop()
    return screen


def spans(row: dict[int, tuple[str, tuple[int, ...]]]) -> str:
    """The cells of a row as pieces of one style; every wide character gets a piece of its own, to stay in its column."""
    pieces: list[tuple[int, str, tuple[int, ...]]] = []
    for at, (character, style) in sorted(row.items()):
        if pieces:
            start, text, before = pieces[-1]
            if before == style and not wide(character) and not wide(text[-1]) and start + len(text) == at:
                pieces[-1] = (start, text + character, style)
                continue
        pieces.append((at, character, style))
    drawn = []
    for at, text, style in pieces:
        if not text.strip():
            continue
        colour = next((COLOURS[code] for code in style if code in COLOURS), FAINT if 2 in style else None)
        looks = f' fill="{colour}"' if colour else ""
        looks += ' font-weight="bold"' if 1 in style else ""
        drawn.append(f'<tspan x="{MARGIN + at * WIDTH:.1f}"{looks}>{html.escape(text, quote=False)}</tspan>')
    return "".join(drawn)


def draw(screen: Screen, title: str) -> str:
    width, height = round(2 * MARGIN + COLUMNS * WIDTH), BAR + MARGIN + len(screen.rows) * HEIGHT + 6
    moments = sorted(set(screen.times))
    names = {moment: f"t{index}" for index, moment in enumerate(moments)}
    # Hidden until its moment, then there to stay; at rest for those who want no motion.
    styles = [f".{name}{{animation:come 10ms {at:.2f}s backwards}}" for at, name in names.items()]
    lines = [
        f'<text class="{names[at]}" y="{BAR + MARGIN + number * HEIGHT}">{spans(row)}</text>'
        for number, (row, at) in enumerate(zip(screen.rows, screen.times)) if row
    ]
    dots = "".join(
        f'<circle cx="{20 + 18 * index}" cy="15" r="5" fill="{colour}"/>'
        for index, colour in enumerate(["#ff6b6b", "#e8c468", "#63d188"])
    )
    return f"""\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" \
xml:space="preserve">
<title>{html.escape(title)}</title>
<style>
text{{font:{FONT}px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono","Noto Sans Mono CJK SC",monospace;\
fill:{FOREGROUND};white-space:pre}}
@keyframes come{{from{{opacity:0}}}}
@media (prefers-reduced-motion:no-preference){{{"".join(styles)}}}
</style>
<rect x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="8" fill="{BACKGROUND}" stroke="{FRAME}"/>
{dots}
{chr(10).join(lines)}
</svg>
"""


def main() -> None:
    fermi = Path(sys.argv[1] if len(sys.argv) > 1 else HERE / "../../target/release/fermi").resolve()
    for language, name, title in [
        ("en", "run.svg", "fermi run: a rank fails and the report says why; a run heals and goes on"),
        ("zh-CN", "run.zh-CN.svg", "fermi run：rank 失败时给出原因与建议；重启后从检查点继续"),
    ]:
        (HERE / name).write_text(draw(record(fermi, language), title))


if __name__ == "__main__":
    main()
