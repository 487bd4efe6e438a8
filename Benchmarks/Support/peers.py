"""The clients that are compared: how they are built, and how they are called."""

import os
import shutil
import subprocess
from pathlib import Path

BENCHMARKS = Path(__file__).resolve().parent.parent
REGISTRY = Path("/usr/share/cargo/registry")

CASES = {
    "get": ("small GET, one after the other", "/small.json"),
    "get16": ("small GET, 16 at once", "/small.json"),
    "download": ("64 MiB, chunk by chunk", "/large.bin"),
    "typed": ("small GET, JSON decoded", "/small.json"),
}

SMALL = ("get", "get16")

# Name, what the table calls it, which cases it has. The first two are what the others are compared with.
PEERS = [
    ("bare", "bare SwiftNIO handler", ("get", "get16", "download", "typed")),
    ("ahc", "AsyncHTTPClient's own calls", ("get", "get16", "download", "typed")),
    ("awaited", "bare handler, awaited by a task", ("get",)),
    ("awaited-loop", "bare handler, awaited on its event loop", ("get",)),
    ("errand-stack", "Errand, stack over AsyncHTTPClient", ("get", "get16", "download")),
    ("ahc-loop", "AsyncHTTPClient's own calls, on its event loop", ("get",)),
    ("errand-stack-loop", "Errand, stack over AsyncHTTPClient (borrowed), on its event loop", ("get",)),
    ("errand-client", "Errand, APIClient over AsyncHTTPClient", ("get", "get16", "typed")),
    ("nio-stack", "Errand, stack over SwiftNIO", ("get", "get16", "download")),
    ("nio-stack-loop", "Errand, stack over SwiftNIO, on its event loop", ("get", "get16")),
    ("nio-client", "Errand, APIClient over SwiftNIO", ("get", "get16", "typed")),
    ("nio-client-loop", "Errand, APIClient over SwiftNIO, on its event loop", ("get", "get16", "typed")),
    ("nio-transport-loop", "Errand, the transport over SwiftNIO alone, on its event loop", ("get", "get16")),
    ("spike-stack", "Errand, stack over the spike", SMALL),
    ("spike-stack-loop", "Errand, stack over the spike, on its event loop", SMALL),
    ("spike-client-loop", "Errand, APIClient over the spike, on its event loop", ("get", "get16", "typed")),
    ("spike-transport-direct-loop", "the spike without a stack, own codec, on its event loop", ("get",)),
    ("spike-stack-direct", "Errand, stack over the spike, own codec", ("get",)),
    ("spike-stack-direct-loop", "Errand, stack over the spike, own codec, on its event loop", SMALL),
    ("spike-client-direct-loop", "Errand, APIClient over the spike, own codec, on its event loop", ("get", "get16", "typed")),
    ("go", "Go, net/http", ("get", "get16", "download", "typed")),
    ("hyper", "hyper", ("get", "get16", "download", "typed")),
    ("memory-prepared", "Errand, stack over a transport in memory, request made beforehand", ("get",)),
    ("memory-stack", "Errand, stack over a transport in memory", ("get",)),
    ("memory-client", "Errand, APIClient over a transport in memory", ("get", "typed")),
]


class Unavailable(Exception):
    """A peer can't be had here; its text says why, on one line."""


def output(command, **options):
    """What a command prints, or None where it fails."""
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True, **options).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None


def build(command, **options):
    """Runs a build in silence. Throws Unavailable with the first error that it prints."""
    try:
        result = subprocess.run(command, capture_output=True, text=True, **options)
    except OSError as error:
        raise Unavailable(str(error)) from None
    if result.returncode != 0:
        lines = [line.strip() for line in (result.stderr + "\n" + result.stdout).splitlines() if line.strip()]
        errors = [line for line in lines if "error" in line.lower()] or lines or ["it says nothing"]
        raise Unavailable(f"{command[0]} failed: {errors[0]}")


class Builds:
    """Builds on demand, below one folder."""

    def __init__(self, scratch):
        self.scratch = Path(scratch).resolve()
        self.made = {}

    def command(self, peer):
        """The start of the peer's command line; the case, rounds, count and URL follow."""
        kind = peer if peer in ("go", "hyper") else "swift"
        if kind not in self.made:
            try:
                self.made[kind] = getattr(self, kind)()
            except Unavailable as reason:
                self.made[kind] = reason
        made = self.made[kind]
        if isinstance(made, Unavailable):
            raise made
        return [str(made)] if kind == peer else [str(made), peer]

    def swift(self):
        command = ["swift", "build", "-c", "release", "--package-path", str(BENCHMARKS), "--scratch-path", str(self.scratch)]
        build(command + ["--product", "ClientBenchmarks"])
        return Path(output(command + ["--show-bin-path"])) / "ClientBenchmarks"

    def go(self):
        if not shutil.which("go"):
            raise Unavailable("there is no go on the PATH")
        program = self.scratch / "go-client"
        environment = dict(os.environ, GOCACHE=str(self.scratch / "go-cache"), GOPROXY="off", GOFLAGS="-mod=mod")
        build(["go", "build", "-o", str(program), "."], cwd=BENCHMARKS / "Peers" / "go", env=environment)
        return program

    def hyper(self):
        if not shutil.which("cargo"):
            raise Unavailable("there is no cargo on the PATH")
        if not list(REGISTRY.glob("hyper-0.14.*")):
            raise Unavailable(f"there is no hyper 0.14 in {REGISTRY} (Debian's librust-hyper-dev)")
        target = self.scratch / "hyper"
        environment = dict(os.environ, CARGO_TARGET_DIR=str(target))
        build(["cargo", "build", "--release", "--offline"], cwd=BENCHMARKS / "Peers" / "hyper", env=environment)
        return target / "release" / "hyper-client"
