"""httpx and aiohttp: the same measurements as ClientBenchmarks (`client.py httpx|aiohttp KIND AT_ONCE WARMUP COUNT URL`), with the same line of
figures. Both run on asyncio's own event loop."""

import asyncio
import json
import os
import resource
import ssl
import sys
import time

CHUNK_BYTES = 128 * 1024


def trusted():
    authority = os.environ.get("BENCHMARK_CA")
    return ssl.create_default_context(cafile=authority) if authority else ssl.create_default_context()


async def file_chunks(path):
    with open(path, "rb") as file:
        while chunk := file.read(CHUNK_BYTES):
            yield chunk


def upload():
    """The body and the fields of an upload."""
    path = os.environ["BENCHMARK_FILE"]
    return file_chunks(path), {"content-length": str(os.path.getsize(path))}


def checked(kind, data):
    """The number of bytes of a whole body."""
    if kind == "typed":
        value = json.loads(data)
        if value["total"] != len(value["items"]) or value["total"] == 0:
            raise ValueError(f"{len(value['items'])} items of {value['total']}")
        return value["total"]
    return int(data) if kind == "upload" else len(data)


class Httpx:
    def __init__(self, at_once):
        import httpx
        limits = httpx.Limits(max_connections=at_once, max_keepalive_connections=at_once)
        self.client = httpx.AsyncClient(verify=trusted(), limits=limits, timeout=600, trust_env=False)

    async def request(self, kind, url):
        if kind == "upload":
            body, fields = upload()
            response = await self.client.put(url, content=body, headers=fields)
        elif kind == "download":
            async with self.client.stream("GET", url) as response:
                response.raise_for_status()
                return sum([len(chunk) async for chunk in response.aiter_raw()])
        else:
            response = await self.client.get(url)
        response.raise_for_status()
        return checked(kind, response.content)

    async def close(self):
        await self.client.aclose()


class Aiohttp:
    def __init__(self, at_once):
        import aiohttp
        connector = aiohttp.TCPConnector(limit=at_once, ssl=trusted())
        self.client = aiohttp.ClientSession(connector=connector, timeout=aiohttp.ClientTimeout(total=600))

    async def request(self, kind, url):
        if kind == "upload":
            body, fields = upload()
            call = self.client.put(url, data=body, headers=fields)
        else:
            call = self.client.get(url)
        async with call as response:
            response.raise_for_status()
            if kind == "download":
                return sum([len(chunk) async for chunk in response.content.iter_any()])
            return checked(kind, await response.read())

    async def close(self):
        await self.client.close()


async def share(client, kind, count, url):
    total, latencies = 0, []
    last = time.perf_counter_ns()
    for _ in range(count):
        total += await client.request(kind, url)
        now = time.perf_counter_ns()
        latencies.append(now - last)
        last = now
    return total, latencies


async def run(client, kind, at_once, count, url):
    workers = min(at_once, count)
    counts = [count // workers + (worker < count % workers) for worker in range(workers)]
    shares = await asyncio.gather(*(share(client, kind, number, url) for number in counts))
    return sum(total for total, _ in shares), sorted(latency for _, latencies in shares for latency in latencies)


async def main(clients):
    library, kind, url = sys.argv[1], sys.argv[2], sys.argv[6]
    at_once, warmup, count = (int(text) for text in sys.argv[3:6])
    client = clients[library](at_once)
    if warmup:
        await run(client, kind, at_once, warmup, url)
    before, start = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter_ns()
    total, latencies = await run(client, kind, at_once, count, url)
    end, after = time.perf_counter_ns(), resource.getrusage(resource.RUSAGE_SELF)
    user, system = ((getattr(after, name) - getattr(before, name)) * 1e9 / count for name in ("ru_utime", "ru_stime"))
    p50, p99 = (latencies[(len(latencies) * part + 99) // 100 - 1] for part in (50, 99))
    print(f"wall_ns={(end - start) / count} user_ns={user} system_ns={system} bytes={total / count} p50_ns={p50} p99_ns={p99}")
    await client.close()


if __name__ == "__main__":
    asyncio.run(main({"httpx": Httpx, "aiohttp": Aiohttp}))
