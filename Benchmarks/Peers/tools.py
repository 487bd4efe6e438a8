#!/usr/bin/env python3
"""curl, wrk and h2load: the same measurements as ClientBenchmarks (`tools.py curl|wrk|h2load KIND AT_ONCE WARMUP COUNT URL`), with the same line of figures.

curl is one process for all requests, without a warm-up. The time of a run without requests is subtracted, because it is the start of curl.
wrk makes as many requests as possible in two seconds, for every COUNT. wrk trusts every certificate, and does not count the bytes of bodies.
h2load makes COUNT requests over one HTTP/2 connection. h2load checks no certificate, and its figures include the connect.
"""

import os
import re
import resource
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "Measuring"))

import process  # noqa: E402

SECONDS = 2


def measured(command):
    """The output of a program, its wall, user and system time in nanoseconds, and its peak memory."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    ended = process.run(command, None)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if ended.code != 0:
        sys.exit(f"{command[0]} failed with {ended.code}: {(ended.errors or ended.output)[:200]}")
    times = [ended.wall_ns] + [(getattr(after, name) - getattr(before, name)) * 1e9 for name in ("ru_utime", "ru_stime")]
    return ended.output, times, ended.peak_bytes


def curl(kind, at_once, count, url):
    command = ["curl", "--silent", "--show-error", "--fail", "--output", "/dev/null"]
    command += ["--write-out", "%{time_total} %{size_" + kind.replace("get", "download") + "}\\n"]
    if at_once > 1:
        command += ["--parallel", "--parallel-max", str(at_once)]
    if "BENCHMARK_HTTP2" in os.environ:
        command += ["--http2"]
    if "BENCHMARK_CA" in os.environ:
        command += ["--cacert", os.environ["BENCHMARK_CA"]]
    if kind == "upload":
        command += ["--upload-file", os.environ["BENCHMARK_FILE"]]
    output, times, peak = measured(command + [f"{url}?[1-{count}]"])
    lines = [line.split() for line in output.splitlines()]
    if len(lines) != count:
        sys.exit(f"curl made {len(lines)} requests of {count}")
    return times, sorted(float(seconds) * 1e9 for seconds, _ in lines), sum(int(size) for _, size in lines), peak


def measure_curl(kind, at_once, _, count, url):
    if kind not in ("get", "download", "upload"):
        sys.exit(f"curl has no {kind}")
    start = measured(["curl", "--silent", "--output", "/dev/null", "file:///dev/null"])[1]
    times, latencies, size, peak = curl(kind, at_once, count, url)
    # If there are many transfers at a time, curl's time of a transfer leaves out the wait in the queue.
    percentiles = [latencies[(len(latencies) * part + 99) // 100 - 1] if at_once == 1 else None for part in (50, 99)]
    # Other work on the machine may have delayed the start.
    each = [max(whole - less, 1) / count for whole, less in zip(times, start)]
    return each + percentiles, peak, size / count


def measure_wrk(kind, at_once, _, count, url):
    if kind != "get":
        sys.exit(f"wrk has no {kind}")
    output, times, peak = measured(["wrk", "-t1", f"-c{at_once}", f"-d{SECONDS}s", "--latency", url])
    if "Non-2xx" in output or "Socket errors" in output:
        sys.exit("wrk had errors: " + " ".join(output.split())[:200])
    requests, seconds = re.search(r"(\d+) requests in ([\d.]+)s", output).groups()
    units = {"us": 1e3, "ms": 1e6, "s": 1e9}
    percentiles = []
    for part in ("50", "99"):
        number, unit = re.search(rf"^\s*{part}%\s+([\d.]+)(us|ms|s)$", output, re.MULTILINE).groups()
        percentiles.append(float(number) * units[unit])
    count = int(requests)
    return [float(seconds) * 1e9 / count, times[1] / count, times[2] / count] + percentiles, peak, None


def measure_h2load(kind, at_once, _, count, url):
    if kind != "get":
        sys.exit(f"h2load has no {kind}")
    # Enough requests, so that the connect has no effect.
    count *= 10
    output, times, peak = measured(["h2load", "-t1", "-c1", f"-m{at_once}", f"-n{count}", url])
    done = re.search(r"requests: \d+ total, \d+ started, \d+ done, (\d+) succeeded", output)
    if not done or int(done.group(1)) != count:
        sys.exit("h2load had errors: " + " ".join(output.split())[:200])
    size = int(re.search(r"\((\d+)\) data", output).group(1))
    return [each / count for each in times] + [None, None], peak, size / count


def main():
    tool, kind, url = sys.argv[1], sys.argv[2], sys.argv[6]
    at_once, warmup, count = (int(text) for text in sys.argv[3:6])
    figures, peak, size = {"curl": measure_curl, "wrk": measure_wrk, "h2load": measure_h2load}[tool](kind, at_once, warmup, count, url)
    names = ("wall_ns", "user_ns", "system_ns", "p50_ns", "p99_ns", "peak_bytes", "bytes")
    print(" ".join(f"{name}={value}" for name, value in zip(names, figures + [peak, size]) if value is not None))


main()
