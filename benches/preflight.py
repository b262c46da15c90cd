"""How long a preflight of many machines takes: FERMI [NODES …], as root. Each machine is a network namespace behind one router:
on a bridge all pairs of 64 would be more neighbours than the kernel keeps for all namespaces together.

All run `fermi doctor --nnodes N` at once. Shown are the seconds from the first start until the last process is gone, those that
node 0 counts, how many of the pairs were tried, the transfers, and what was found to be wrong. A minute is the bound, after which this fails.
The machines share the cores of this one, and each looks at itself too: on machines of their own they are faster.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time

BOUND_S = 60.0
PORT = 29_500


def ip(*words: str, check: bool = True) -> None:
    subprocess.run(["ip", *words], check=check, stdout=subprocess.DEVNULL, stderr=None if check else subprocess.DEVNULL)


class Machines:
    """Namespaces with the addresses 10.77.x.y, taken away at the end."""

    def __init__(self, count: int) -> None:
        self.name = f"pf{os.getpid()}"
        self.count = count
        self.switch = f"{self.name}sw"

    def address(self, number: int) -> str:
        return f"10.77.{(number + 1) // 250}.{(number + 1) % 250 + 1}"

    def space(self, number: int) -> str:
        return f"{self.name}n{number}"

    def __enter__(self) -> Machines:
        ip("netns", "add", self.switch)
        ip("netns", "exec", self.switch, "sysctl", "-q", "-w", "net.ipv4.ip_forward=1")
        for number in range(self.count):
            space, port = self.space(number), f"p{number}"
            ip("netns", "add", space)
            ip("-n", space, "link", "set", "lo", "up")
            ip("link", "add", "eth0", "netns", space, "type", "veth", "peer", "name", port, "netns", self.switch)
            ip("-n", self.switch, "addr", "add", "10.76.0.1/32", "dev", port)
            ip("-n", self.switch, "link", "set", port, "up")
            ip("-n", self.switch, "route", "add", f"{self.address(number)}/32", "dev", port)
            ip("-n", space, "addr", "add", f"{self.address(number)}/32", "dev", "eth0")
            ip("-n", space, "link", "set", "eth0", "up")
            ip("-n", space, "route", "add", "default", "via", "10.76.0.1", "dev", "eth0", "onlink")
        return self

    def __exit__(self, *_: object) -> None:
        for number in range(self.count):
            ip("netns", "del", self.space(number), check=False)
        ip("netns", "del", self.switch, check=False)


def play(fermi: str, count: int) -> bool:
    with Machines(count) as machines:
        start = time.monotonic()

        def begin(number: int) -> subprocess.Popen[str]:
            words = [fermi, "doctor", "--json", "--no-python", "--nnodes", str(count), "--node-rank", str(number)]
            words += ["--master-addr", machines.address(0), "--master-port", str(PORT)]
            command = ["ip", "netns", "exec", machines.space(number), *words]
            environment = {**os.environ, "FERMI_NODE_NAME": f"gn{number}"}
            return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)

        running = [begin(number) for number in range(count)]
        told = [process.communicate() for process in running]
        took = time.monotonic() - start
    try:
        report = json.loads(told[0][0])
    except ValueError:
        print(f"{count:>5}  node 0 says no result: {told[0][1].strip()[:300]}")
        return False
    survey = report["survey"]
    tried = sum(len(rows) for rows in survey["pings"])
    reached = sum(any(path["pings"] for path in row["paths"]) for rows in survey["pings"] for row in rows)
    bad = [f"{it['check']} ({it['state']})" for it in report["findings"] if it["state"] in ("warning", "error")]
    of_wire = sorted({name for name in bad if name.startswith(("wire.", "nodes."))})
    pairs = count * (count - 1)
    print(
        f"{count:>5} {took:>8.1f} {report['seconds']:>8.1f} {tried:>6}/{pairs} {reached:>8} {len(survey['transfers']):>10}  "
        f"{', '.join(of_wire) or 'nothing'}",
        flush=True,
    )
    return took <= BOUND_S and tried == pairs == reached


def main() -> int:
    fermi, counts = sys.argv[1], [int(word) for word in sys.argv[2:]] or [16, 32, 64]
    print(f"{'nodes':>5} {'whole s':>8} {'node 0 s':>8} {'pairs tried':>11} {'reached':>8} {'transfers':>10}  wrong on the wire")
    return 0 if all([play(fermi, count) for count in counts]) else 1


if __name__ == "__main__":
    sys.exit(main())
