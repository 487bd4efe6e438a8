#!/usr/bin/env python3
"""Compares Errand with other clients over nginx on loopback. Start it by `Benchmarks/run`, which installs what is missing.

Each round starts each client once, in turn (A B C A B C …), so that the other work of the machine meets all of them alike. A ratio is the median
of the ratios of the rounds. Python 3.9 or later, no packages.
"""

import argparse
import datetime
import json
import os
import platform
import re
import shlex
import statistics
import subprocess
import sys
from pathlib import Path

BENCHMARKS = Path(__file__).resolve().parent
sys.path.insert(0, str(BENCHMARKS / "Support"))

import nginx  # noqa: E402
import peers  # noqa: E402

# Requests in one round, quick and full.
COUNTS = {"get": (800, 3000), "get16": (1600, 4800), "download": (1, 2), "typed": (500, 2000)}
MEMORY_COUNT = (8000, 40000)


def parse_arguments():
    parser = argparse.ArgumentParser(prog="Benchmarks/run", description="Compares Errand with other clients over nginx on loopback.")
    parser.add_argument("--quick", action="store_true", help="fewer requests and rounds: under two minutes after the builds")
    parser.add_argument("--rounds", type=int, help="how many rounds (8 if quick, 25 otherwise)")
    parser.add_argument("--cases", help="some of: " + ",".join(peers.CASES))
    parser.add_argument("--peers", help="some of: " + ",".join(name for name, _, _ in peers.PEERS))
    parser.add_argument("--scratch-path", default=str(BENCHMARKS / ".build"), help="where everything is built")
    parser.add_argument("--results", default=str(BENCHMARKS / "RESULTS.md"), help="the file to write; empty for none")
    arguments = parser.parse_args()
    # Before anything is built.
    arguments.cases = chosen(arguments.cases, peers.CASES, "case")
    arguments.peers = chosen(arguments.peers, [name for name, _, _ in peers.PEERS], "client")
    if arguments.rounds is not None and arguments.rounds < 1:
        sys.exit(f"run: --rounds must be at least 1 (is {arguments.rounds})")
    # Where it was built says nothing about the figures.
    words = dict(parser.parse_args([]).__dict__, cases=list(peers.CASES), peers=[name for name, _, _ in peers.PEERS])
    arguments.shown = []
    for name, default in words.items():
        value = getattr(arguments, name)
        if name in ("scratch_path", "results") or value == default:
            continue
        text = ",".join(value) if isinstance(value, list) else str(value)
        arguments.shown += [f"--{name}"] if value is True else [f"--{name}", text]
    return arguments


def chosen(text, known, what):
    if text is None:
        return list(known)
    names = text.split(",")
    for name in names:
        if name not in known:
            sys.exit(f"run: there is no {what} called {name}")
    return [name for name in known if name in names]


def figures(command, case, count, url):
    """What one process measures, by name. Throws Unavailable."""
    arguments = command + [case, "1", str(count), url]
    environment = dict(os.environ, SWIFT_BACKTRACE="enable=no")
    try:
        result = subprocess.run(arguments, capture_output=True, text=True, timeout=300, env=environment)
    except subprocess.TimeoutExpired:
        raise peers.Unavailable("it did not end within 300 s") from None
    if result.returncode != 0:
        lines = (result.stderr or result.stdout).strip().splitlines() or [f"exit code {result.returncode}"]
        raise peers.Unavailable(f"it failed: {lines[0]}")
    return {name: float(value) for name, value in (part.split("=") for part in result.stdout.split())}


def measure(arguments, builds, base):
    """The figures of each round, by case and peer, and why a peer has none."""
    cases, names = arguments.cases, arguments.peers
    rounds = arguments.rounds or (8 if arguments.quick else 25)
    results, reasons = {}, {}
    for case in cases:
        commands = {}
        for name, _, has in peers.PEERS:
            if name not in names or case not in has:
                continue
            results[case, name] = []
            try:
                commands[name] = builds.command(name)
            except peers.Unavailable as reason:
                reasons[case, name] = str(reason)
        for number in range(rounds):
            progress(f"{case}: round {number + 1} of {rounds}")
            for name in list(commands):
                count = (MEMORY_COUNT if name.startswith("memory") else COUNTS[case])[0 if arguments.quick else 1]
                try:
                    results[case, name].append(figures(commands[name], case, count, base + peers.CASES[case][1]))
                except peers.Unavailable as reason:
                    reasons[case, name] = str(reason)
                    del commands[name]
        check_bytes(case, {name: results[case, name] for name in commands})
    progress("")
    return results, reasons, rounds


def check_bytes(case, results):
    """Every client must have received the same."""
    sizes = {name: rounds[0]["bytes"] for name, rounds in results.items() if not name.startswith("memory")}
    if len(set(sizes.values())) > 1:
        sys.exit(f"run: the clients received different bodies in the case {case}: {sizes}")


def progress(text):
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


# --- The table


def wall(one):
    return one["wall_ns"]


def cpu(one):
    return one["user_ns"] + one["system_ns"]


def ratio(figure, rounds, reference):
    """The median of the rounds' ratios; a dash where there is nothing to compare."""
    pairs = [(figure(one), figure(other)) for one, other in zip(rounds, reference)]
    pairs = [(one, other) for one, other in pairs if other > 0]
    return f"{statistics.median(one / other for one, other in pairs):.2f}" if pairs else "—"


def median(figure, rounds, case):
    value = statistics.median(figure(one) for one in rounds)
    return f"{value / 1e6:.1f} ms" if case == "download" else f"{value / 1e3:.1f} µs"


def allocations(rounds):
    values = [one["allocations"] for one in rounds if "allocations" in one]
    return f"{statistics.median(values):.1f}" if values else "—"


def table(results, reasons):
    lines = [
        "| case | client | wall | CPU | wall ÷ bare | CPU ÷ bare | wall ÷ AHC | CPU ÷ AHC | allocations |",
        "| --- | --- | --: | --: | --: | --: | --: | --: | --: |",
    ]
    for case, (title, _) in peers.CASES.items():
        for name, label, _ in peers.PEERS:
            if (case, name) not in results:
                continue
            rounds = results[case, name]
            if not rounds or (case, name) in reasons:
                lines.append(f"| {title} | {label} | not available | | | | | | |")
                continue
            cells = [median(wall, rounds, case), median(cpu, rounds, case)]
            for reference in ("bare", "ahc"):
                others = [] if name.startswith("memory") else results.get((case, reference), [])
                cells += [ratio(wall, rounds, others), ratio(cpu, rounds, others)]
            cells.append(allocations(rounds))
            lines.append(f"| {title} | {label} | {' | '.join(cells)} |")
    for text in dict.fromkeys(f"{name}: {reason}" for (_, name), reason in reasons.items()):
        lines += ["", f"Not available: {text}"]
    return "\n".join(lines)


# --- What it was measured with


def processor():
    try:
        return re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text()).group(1)
    except (OSError, AttributeError):
        return platform.processor() or platform.machine()


def pinned(package):
    try:
        pins = json.loads((BENCHMARKS / "Package.resolved").read_text())["pins"]
        return next(pin["state"]["version"] for pin in pins if pin["identity"] == package)
    except (OSError, KeyError, StopIteration, ValueError):
        return "?"


def crate(name):
    found = sorted(peers.REGISTRY.glob(f"{name}-[0-9]*"))
    return found[-1].name[len(name) + 1:] if found else "?"


def first_line(command):
    return (peers.output(command) or "?").splitlines()[0]


def versions():
    nginx_version = subprocess.run([nginx.program(), "-v"], capture_output=True, text=True).stderr.strip()
    commit = peers.output(["git", "-C", str(BENCHMARKS), "describe", "--always", "--dirty"]) or "?"
    return [
        f"Errand {commit}, SwiftNIO {pinned('swift-nio')}, AsyncHTTPClient {pinned('async-http-client')}",
        first_line(["swift", "--version"]), nginx_version.replace("nginx version: ", ""),
        first_line(["go", "version"]).replace("go version ", ""),
        f"hyper {crate('hyper')}, tokio {crate('tokio')}, {first_line(['rustc', '--version'])}",
    ]


def report(arguments, results, reasons, rounds, loads):
    command = " ".join(["Benchmarks/run"] + [shlex.quote(word) for word in arguments.shown])
    now = datetime.datetime.now(datetime.timezone.utc)
    lines = ["# Results", "", f"Written by `{command}`. [README.md](README.md) says what the figures are.", ""]
    lines += [
        f"- {now:%Y-%m-%d %H:%M} UTC, {rounds} rounds",
        f"- {processor()}, {os.cpu_count()} processors, {platform.system()} {platform.release()}",
        f"- load average: {loads[0]:.1f} before, {loads[1]:.1f} after; the measurement itself makes about 2",
    ]
    lines += [f"- {text}" for text in versions()]
    return "\n".join(lines + ["", table(results, reasons), ""])


def main():
    arguments = parse_arguments()
    if not nginx.program():
        sys.exit("run: there is no nginx; `scripts/setup` installs it")
    builds = peers.Builds(arguments.scratch_path)
    Path(arguments.scratch_path).mkdir(parents=True, exist_ok=True)
    print("run: building", file=sys.stderr)
    try:
        builds.command("bare")
    except peers.Unavailable as reason:
        sys.exit(f"run: {reason}")
    before = os.getloadavg()[0]
    with nginx.Nginx() as base:
        results, reasons, rounds = measure(arguments, builds, base)
    text = report(arguments, results, reasons, rounds, (before, os.getloadavg()[0]))
    print(text)
    if arguments.results:
        Path(arguments.results).write_text(text)


if __name__ == "__main__":
    main()
