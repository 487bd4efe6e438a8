// Node's fetch: the same measurements as ClientBenchmarks (`client.mjs KIND AT_ONCE WARMUP COUNT URL`), with the same line of figures.
// NODE_EXTRA_CA_CERTS in the environment names the authority to trust.

import { createReadStream, statSync } from "node:fs";

const [kind, atOnce, warmup, count, url] = process.argv.slice(2).map((text, index) => (index > 0 && index < 4 ? Number(text) : text));

// A request that sends a file, 128 KiB at a time. (A blob of 4 GiB is never sent.)
function upload() {
  const path = process.env.BENCHMARK_FILE;
  const body = createReadStream(path, { highWaterMark: 128 * 1024 });
  return { method: "PUT", duplex: "half", body, headers: { "content-length": String(statSync(path).size) } };
}

async function request() {
  const response = await fetch(url, kind === "upload" ? upload() : {});
  if (response.status !== 200) throw new Error(`status ${response.status}`);
  switch (kind) {
    case "get":
      return (await response.arrayBuffer()).byteLength;
    case "typed": {
      const value = await response.json();
      if (value.total !== value.items.length || value.total === 0) throw new Error(`${value.items.length} items of ${value.total}`);
      return value.total;
    }
    case "download": {
      let bytes = 0;
      for await (const chunk of response.body) bytes += chunk.byteLength;
      return bytes;
    }
    case "upload":
      return Number(await response.text());
    default:
      throw new Error(`no kind ${kind}`);
  }
}

async function share(count, latencies) {
  let bytes = 0;
  let last = process.hrtime.bigint();
  for (let i = 0; i < count; i++) {
    bytes += await request();
    const now = process.hrtime.bigint();
    latencies.push(Number(now - last));
    last = now;
  }
  return bytes;
}

async function run(count) {
  const workers = Math.min(atOnce, count);
  const latencies = [];
  const shares = Array.from({ length: workers }, (_, worker) =>
    share(Math.floor(count / workers) + (worker < count % workers ? 1 : 0), latencies));
  const bytes = (await Promise.all(shares)).reduce((sum, one) => sum + one, 0);
  return { bytes, latencies: latencies.sort((a, b) => a - b) };
}

await run(warmup);
const before = process.cpuUsage();
const start = process.hrtime.bigint();
const { bytes, latencies } = await run(count);
const wall = Number(process.hrtime.bigint() - start);
const cpu = process.cpuUsage(before);
const percentile = (part) => latencies[Math.ceil((latencies.length * part) / 100) - 1];
console.log(
  `wall_ns=${wall / count} user_ns=${(cpu.user * 1000) / count} system_ns=${(cpu.system * 1000) / count} ` +
    `bytes=${bytes / count} p50_ns=${percentile(50)} p99_ns=${percentile(99)}`);
process.exit(0);
