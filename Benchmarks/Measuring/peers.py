"""The measured cases, and the compared clients with their builds and their commands."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

BENCHMARKS = Path(__file__).resolve().parent.parent
REGISTRY = Path("/usr/share/cargo/registry")


class Case(NamedTuple):
    title: str
    # The kind of request: see Kind of ClientHarness.
    kind: str
    # Requests in progress at a time.
    at_once: int
    # plain, secure, http2 or uploads.
    server: str
    # The fetched or sent file.
    file: str
    # Requests in one round, quick and full.
    counts: tuple
    # Only with --large.
    is_large: bool = False

    @property
    def moves_large_bodies(self):
        return self.kind in ("download", "upload")


CASES = {
    "get": Case("small GET, one after the other", "get", 1, "plain", "small.json", (800, 3000)),
    "get16": Case("small GET, 16 at once", "get", 16, "plain", "small.json", (1600, 4800)),
    "get256": Case("small GET, 256 at once", "get", 256, "plain", "small.json", (2560, 7680)),
    "get16-tls": Case("small GET over TLS, 16 at once", "get", 16, "secure", "small.json", (1600, 4800)),
    "h2-16": Case("small GET over HTTP/2, 16 at once", "get", 16, "http2", "small.json", (1600, 4800)),
    "h2-256": Case("small GET over HTTP/2, 256 at once", "get", 256, "http2", "small.json", (2560, 7680)),
    "h2-download": Case("64 MiB down over HTTP/2, chunk by chunk", "download", 1, "http2", "large.bin", (2, 6)),
    "typed": Case("small GET, JSON decoded, one after the other", "typed", 1, "plain", "small.json", (500, 2000)),
    "stack8": Case("small GET through eight middleware, 16 at once", "get", 16, "plain", "small.json", (1600, 4800)),
    "download": Case("64 MiB down, chunk by chunk", "download", 1, "plain", "large.bin", (2, 6)),
    "upload": Case("64 MiB up, from a file", "upload", 1, "uploads", "large.bin", (2, 6)),
    "download4g": Case("4 GiB down, chunk by chunk", "download", 1, "plain", "huge.bin", (1, 1), True),
    "upload4g": Case("4 GiB up, from a file", "upload", 1, "uploads", "huge.bin", (1, 1), True),
}

SMALL = ("get", "get16", "get256", "get16-tls")
DOWN, UP = ("download", "download4g"), ("upload", "upload4g")
HTTP2_SMALL = ("h2-16", "h2-256")
HTTP2 = HTTP2_SMALL + ("h2-download",)
ALL = SMALL + ("typed",) + DOWN + UP
STACK = SMALL + DOWN + UP


class Peer(NamedTuple):
    name: str
    # The name in the tables.
    label: str
    cases: tuple
    # The key of the version in machine.versions().
    version: str = ""
    # The share of the requests of the other clients. Slow clients make fewer requests, so that a round ends.
    share: float = 1


# The other clients are compared with the first two.
PEERS = [
    Peer("bare", "bare SwiftNIO handler", SMALL + ("typed",) + DOWN, "SwiftNIO"),
    Peer("ahc", "AsyncHTTPClient", ALL + ("stack8",) + HTTP2, "AsyncHTTPClient"),
    Peer("awaited", "bare handler, awaited by a task", ("get",)),
    Peer("awaited-loop", "bare handler, awaited on its event loop", ("get",)),
    Peer("ahc-loop", "AsyncHTTPClient, on its event loop", ("get",) + HTTP2_SMALL),
    Peer("nio-stack", "Errand, stack over SwiftNIO", STACK + ("stack8",) + HTTP2),
    Peer("nio-stack-loop", "Errand, stack over SwiftNIO, on its event loop", STACK + ("stack8",) + HTTP2),
    Peer("nio-stack8", "Errand, stack of eight over SwiftNIO", ("stack8",)),
    Peer("nio-stack8-loop", "Errand, stack of eight over SwiftNIO, on its event loop", ("stack8",)),
    Peer("nio-client", "Errand, APIClient over SwiftNIO", ("get", "get16", "typed")),
    Peer("nio-client-loop", "Errand, APIClient over SwiftNIO, on its event loop", ("get", "get16", "typed")),
    Peer("nio-transport-loop", "Errand, the transport over SwiftNIO alone, on its event loop", ("get", "get16") + HTTP2_SMALL),
    Peer("urlsession", "URLSession", ALL, "Swift", 0.25),
    Peer("urlsession-transport", "Errand, stack over URLSession", ("get", "get16") + DOWN, share=0.25),
    Peer("go", "Go, net/http", ALL + HTTP2, "Go"),
    Peer("hyper", "hyper", ALL, "hyper"),
    Peer("httpx", "Python, httpx", ALL, "httpx", 0.05),
    Peer("aiohttp", "Python, aiohttp", ALL, "aiohttp"),
    Peer("node", "Node, fetch", ALL, "Node"),
    Peer("curl", "curl, one process", STACK + HTTP2, "curl"),
    Peer("wrk", "wrk, the ceiling", SMALL, "wrk"),
    Peer("h2load", "h2load, the ceiling of HTTP/2", HTTP2_SMALL, "h2load"),
    Peer("memory-prepared", "Errand, stack over a transport in memory, request made beforehand", ("get",), share=10),
    Peer("memory-stack", "Errand, stack over a transport in memory", ("get",), share=10),
    Peer("memory-client", "Errand, APIClient over a transport in memory", ("get", "typed"), share=10),
]
NAMES = [peer.name for peer in PEERS]


class Unavailable(Exception):
    """An error: a peer is not available on this machine. The text is the reason, on one line."""


def output(command, **options):
    """The output of a command, or None if the command fails."""
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True, **options).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None


def build(command, **options):
    """Runs a build without output. Throws Unavailable with the first printed error."""
    try:
        result = subprocess.run(command, capture_output=True, text=True, **options)
    except OSError as error:
        raise Unavailable(str(error)) from None
    if result.returncode != 0:
        lines = [line.strip() for line in (result.stderr + "\n" + result.stdout).splitlines() if line.strip()]
        errors = [line for line in lines if "error" in line.lower()] or lines or ["it says nothing"]
        raise Unavailable(f"{command[0]} failed: {errors[0]}")


def need(program):
    if not shutil.which(program):
        raise Unavailable(f"there is no {program} on the PATH")


class Builds:
    """Builds on demand, below one folder."""

    def __init__(self, scratch):
        self.scratch = Path(scratch).resolve()
        self.made = {}

    def command(self, peer):
        """The start of the peer's command line; the kind, the number at once, the warm-up, the count and the URL follow."""
        kinds = {
            "httpx": "python", "aiohttp": "python", "curl": "tool", "wrk": "tool", "h2load": "tool", "urlsession": "foundation",
            "urlsession-transport": "foundation",
        }
        kind = peer if hasattr(self, peer) else kinds.get(peer, "swift")
        if kind == "tool":
            need(peer)
            return [sys.executable, str(BENCHMARKS / "Peers" / "tools.py"), peer]
        if kind not in self.made:
            try:
                self.made[kind] = getattr(self, kind)()
            except Unavailable as reason:
                self.made[kind] = reason
        made = self.made[kind]
        if isinstance(made, Unavailable):
            raise made
        return made if kind == peer else made + [peer]

    def swift(self):
        return [self.product("ClientBenchmarks")]

    def foundation(self):
        return [self.product("URLSessionBenchmarks")]

    def product(self, name):
        # With scripts/build, which keeps the order of the traits: another order compiles the library again.
        command = [str(BENCHMARKS.parent / "scripts/build"), "-c", "release", "--package-path", str(BENCHMARKS), "--scratch-path", str(self.scratch)]
        build(command + ["--product", name])
        return str(Path(output(command + ["--show-bin-path"])) / name)

    def go(self):
        need("go")
        program = self.scratch / "go-client"
        environment = dict(os.environ, GOCACHE=str(self.scratch / "go-cache"), GOPROXY="off", GOFLAGS="-mod=mod")
        build(["go", "build", "-o", str(program), "."], cwd=BENCHMARKS / "Peers" / "go", env=environment)
        return [str(program)]

    def hyper(self):
        need("cargo")
        for crate in ("hyper-0.14", "hyper-rustls-0.23"):
            if not list(REGISTRY.glob(f"{crate}.*")):
                raise Unavailable(f"there is no {crate} in {REGISTRY} (Debian's librust-hyper-dev and librust-hyper-rustls-dev)")
        target = self.scratch / "hyper"
        environment = dict(os.environ, CARGO_TARGET_DIR=str(target))
        build(["cargo", "build", "--release", "--offline"], cwd=BENCHMARKS / "Peers" / "hyper", env=environment)
        return [str(target / "release" / "hyper-client")]

    def python(self):
        folder = BENCHMARKS / "Peers" / "python"
        python = self.scratch / "python" / "bin" / "python3"
        if not python.exists():
            build([sys.executable, "-m", "venv", str(self.scratch / "python")])
        # Uses the network only for missing packages.
        build([str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", str(folder / "requirements.txt")])
        return [str(python), str(folder / "client.py")]

    def node(self):
        need("node")
        return ["node", str(BENCHMARKS / "Peers" / "node" / "client.mjs")]
