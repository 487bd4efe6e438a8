"""The results of Benchmarks/cookies: their file, and their table."""

import json
from pathlib import Path

import report

BENCHMARKS = Path(__file__).resolve().parent.parent
FILE = BENCHMARKS / "Results" / "cookies.json"

# The figures of a round.
COLUMNS = ("cpu_ns", "allocations")
# The cases, with the limit in nanoseconds that the library aims at, if there is one.
CASES = {
    "none": ("no cookie for the request, 3,000 cookies in the jar", 300),
    "sites": ("a cookie for the request, one of 3,000 sites", 3_000),
    "site": ("a cookie for the request, one of 3,000 hosts of a site", 3_000),
    "suffix": ("the registrable domains of 8 hosts", None),
    "first": ("the first registrable domain of a process", 5_000_000),
}
LABELS = {"errand": "Errand", "cookiejar": "Python, http.cookiejar", "libpsl": "libpsl"}


def write(results):
    head = {name: value for name, value in results.items() if name != "figures"}
    rows = [
        f"  {json.dumps(case)}: {{\n"
        + ",\n".join(f"   {json.dumps(name)}: {json.dumps(rounds, separators=(',', ':'))}" for name, rounds in peers.items()) + "\n  }"
        for case, peers in results["figures"].items()
    ]
    FILE.write_text(json.dumps(head, indent=1, ensure_ascii=False)[:-2] + ',\n "figures": {\n' + ",\n".join(rows) + "\n }\n}\n")


def rendered(results):
    """The lines of the table and of its head."""
    machine, versions, load = results["machine"], results["versions"], results["load"]
    lines = [
        "## Cookies and public suffixes", "",
        "Written by `Benchmarks/cookies`. [README.md](README.md#cookies-and-public-suffixes) explains the figures.", "",
        f"- {results['made']}, {results['rounds']} rounds",
        f"- {machine['processor']}, {machine['cores']} cores, {machine['memory_gib']} GiB, {machine['system']}",
        f"- load average: {load[0]:.1f} before, {load[1]:.1f} after; the measurement itself makes 1",
        "- " + ", ".join(f"{name} {version}" for name, version in versions.items()), "",
    ]
    table = []
    for case, (title, aim) in CASES.items():
        rounds = report.Rounds(dict(results, columns=COLUMNS, unavailable={case: results["unavailable"]}), case)
        for name in results["figures"].get(case, {}):
            cells = [title, LABELS[name]]
            if name in results["unavailable"]:
                table.append(cells + ["not available", "", "", ""])
                continue
            is_own = name == "errand"
            table.append(cells + [
                report.short_time(rounds.median(name, "cpu_ns")), report.number(rounds.median(name, "allocations"), "{:.1f}"),
                report.number(None if is_own else rounds.ratio(name, "errand", lambda one: one["cpu_ns"]), "{:,.1f}"),
                f"at most {report.short_time(aim)}" if is_own and aim else "",
            ])
    lines += report.grid(["what", "program", "CPU", "allocations", "CPU ÷ Errand", "aim"], table)
    for name, reason in results["unavailable"].items():
        lines += ["", f"Not available: {LABELS[name]}: {reason}"]
    return lines


def section():
    """The section of RESULTS.md; empty without a full run."""
    return rendered(json.loads(FILE.read_text())) if FILE.exists() else []
