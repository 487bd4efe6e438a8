#!/usr/bin/env python3
"""Compares the stores of the cache with hishel and nginx's proxy_cache, and measures large bodies. Start the program with `Benchmarks/cache`, which
installs missing programs.

Each round starts each program once, in order (A B A B …), so that the other work of the machine affects all alike. A ratio is the median of the ratios
of the rounds. Python 3.9 or later, no packages.
"""

import argparse
import contextlib
import datetime
import os
import subprocess
import sys
import tempfile
from pathlib import Path

BENCHMARKS = Path(__file__).resolve().parent
sys.path.insert(0, str(BENCHMARKS / "Measuring"))

import cachereport  # noqa: E402
import machine  # noqa: E402
import peers  # noqa: E402
import process  # noqa: E402
import report  # noqa: E402
import results_file  # noqa: E402
import servers  # noqa: E402

TIMEOUT = 900
MANY = 100_000
# The bodies of the large measurements: 16 MiB.
LARGE_BYTES = 16 << 20


def parse_arguments():
    parser = argparse.ArgumentParser(prog="Benchmarks/cache", description="Compares the stores of the cache with hishel and nginx.")
    parser.add_argument("--quick", action="store_true", help="fewer requests and rounds, and rough ratios")
    parser.add_argument("--rounds", type=int, help="the number of rounds (2 if quick, 5 otherwise)")
    parser.add_argument("--cases", help="a list from: " + ",".join([*cachereport.CASES, *cachereport.LARGE_CASES]))
    parser.add_argument("--scratch-path", default=str(BENCHMARKS / ".build"), help="the folder of the builds")
    arguments = parser.parse_args()
    arguments.is_whole = not (arguments.quick or arguments.rounds or arguments.cases)
    if arguments.rounds is not None and arguments.rounds < 1:
        sys.exit(f"cache: --rounds must be at least 1 (is {arguments.rounds})")
    arguments.rounds = arguments.rounds or (2 if arguments.quick else 5)
    known = [*cachereport.CASES, *cachereport.LARGE_CASES]
    arguments.cases = arguments.cases.split(",") if arguments.cases else known
    for name in arguments.cases:
        if name not in known:
            sys.exit(f"cache: there is no case called {name}")
    return arguments


def figures(command, environment=None):
    """The figures of one process, by name. Throws Unavailable."""
    try:
        ended = process.run(command, TIMEOUT, environment)
    except subprocess.TimeoutExpired:
        raise peers.Unavailable(f"it did not end within {TIMEOUT} s") from None
    if ended.code != 0:
        lines = (ended.errors.strip() or ended.output.strip()).splitlines() or [f"exit code {ended.code}"]
        raise peers.Unavailable(f"it failed: {lines[-1]}")
    return {"peak_bytes": ended.peak_bytes, **{name: float(value) for name, value in (part.split("=") for part in ended.output.split())}}


class Programs:
    """The commands of the compared programs, and the folders of their large stores."""

    def __init__(self, arguments, folder, nginx):
        self.builds, self.folder, self.nginx = peers.Builds(arguments.scratch_path), folder, nginx
        try:
            self.cache = [self.builds.product("CacheBenchmarks")]
        except peers.Unavailable as reason:
            sys.exit(f"cache: {reason}")
        self.filled = {}

    def program(self, peer):
        """The command of a program with stores. Throws Unavailable."""
        if not peer.startswith("hishel"):
            return self.cache
        return [self.builds.command("httpx")[0], str(BENCHMARKS / "Peers" / "python" / "cacheclient.py")]

    def large(self, peer, case):
        """The folder of a filled store on the disk."""
        name = "hishel" if peer.startswith("hishel") else "errand"
        if name not in self.filled:
            progress(f"{name}: filling a store with {MANY:,} entries")
            path = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=self.folder))
            figures(self.program(peer) + ["fill", str(path), str(MANY), str(case.body_bytes)])
            self.filled[name] = path
        return self.filled[name]

    def figures(self, peer, name, case, count):
        """The figures of one round of a case. Throws Unavailable."""
        kind = name.split("-")[0]
        times = ["get", "1", str(max(count // 5, 1)), str(count)]
        if peer in ("nginx", "wrk"):
            command = self.builds.command("nio-stack" if peer == "nginx" else peer)
            return figures(command + times + [f"{self.nginx.proxy}/bytes-{case.body_bytes}.bin"])
        if kind == "open":
            return figures(self.program(peer) + ["open", str(self.large(peer, case)), str(MANY), str(case.body_bytes)])
        store = "memory" if peer.endswith("memory") else "disk"
        with contextlib.ExitStack() as stack:
            if kind == "many" and peer != "memory":
                folder = self.large(peer, case)
            else:
                folder = stack.enter_context(tempfile.TemporaryDirectory(dir=self.folder))
            environment = dict(os.environ, BENCHMARK_FOLDER=str(folder), SWIFT_BACKTRACE="enable=no")
            return figures(self.program(peer) + [f"{store}-{kind}"] + times + [str(case.body_bytes)], environment)


def progress(text):
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def measure(name, arguments, programs):
    """The figures of each round of a case, by program, and the reason for each program without figures."""
    case = cachereport.CASES[name]
    rounds, reasons = {peer: [] for peer in case.counts}, {}
    for number in range(arguments.rounds):
        for peer, count in case.counts.items():
            if peer in reasons:
                continue
            progress(f"{name}: round {number + 1} of {arguments.rounds}: {peer}")
            try:
                one = programs.figures(peer, name, case, max(count // 5, 1) if arguments.quick else count)
                rounds[peer].append(report.raw(one))
            except peers.Unavailable as reason:
                reasons[peer] = str(reason)
    return rounds, reasons


def measure_large(name, arguments, programs):
    """The figures of a measurement of large bodies. A failure ends the script."""
    progress(name)
    with tempfile.TemporaryDirectory(dir=programs.folder) as folder:
        bodies = 10 if arguments.quick else 100
        file = f"bytes-{LARGE_BYTES}.bin"
        commands = {
            "bodies": ["bodies", f"{programs.nginx.fresh}/{file}", str(bodies), folder],
            "limited": ["bodies", f"{programs.nginx.limited}/{file}", str(bodies), folder],
            "misses": ["misses", str(bodies * 10), folder],
        }
        try:
            one = figures(programs.cache + commands[name])
        except peers.Unavailable as reason:
            sys.exit(f"cache: {name}: {reason}")
        return {"count": bodies * 10 if name == "misses" else bodies, **{key: round(value) for key, value in one.items() if value is not None}}


def measured(arguments):
    """The results of a run, in the form of the file."""
    if not servers.program():
        sys.exit("cache: there is no nginx; `scripts/setup` installs it")
    print("cache: building", file=sys.stderr)
    with tempfile.TemporaryDirectory(prefix="errand-cache-") as folder, servers.CacheNginx() as nginx:
        programs = Programs(arguments, Path(folder), nginx)
        before, made = os.getloadavg()[0], datetime.datetime.now(datetime.timezone.utc)
        all_figures, unavailable, large = {}, {}, {}
        for name in arguments.cases:
            if name in cachereport.LARGE_CASES:
                large[name] = measure_large(name, arguments, programs)
                continue
            all_figures[name], reasons = measure(name, arguments, programs)
            unavailable.update({name: reasons} if reasons else {})
        progress("")
    versions = machine.versions()
    return {
        "made": f"{made:%Y-%m-%d %H:%M} UTC", "rounds": arguments.rounds, "load": [before, os.getloadavg()[0]], "machine": machine.machine(),
        "versions": {name: versions[name] for name in ("Errand", "Swift", "Python", "httpx", "nginx", "wrk")}
        | {"hishel": machine.required("hishel")},
        "columns": list(report.COLUMNS), "unavailable": unavailable, "large": large, "figures": all_figures,
    }


def main():
    arguments = parse_arguments()
    results = measured(arguments)
    if arguments.is_whole:
        report.write(results, cachereport.FILE)
        results_file.update(results_file.newest())
    print("\n".join(cachereport.rendered(results)))


if __name__ == "__main__":
    main()
