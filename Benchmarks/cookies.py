#!/usr/bin/env python3
"""Compares the cookie jar with Python's http.cookiejar, and the public suffixes with libpsl. Start the program with `Benchmarks/cookies`, which installs
libpsl.

Each round starts each program once, in order (A B A B …), so that the other work of the machine affects all alike. A ratio is the median of the ratios
of the rounds. Python 3.9 or later, no packages.
"""

import argparse
import datetime
import os
import sys
from pathlib import Path
from typing import NamedTuple

BENCHMARKS = Path(__file__).resolve().parent
sys.path.insert(0, str(BENCHMARKS / "Measuring"))

import cookiereport  # noqa: E402
import machine  # noqa: E402
import peers  # noqa: E402
import process  # noqa: E402
import results_file  # noqa: E402

TIMEOUT = 600


class Peer(NamedTuple):
    name: str
    cases: tuple
    # Calls in one round, quick and full.
    counts: tuple


PEERS = [
    Peer("errand", tuple(cookiereport.CASES), (20_000, 100_000)),
    Peer("cookiejar", ("none", "sites", "site"), (5, 25)),
    Peer("libpsl", ("suffix", "first"), (20_000, 100_000)),
]


def parse_arguments():
    parser = argparse.ArgumentParser(prog="Benchmarks/cookies", description="Compares the cookie jar with http.cookiejar and libpsl.")
    parser.add_argument("--quick", action="store_true", help="fewer calls and rounds, and rough ratios")
    parser.add_argument("--rounds", type=int, help="the number of rounds (3 if quick, 15 otherwise)")
    parser.add_argument("--scratch-path", default=str(BENCHMARKS / ".build"), help="the folder of the builds")
    arguments = parser.parse_args()
    arguments.is_whole = not (arguments.quick or arguments.rounds)
    if arguments.rounds is not None and arguments.rounds < 1:
        sys.exit(f"cookies: --rounds must be at least 1 (is {arguments.rounds})")
    arguments.rounds = arguments.rounds or (3 if arguments.quick else 15)
    return arguments


def figures(command, case, count):
    """The figures of one process, by name. Throws Unavailable."""
    ended = process.run(command + [case, str(count)], TIMEOUT)
    if ended.code != 0:
        lines = (ended.errors.strip() or ended.output.strip()).splitlines() or [f"exit code {ended.code}"]
        raise peers.Unavailable(lines[-1])
    return {name: float(value) for name, value in (part.split("=") for part in ended.output.split())}


def measured(arguments):
    """The results of a run, in the form of the file."""
    builds = peers.Builds(arguments.scratch_path)
    print("cookies: building", file=sys.stderr)
    try:
        program = builds.product("CookieBenchmarks")
    except peers.Unavailable as reason:
        sys.exit(f"cookies: {reason}")
    commands = {
        "errand": [program, "errand"], "libpsl": [program, "libpsl"],
        "cookiejar": [sys.executable, str(BENCHMARKS / "Peers" / "python" / "cookiejar.py")],
    }
    before, made = os.getloadavg()[0], datetime.datetime.now(datetime.timezone.utc)
    results, unavailable = {}, {}
    for case in cookiereport.CASES:
        chosen = [peer for peer in PEERS if case in peer.cases]
        results[case] = {peer.name: [] for peer in chosen}
        for _ in range(arguments.rounds):
            for peer in chosen:
                if peer.name in unavailable:
                    continue
                try:
                    one = figures(commands[peer.name], case, peer.counts[0 if arguments.quick else 1])
                    results[case][peer.name].append([round(one["cpu_ns"], 1), one.get("allocations")])
                except peers.Unavailable as reason:
                    unavailable[peer.name] = str(reason)
    versions = machine.versions()
    return {
        "made": f"{made:%Y-%m-%d %H:%M} UTC", "rounds": arguments.rounds, "load": [before, os.getloadavg()[0]], "machine": machine.machine(),
        "versions": {name: versions[name] for name in ("Errand", "Swift", "Python")} | {"libpsl": libpsl()}, "unavailable": unavailable,
        "figures": results,
    }


def libpsl():
    return machine.found(r"^Version: (\S+)", ["dpkg-query", "-W", "-f", "Version: ${Version}", "libpsl5"])


def main():
    arguments = parse_arguments()
    results = measured(arguments)
    if arguments.is_whole:
        cookiereport.write(results)
        results_file.update(results_file.newest())
    print("\n".join(cookiereport.rendered(results)))


if __name__ == "__main__":
    main()
