#!/usr/bin/env python3
"""Compares Errand with other clients over servers on loopback. Start the program with `Benchmarks/run`, which installs missing programs.

Each round starts each client once, in order (A B C A B C …), so that the other work of the machine affects all clients alike. A ratio is the median
of the ratios of the rounds. Python 3.9 or later, no packages.
"""

import argparse
import contextlib
import datetime
import os
import shlex
import subprocess
import sys
from pathlib import Path

BENCHMARKS = Path(__file__).resolve().parent
sys.path.insert(0, str(BENCHMARKS / "Measuring"))

import machine  # noqa: E402
import peers  # noqa: E402
import process  # noqa: E402
import report  # noqa: E402
import results_file  # noqa: E402
import servers  # noqa: E402

# The cases of 4 GiB have fewer rounds.
LARGE_ROUNDS = 5
TIMEOUT = 600


def parse_arguments():
    parser = argparse.ArgumentParser(prog="Benchmarks/run", description="Compares Errand with other clients over servers on loopback.")
    parser.add_argument("--quick", action="store_true", help="fewer requests and rounds, and rough ratios")
    parser.add_argument("--large", action="store_true", help="also the cases of 4 GiB")
    parser.add_argument("--rounds", type=int, help="the number of rounds (3 if quick, 15 otherwise)")
    parser.add_argument("--cases", help="a list from: " + ",".join(peers.CASES))
    parser.add_argument("--peers", help="a list from: " + ",".join(peers.NAMES))
    parser.add_argument("--scratch-path", default=str(BENCHMARKS / ".build"), help="the folder of the builds")
    parser.add_argument("--results", help="the JSON file to write (Results/DATE.json and RESULTS.md if full, none otherwise)")
    parser.add_argument("--render", metavar="FILE", help="measure nothing, and write RESULTS.md from a JSON file")
    arguments = parser.parse_args()
    # Before the build.
    arguments.is_whole = not (arguments.quick or arguments.cases or arguments.peers or arguments.rounds)
    if arguments.rounds is not None and arguments.rounds < 1:
        sys.exit(f"run: --rounds must be at least 1 (is {arguments.rounds})")
    arguments.rounds = arguments.rounds or (3 if arguments.quick else 15)
    words = [f"--{name}" for name in ("quick", "large") if getattr(arguments, name)]
    for name, default in (("rounds", 3 if arguments.quick else 15), ("cases", None), ("peers", None)):
        if getattr(arguments, name) != default:
            words += [f"--{name}", str(getattr(arguments, name))]
    arguments.shown = " ".join(["Benchmarks/run"] + [shlex.quote(word) for word in words])
    usual = [name for name, case in peers.CASES.items() if arguments.large or not case.is_large]
    arguments.cases = chosen(arguments.cases, list(peers.CASES), "case") if arguments.cases else usual
    arguments.peers = chosen(arguments.peers, peers.NAMES, "client") if arguments.peers else peers.NAMES
    return arguments


def chosen(text, known, what):
    names = text.split(",")
    for name in names:
        if name not in known:
            sys.exit(f"run: there is no {what} called {name}")
    return [name for name in known if name in names]


def figures(command, case, count, url, environment):
    """The figures of one process, by name. Throws Unavailable."""
    warmup = 0 if case.is_large else max(count // 5, case.at_once)
    try:
        ended = process.run(command + [case.kind, str(case.at_once), str(warmup), str(count), url], TIMEOUT, environment)
    except subprocess.TimeoutExpired:
        raise peers.Unavailable(f"it did not end within {TIMEOUT} s") from None
    except OSError as error:
        raise peers.Unavailable(str(error)) from None
    if ended.code != 0:
        lines = (ended.errors.strip() or ended.output.strip()).splitlines() or [f"exit code {ended.code}"]
        raise peers.Unavailable(f"it failed: {lines[-1] if lines[0].startswith('Traceback') else lines[0]}")
    measured = {name: float(value) for name, value in (part.split("=") for part in ended.output.split())}
    return {"peak_bytes": ended.peak_bytes, **measured}


def measure(name, arguments, builds, server):
    """The figures of each round of a case, by client, and the reason for each client without figures."""
    case = peers.CASES[name]
    all_rounds, reasons, commands = {}, {}, {}
    for peer in peers.PEERS:
        if peer.name not in arguments.peers or name not in peer.cases:
            continue
        all_rounds[peer.name] = []
        try:
            url, environment = server.target(case)
            commands[peer] = builds.command(peer.name)
        except peers.Unavailable as reason:
            reasons[peer.name] = str(reason)
    rounds = min(arguments.rounds, LARGE_ROUNDS) if case.is_large else arguments.rounds
    server.warm(case)
    for number in range(rounds):
        for peer in list(commands):
            progress(f"{name}: round {number + 1} of {rounds}: {peer.name}")
            count = max(int(case.counts[0 if arguments.quick else 1] * peer.share), 1)
            try:
                all_rounds[peer.name].append(figures(commands[peer], case, count, url, environment))
            except peers.Unavailable as reason:
                reasons[peer.name] = str(reason)
                del commands[peer]
    check_bytes(name, {peer.name: all_rounds[peer.name] for peer in commands})
    return {peer: [report.raw(one) for one in rounds] for peer, rounds in all_rounds.items()}, reasons


def check_bytes(case, results):
    """Checks that every client has received, or sent, the same number of bytes."""
    sizes = {name: rounds[0]["bytes"] for name, rounds in results.items() if not name.startswith("memory") and "bytes" in rounds[0]}
    if len(set(sizes.values())) > 1:
        sys.exit(f"run: the clients moved different bodies in the case {case}: {sizes}")


def progress(text):
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def measured(arguments):
    """The results of a run, in the form of the file."""
    if not servers.program():
        sys.exit("run: there is no nginx; `scripts/setup` installs it")
    builds = peers.Builds(arguments.scratch_path)
    builds.scratch.mkdir(parents=True, exist_ok=True)
    print("run: building", file=sys.stderr)
    try:
        builds.command("bare")
    except peers.Unavailable as reason:
        sys.exit(f"run: {reason}")
    for name in arguments.peers:
        with contextlib.suppress(peers.Unavailable):
            builds.command(name)
    before, made = os.getloadavg()[0], datetime.datetime.now(datetime.timezone.utc)
    all_figures, unavailable = {}, {}
    with servers.Servers(builds) as server:
        for name in arguments.cases:
            all_figures[name], reasons = measure(name, arguments, builds, server)
            unavailable.update({name: reasons} if reasons else {})
    progress("")
    large = any(peers.CASES[name].is_large for name in arguments.cases)
    return {
        "made": f"{made:%Y-%m-%d %H:%M} UTC", "command": arguments.shown, "rounds": arguments.rounds,
        "large_rounds": min(arguments.rounds, LARGE_ROUNDS) if large else 0, "load": [before, os.getloadavg()[0]],
        "machine": machine.machine(), "versions": machine.versions(), "columns": list(report.COLUMNS),
        "unavailable": unavailable, "figures": all_figures,
    }


def main():
    arguments = parse_arguments()
    if arguments.render:
        print(results_file.update(Path(arguments.render)), end="")
        return
    results = measured(arguments)
    if arguments.results:
        report.write(results, Path(arguments.results))
    if arguments.is_whole and not arguments.results:
        path = BENCHMARKS / "Results" / f"{results['made'][:10]}.json"
        report.write(results, path)
        print(results_file.update(path), end="")
    else:
        print(report.rendered(results), end="")


if __name__ == "__main__":
    main()
