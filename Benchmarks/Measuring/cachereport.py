"""The results of Benchmarks/cache: their cases, and their tables."""

import json
from pathlib import Path
from typing import NamedTuple

import report

BENCHMARKS = Path(__file__).resolve().parent.parent
FILE = BENCHMARKS / "Results" / "cache.json"


class Case(NamedTuple):
    title: str
    body_bytes: int
    # The requests in one round, by program.
    counts: dict


STORES = ("memory", "disk", "hishel-memory", "hishel-disk")
CASES = {
    "hit-4k": Case("a hit, 4 KiB", 4 << 10, {"memory": 50_000, "disk": 3_000, "hishel-memory": 1_000, "hishel-disk": 1_000, "nginx": 2_000, "wrk": 1}),
    "hit-1m": Case("a hit, 1 MiB", 1 << 20, {"memory": 50_000, "disk": 200, "hishel-memory": 100, "hishel-disk": 100, "nginx": 300, "wrk": 1}),
    "store-4k": Case("a response is stored, 4 KiB", 4 << 10, {"memory": 10_000, "disk": 500, "hishel-memory": 500, "hishel-disk": 100}),
    "store-1m": Case("a response is stored, 1 MiB", 1 << 20, {"memory": 500, "disk": 100, "hishel-memory": 50, "hishel-disk": 20}),
    "many": Case("a hit among 100,000 entries, 1 KiB", 1 << 10, {"memory": 20_000, "disk": 2_000, "hishel-memory": 500, "hishel-disk": 500}),
    "open": Case("open a store with 100,000 entries, and the first hit", 1 << 10, {"disk": 1, "hishel-disk": 1}),
}
LARGE_CASES = ("bodies", "limited", "misses")
LABELS = {
    "memory": "Errand, memory", "disk": "Errand, SQLite", "hishel-memory": "hishel, SQLite in memory", "hishel-disk": "hishel, SQLite",
    "nginx": "nginx, asked by Errand", "wrk": "nginx, asked by wrk",
}
# The store with which a program is compared.
REFERENCES = {"hishel-memory": "memory", "hishel-disk": "disk", "nginx": "disk", "wrk": "disk"}


def cpu(one):
    return None if one["user_ns"] is None else report.cpu(one)


def table(results):
    lines = []
    for case, (title, _, _) in CASES.items():
        if case not in results["figures"]:
            continue
        rounds = report.Rounds(results, case)
        for name in results["figures"][case]:
            if not rounds.has(name):
                lines.append([title, LABELS[name], "not available", "", "", "", ""])
                continue
            reference = REFERENCES.get(name)
            lines.append([
                title, LABELS[name], report.short_time(rounds.median(name, report.wall)), report.time_text(rounds.median(name, cpu)),
                report.time_text(rounds.median(name, "p99_ns")), report.number(rounds.median(name, "allocations"), "{:.1f}"),
                f"{report.number(rounds.ratio(name, reference, report.wall), '{:,.1f}')} × {LABELS[reference].split(', ')[1]}" if reference else "",
            ])
    return report.grid(["what", "program", "time", "CPU", "p99", "allocations", "time ÷ Errand"], lines)


def large_table(large):
    """The measurements of large bodies, with their aims."""
    lines = []
    for name, title in (("bodies", "16 MiB from nginx"), ("limited", "16 MiB from nginx at 100 MiB/s")):
        if name not in large:
            continue
        one = large[name]
        share = one["added_p50_ns"] / one["plain_p50_ns"]
        lines += [
            [title, "stored", f"{one['stored']} of {one['count']}", f"at least {one['count'] - one['count'] // 100}"],
            [title, "time without a cache, with a cache", f"{report.time_text(one['plain_p50_ns'])}, {report.time_text(one['cached_p50_ns'])}", ""],
            [
                title, "added time, median and p95", f"{signed(one['added_p50_ns'])} ({share:.1%}), {signed(one['added_p95_ns'])}",
                "at most 50 ms" if name == "bodies" else "at most 5 %",
            ],
        ]
    if "misses" in large:
        one = large["misses"]
        title = f"{one['count']:,} concurrent misses of 16 MiB"
        lines += [
            [title, "bytes that wait, at most", f"{one['peak_waiting_bytes'] / (1 << 20):.2f} MiB", "at most 2 MiB"],
            [title, "time of all", report.time_text(one["wall_ns"]), ""],
        ]
    return report.grid(["what", "figure", "measured", "aim"], lines) if lines else []


def signed(nanoseconds):
    return ("−" if nanoseconds < 0 else "") + report.time_text(abs(nanoseconds))


def rendered(results):
    """The lines of the tables and of their head."""
    machine, versions, load = results["machine"], results["versions"], results["load"]
    lines = [
        "## The cache", "", "Written by `Benchmarks/cache`. [README.md](README.md#the-cache) explains the figures.", "",
        f"- {results['made']}, {results['rounds']} rounds",
        f"- {machine['processor']}, {machine['cores']} cores, {machine['memory_gib']} GiB, {machine['system']}",
        f"- load average: {load[0]:.1f} before, {load[1]:.1f} after; the measurement itself makes 1 to 2",
        "- " + ", ".join(f"{name} {version}" for name, version in versions.items()),
    ]
    for rows in (table(results), large_table(results["large"])):
        if len(rows) > 2:
            lines += ["", *rows]
    for case, reasons in results["unavailable"].items():
        for name, reason in reasons.items():
            lines += ["", f"Not available in {case}: {LABELS[name]}: {reason}"]
    return lines


def section():
    """The section of RESULTS.md; empty without a full run."""
    return rendered(json.loads(FILE.read_text())) if FILE.exists() else []
