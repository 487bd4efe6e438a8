"""An application with streamed bodies: event streams, lines, content codings and compressed requests. Hypercorn serves the application (ASGI), so that
the checks run against the HTTP/1.1 and HTTP/2 of a real server.

Tools/checks.py starts the application. Zstandard needs the program zstd, and Brotli needs the package brotlicffi, which httpbin brings.
"""
import asyncio
import gzip
import json
import socket
import subprocess
import sys
import time
import urllib.request
import zlib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TEXT = "".join(f"{number:05} decoded as it should be\n" for number in range(4000)).encode()
END = b"03999 decoded as it should be\n"


def zstandard(data):
    return subprocess.run(["zstd", "-q", "-c"], input=data, capture_output=True, check=True).stdout


def brotli(data):
    import brotlicffi
    return brotlicffi.compress(data)


def raw_deflate(data):
    encoder = zlib.compressobj(wbits=-15)
    return encoder.compress(data) + encoder.flush()


# name: (the value of Content-Encoding, what encodes the text)
CODED = {
    "gzip": ("gzip", gzip.compress),
    "gzip-members": ("gzip", lambda data: gzip.compress(data[:1000]) + gzip.compress(data[1000:])),
    "deflate": ("deflate", zlib.compress),
    "deflate-raw": ("deflate", raw_deflate),
    "twice": ("deflate, gzip", lambda data: gzip.compress(zlib.compress(data))),
    "unknown": ("x-other", lambda data: data),
    "cut-off": ("gzip", lambda data: gzip.compress(data)[:-10]),
    "corrupt": ("gzip", lambda data: gzip.compress(data)[:50] + b"x" * 50),
    "bomb": ("gzip", lambda data: gzip.compress(bytes(50_000_000))),
    "br": ("br", brotli),
    "zstd": ("zstd", zstandard),
}

# The pieces of an event stream for a client with this last event ID, cut at unusual places. The next ID has no pieces: 204.
EVENTS = {
    b"": [b"\xef\xbb", b"\xbfretry: 10\n\n: keep-alive\n\nid: 1\r", b"\nevent: tick\r\nda", b"ta: on", b"e\r\n\r\n", b"id: 2\ndata: zw\xc3",
          b"\xb6lf\ndata: lines\n\n", b"data: never complete\n"],
    b"2": [b"id: 3\ndata: three\n\n"],
}


async def events(scope, send):
    fields = dict(scope["headers"])
    pieces = EVENTS.get(fields.get(b"last-event-id", b""))
    if pieces is None:
        return await respond(send, 204, {}, b"")
    await start(send, 200, {"content-type": "text/event-stream; charset=utf-8", "cache-control": "no-store"})
    await stream(send, pieces)


async def chat(scope, receive, send):
    question = json.loads(await body(receive))["question"]
    await start(send, 200, {"content-type": "text/event-stream"})
    words = [b'data: {"text":"%s "}\n\n' % word.encode() for word in question.split()]
    await stream(send, words + [b"data: [DONE]\n\n"])


async def silent(send):
    await start(send, 200, {"content-type": "text/event-stream"})
    await asyncio.sleep(20)


async def coded(name, scope, send):
    coding, encode = CODED[name]
    await start(send, 200, {"content-type": "text/plain", "content-encoding": coding})
    data = encode(TEXT)
    await stream(send, [data[at:at + 5000] for at in range(0, len(data), 5000)])


async def decode(scope, receive, send):
    """The received body, and its coding."""
    coding = dict(scope["headers"]).get(b"content-encoding", b"identity").decode()
    data = await body(receive)
    plain = gzip.decompress(data) if coding == "gzip" else data
    await respond(send, 200, {}, f"coding {coding}, received {len(data) < len(plain) and 'fewer' or 'all'}, {len(plain)} bytes".encode())


async def refuse(scope, receive, send, fields):
    """Refuses a request with a coding, and reads every other request."""
    if b"content-encoding" in dict(scope["headers"]):
        await body(receive)
        return await respond(send, 415, fields, b"")
    await decode(scope, receive, send)


async def app(scope, receive, send):
    if scope["type"] != "http":
        return
    path = scope["path"]
    if path == "/events":
        await events(scope, send)
    elif path == "/chat":
        await chat(scope, receive, send)
    elif path == "/silent":
        await silent(send)
    elif path == "/page":
        await respond(send, 200, {"content-type": "text/html"}, b"<p>")
    elif path == "/ndjson":
        await start(send, 200, {"content-type": "application/x-ndjson"})
        await stream(send, [b'{"n":1}\n{"n"', b":2}\r", b"\n\n", b'{"n":3}'])
    elif path.startswith("/coded/"):
        await coded(path.removeprefix("/coded/"), scope, send)
    elif path == "/accepts":
        await respond(send, 200, {}, dict(scope["headers"]).get(b"accept-encoding", b"") + b";")
    elif path == "/decode":
        await decode(scope, receive, send)
    elif path == "/refuse":
        await refuse(scope, receive, send, {"accept-encoding": "identity"})
    elif path == "/refuse-silently":
        await refuse(scope, receive, send, {})
    elif path == "/refuse-all":
        await body(receive)
        await respond(send, 415, {"accept-encoding": "gzip"}, b"")
    else:
        await respond(send, 404, {}, b"")


async def body(receive):
    data = b""
    while True:
        message = await receive()
        data += message.get("body", b"")
        if not message.get("more_body"):
            return data


async def start(send, status, fields):
    await send({"type": "http.response.start", "status": status, "headers": [(k.encode(), v.encode()) for k, v in fields.items()]})


async def stream(send, pieces):
    for piece in pieces:
        await send({"type": "http.response.body", "body": piece, "more_body": True})
        await asyncio.sleep(0.01)
    await send({"type": "http.response.body", "body": b""})


async def respond(send, status, fields, data):
    await start(send, status, fields)
    await send({"type": "http.response.body", "body": data})


class Server:
    """The application on a free port of loopback, during the context. `url` is empty if Hypercorn is not installed."""

    def __init__(self):
        self.hypercorn = ROOT / ".build/checks-venv/bin/hypercorn"
        self.url, self.process = "", None

    def __enter__(self):
        if not self.hypercorn.exists():
            return self
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        command = [str(self.hypercorn), "--bind", f"127.0.0.1:{port}", "--log-level", "critical", "bodies:app"]
        self.process = subprocess.Popen(command, cwd=ROOT / "Tools", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(100):
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/accepts", timeout=1).close()
                self.url = f"http://127.0.0.1:{port}"
                return self
            except OSError:
                time.sleep(0.1)
        print("bodies.py: Hypercorn does not respond", file=sys.stderr)
        return self

    def __exit__(self, *_):
        if self.process:
            self.process.terminate()
            self.process.wait(10)
