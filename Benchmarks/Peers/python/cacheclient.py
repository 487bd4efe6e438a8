"""hishel: the same cases as CacheBenchmarks (`cacheclient.py STORE-CASE get 1 WARMUP COUNT BYTES`), with the same line of figures.

    cacheclient.py fill FOLDER COUNT BYTES    fills a store on the disk
    cacheclient.py open FOLDER COUNT BYTES    opens the filled store, and prints the time until the first hit

The client is synchronous, because hishel's asynchronous store needs a thread for each statement. The store in memory is SQLite's own.
"""

import asyncio
import os
import sqlite3
import sys
import time
from email.utils import formatdate
from pathlib import Path

import client
import httpx
from hishel import SqliteStorage
from hishel.httpx import CacheTransport

CHUNK_BYTES = 128 * 1024
MANY, STEP = 100_000, 7_919


class Chunks(httpx.SyncByteStream):
    def __init__(self, chunks):
        self.chunks = chunks

    def __iter__(self):
        return iter(self.chunks)


class Origin(httpx.BaseTransport):
    """A transport that returns a response from memory, which stays fresh for a day."""

    def __init__(self, body_bytes):
        body = bytes(number * 31 % 256 for number in range(body_bytes))
        self.chunks = [body[start:start + CHUNK_BYTES] for start in range(0, body_bytes, CHUNK_BYTES)]
        self.fields = {
            "Server": "a", "Content-Type": "application/octet-stream", "Content-Length": str(body_bytes), "ETag": '"1"',
            "Cache-Control": "max-age=86400",
        }

    def handle_request(self, request):
        return httpx.Response(200, headers={**self.fields, "Date": formatdate(usegmt=True)}, stream=Chunks(self.chunks))


def url(number):
    return f"https://a.example/items/{number}"


def database(folder):
    return Path(folder) / "hishel.sqlite"


def connect(path):
    return sqlite3.connect(path, check_same_thread=False, isolation_level=None)


def client_over(connection, body_bytes):
    transport = CacheTransport(Origin(body_bytes), storage=SqliteStorage(connection=connection), rfc=True)
    return httpx.Client(transport=transport, trust_env=False)


def read(session, number):
    """The number of bytes of a body, and whether the response is a hit."""
    with session.stream("GET", url(number)) as response:
        response.raise_for_status()
        return sum(len(chunk) for chunk in response.iter_raw()), response.extensions["caching"]["from_cache"]


class Hishel:
    def __init__(self, store, case):
        path, body_bytes = database(os.environ["BENCHMARK_FOLDER"]), int(sys.argv[6])
        connection = connect(path if store == "disk" else ":memory:")
        if case == "many" and store == "memory":
            with connect(path) as filled:
                filled.backup(connection)
        self.session, self.is_hit, self.count = client_over(connection, body_bytes), case != "store", 0
        self.numbers = {"hit": [0], "store": range(1_000_000), "many": [number * STEP % MANY for number in range(1_000)]}[case]
        if case == "hit":
            read(self.session, 0)

    async def request(self, kind, _):
        size, is_hit = read(self.session, self.numbers[self.count % len(self.numbers)])
        self.count += 1
        if is_hit != self.is_hit:
            raise ValueError(f"hit: {is_hit}")
        return size

    async def close(self):
        self.session.close()


def fill(folder, count, body_bytes):
    session = client_over(connect(database(folder)), body_bytes)
    for number in range(count):
        read(session, number)
    session.close()


def opened(folder, count, body_bytes):
    """The nanoseconds until the first hit."""
    start = time.perf_counter_ns()
    _, is_hit = read(client_over(connect(database(folder)), body_bytes), count // 2)
    elapsed = time.perf_counter_ns() - start
    if not is_hit:
        sys.exit("the response is not a hit")
    return elapsed


def main():
    if sys.argv[1] == "fill":
        fill(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
    elif sys.argv[1] == "open":
        print(f"wall_ns={opened(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))}")
    else:
        names = {f"{store}-{case}": (store, case) for store in ("memory", "disk") for case in ("hit", "store", "many")}
        asyncio.run(client.main({name: lambda _, parts=parts: Hishel(*parts) for name, parts in names.items()}))


main()
