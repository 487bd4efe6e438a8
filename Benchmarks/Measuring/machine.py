"""The machine of a measurement, and the versions of all programs."""

import json
import os
import platform
import re
import subprocess
from pathlib import Path

import peers
import servers


def machine():
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (OSError, ValueError):
        memory = 0
    return {
        "processor": processor(), "cores": os.cpu_count(), "memory_gib": round(memory / (1 << 30), 1),
        "system": f"{platform.system()} {platform.release()}",
    }


def processor():
    try:
        return re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text()).group(1)
    except (OSError, AttributeError):
        return platform.processor() or platform.machine()


def versions():
    """The versions by name; "?" if a version is unknown."""
    nginx = servers.program()
    return {
        "Errand": commit(),
        "Swift": found(r"version ([\w.-]+)", ["swift", "--version"]),
        "SwiftNIO": pinned("swift-nio"),
        "AsyncHTTPClient": pinned("async-http-client"),
        "nginx": found(r"nginx/(\S+)", [nginx, "-v"]) if nginx else "?",
        "Go": found(r"go version go(\S+)", ["go", "version"]),
        "hyper": crate("hyper"), "tokio": crate("tokio"), "hyper-rustls": crate("hyper-rustls"),
        "rustc": found(r"rustc (\S+)", ["rustc", "--version"]),
        "Python": platform.python_version(),
        "httpx": required("httpx"), "aiohttp": required("aiohttp"),
        "Node": found(r"v(\S+)", ["node", "--version"]),
        "curl": found(r"curl (\S+)", ["curl", "--version"]),
        "h2load": found(r"nghttp2/(\S+)", ["h2load", "--version"]),
        "wrk": found(r"wrk (?:debian/)?(\S+)", ["wrk", "-v"]),
    }


def commit():
    """The commit, with "-dirty" if files have changed since. Files of results do not count."""
    git = ["git", "-C", str(peers.BENCHMARKS)]
    name = peers.output(git + ["rev-parse", "--short", "HEAD"])
    if not name:
        return "?"
    changes = peers.output(git + ["status", "--porcelain", "--", ":/", ":(exclude,top)Benchmarks/Results", ":(exclude,top)Benchmarks/RESULTS.md"])
    return name + ("-dirty" if changes else "")


def found(pattern, command):
    """The first group of a pattern in the version output of a program."""
    try:
        result = subprocess.run(command, capture_output=True, text=True)
    except OSError:
        return "?"
    match = re.search(pattern, result.stdout + result.stderr)
    return match.group(1) if match else "?"


def pinned(package):
    try:
        pins = json.loads((peers.BENCHMARKS / "Package.resolved").read_text())["pins"]
        return next(pin["state"]["version"] for pin in pins if pin["identity"] == package)
    except (OSError, KeyError, StopIteration, ValueError):
        return "?"


def crate(name):
    versions = sorted(folder.name[len(name) + 1:] for folder in peers.REGISTRY.glob(f"{name}-[0-9]*"))
    return versions[-1] if versions else "?"


def required(package):
    text = (peers.BENCHMARKS / "Peers" / "python" / "requirements.txt").read_text()
    return re.search(rf"^{package}==(\S+)$", text, re.MULTILINE).group(1)
