"""The results of a run: their file (JSON, one line for each client of a case), and their tables."""

import json
import statistics

import peers

# The measurements of one request, in the order of the raw figures.
COLUMNS = ("wall_ns", "user_ns", "system_ns", "allocations", "bytes", "p50_ns", "p99_ns", "peak_bytes")

# The clients of today. The tables leave out a client that was measured and has been removed since. Its raw figures remain.
CLIENTS = {peer.name: peer for peer in peers.PEERS}


# --- The file


def raw(one):
    """The figures of one round as a list. None for each missing figure."""
    return [None if one.get(name) is None else round(one[name], 1 if name == "allocations" else None) for name in COLUMNS]


def write(results, path):
    head = {name: value for name, value in results.items() if name != "figures"}
    lines = [json.dumps(head, indent=1, ensure_ascii=False)[:-2] + ",", ' "figures": {']
    cases = []
    for case, clients in results["figures"].items():
        rows = [f"   {json.dumps(name)}: {json.dumps(rounds, separators=(',', ':'))}" for name, rounds in clients.items()]
        cases.append(f"  {json.dumps(case)}: {{\n" + ",\n".join(rows) + "\n  }")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines + [",\n".join(cases), " }", "}", ""]))


def read(path):
    return json.loads(path.read_text())


# --- Figures of one round


def wall(one):
    return one["wall_ns"]


def cpu(one):
    return one["user_ns"] + one["system_ns"]


def rate(one):
    """Requests, or bytes, for each nanosecond."""
    return 1 / one["wall_ns"]


class Rounds:
    """The rounds of each client of a case, by name."""

    def __init__(self, results, case):
        self.rounds = {
            name: [dict(zip(results["columns"], values)) for values in rounds]
            for name, rounds in results["figures"].get(case, {}).items()
            # A client that failed in a later round is not compared by its first rounds.
            if name not in results["unavailable"].get(case, {})
        }

    def has(self, name):
        return bool(self.rounds.get(name))

    def median(self, name, figure):
        """None if the client does not measure the figure."""
        values = [figure(one) if callable(figure) else one[figure] for one in self.rounds.get(name, [])]
        values = [value for value in values if value is not None]
        return statistics.median(values) if values else None

    def ratio(self, name, reference, figure):
        """The median of the ratios of the rounds; None without figures to compare."""
        if name.startswith("memory"):
            return None
        pairs = [(figure(one), figure(other)) for one, other in zip(self.rounds.get(name, []), self.rounds.get(reference, []))]
        ratios = [one / other for one, other in pairs if other > 0]
        return statistics.median(ratios) if ratios else None

    def received(self, name):
        """The bytes of one body."""
        return self.median(name, "bytes") or 0


# --- Cells


def number(value, form="{:.2f}"):
    return "—" if value is None else form.format(value)


def time_text(nanoseconds):
    if nanoseconds is None:
        return "—"
    for limit, unit in ((1e6, 1e3), (1e9, 1e6)):
        if nanoseconds < limit:
            return f"{nanoseconds / unit:.1f} " + ("µs" if unit == 1e3 else "ms")
    return f"{nanoseconds / 1e9:.2f} s"


def short_time(nanoseconds):
    """A time with a unit from nanoseconds."""
    return f"{nanoseconds:.0f} ns" if nanoseconds is not None and nanoseconds < 1000 else time_text(nanoseconds)


def rate_text(wall_ns):
    return "—" if wall_ns is None else f"{1e9 / wall_ns:,.0f}"


def grid(names, lines):
    rule = ["---"] + ["--:"] * (len(names) - 1)
    return ["| " + " | ".join(row) + " |" for row in [names, rule, *lines]]


def label(results, name):
    peer = CLIENTS[name]
    version = results["versions"].get(peer.version)
    return f"{peer.label} {version}" if version else peer.label


# --- Tables


def summary(results):
    """The summary: one row for each client."""
    sixteen, many = Rounds(results, "get16"), Rounds(results, "get256")
    names = ["client", "requests/s, 16 at once", "÷ AsyncHTTPClient", "CPU", "÷ AsyncHTTPClient", "p99 at 256"]
    lines = []
    for name in [name for name in results["figures"].get("get16", {}) if name in CLIENTS and sixteen.has(name)]:
        lines.append([
            label(results, name), rate_text(sixteen.median(name, wall)), number(sixteen.ratio(name, "ahc", rate)),
            time_text(sixteen.median(name, cpu)), number(sixteen.ratio(name, "ahc", cpu)), time_text(many.median(name, "p99_ns")),
        ])
    return ["## Small GET, one row for each client", "", *grid(names, lines)] if lines else []


# The goals of the transport over SwiftNIO: text, case, figure, client, client of comparison, and limit of the ratio.
AIMS = [
    ("requests per second ÷ AsyncHTTPClient", "get16", rate, "nio-stack", "ahc", ">=", 4),
    ("the same on its event loop", "get16", rate, "nio-stack-loop", "ahc", ">=", 4),
    ("CPU ÷ AsyncHTTPClient", "get16", cpu, "nio-stack", "ahc", "<=", 0.25),
    ("the same on its event loop", "get16", cpu, "nio-stack-loop", "ahc", "<=", 0.25),
    ("CPU ÷ Go", "get16", cpu, "nio-stack", "go", "<=", 1),
    ("CPU on its event loop ÷ bare handler", "get16", cpu, "nio-stack-loop", "bare", "<=", 1.25),
    ("CPU on its event loop ÷ hyper", "get16", cpu, "nio-stack-loop", "hyper", "<=", 1.3),
    ("64 MiB down, throughput ÷ AsyncHTTPClient", "download", rate, "nio-stack", "ahc", ">=", 3),
    ("64 MiB down, throughput ÷ curl", "download", rate, "nio-stack", "curl", ">=", 0.9),
    ("p99 at 256 ÷ Go", "get256", lambda one: one["p99_ns"], "nio-stack", "go", "<=", 1),
]


def aims(results):
    lines = []
    for what, case, figure, name, reference, sign, bound in AIMS:
        value = Rounds(results, case).ratio(name, reference, figure)
        if value is not None:
            is_met = value >= bound if sign == ">=" else value <= bound
            lines.append([what, ("at least " if sign == ">=" else "at most ") + f"{bound:g}", f"{value:.2f}", "yes" if is_met else "no"])
    return ["## Aims of the transport over SwiftNIO", "", *grid(["ratio", "aim", "measured", "met"], lines)] if lines else []


def table(results, case):
    about, rounds, reasons = peers.CASES[case], Rounds(results, case), results["unavailable"].get(case, {})
    if about.moves_large_bodies:
        names = ["client", "GB/s", "CPU for 1 GiB", "peak memory", "GB/s ÷ AHC", "CPU ÷ AHC", "GB/s ÷ curl", "allocations"]
    else:
        names = ["client", "requests/s", "CPU", "p50", "p99", "requests/s ÷ AHC", "CPU ÷ AHC", "CPU ÷ bare", "allocations"]
    lines = []
    for name in results["figures"][case]:
        if name not in CLIENTS:
            continue
        if not rounds.has(name) or name in reasons:
            lines.append([label(results, name), "not available"] + [""] * (len(names) - 2))
            continue
        ahc = [number(rounds.ratio(name, "ahc", rate)), number(rounds.ratio(name, "ahc", cpu))]
        allocations = number(rounds.median(name, "allocations"), "{:.1f}")
        if about.moves_large_bodies:
            size, peak = rounds.received(name), rounds.median(name, "peak_bytes")
            lines.append([
                label(results, name), number(size / rounds.median(name, wall)), time_text(rounds.median(name, cpu) * (1 << 30) / size),
                "—" if peak is None else f"{peak / (1 << 20):.0f} MiB", *ahc, number(rounds.ratio(name, "curl", rate)), allocations,
            ])
        else:
            lines.append([
                label(results, name), rate_text(rounds.median(name, wall)), time_text(rounds.median(name, cpu)),
                time_text(rounds.median(name, "p50_ns")), time_text(rounds.median(name, "p99_ns")), *ahc,
                number(rounds.ratio(name, "bare", cpu)), allocations,
            ])
    text = [f"## {about.title[0].upper()}{about.title[1:]}", "", *grid(names, lines)]
    for reason in dict.fromkeys(f"{name}: {reason}" for name, reason in reasons.items()):
        text += ["", f"Not available: {reason}"]
    return text


def rendered(results):
    machine, versions, load = results["machine"], results["versions"], results["load"]
    rounds = f"{results['rounds']} rounds" + (f", {results['large_rounds']} of the cases of 4 GiB" if results["large_rounds"] else "")
    lines = [
        "# Results", "", f"Written by `{results['command']}`. [README.md](README.md) explains the figures.",
        f"The figures of the clients are from {results['made'][:10]}, for Errand {versions.get('Errand', '?')}. Later commits can have changed the code.", "",
        f"- {results['made']}, {rounds}",
        f"- {machine['processor']}, {machine['cores']} cores, {machine['memory_gib']} GiB, {machine['system']}",
        f"- load average: {load[0]:.1f} before, {load[1]:.1f} after; the measurement itself makes about 2",
        "- " + ", ".join(f"{name} {version}" for name, version in versions.items()),
    ]
    if results.get("file"):
        lines.append(f"- raw figures: [{results['file']}]({results['file']})")
    for section in [summary(results), aims(results)] + [table(results, case) for case in peers.CASES if case in results["figures"]]:
        if section:
            lines += ["", *section]
    return "\n".join(lines) + "\n"
