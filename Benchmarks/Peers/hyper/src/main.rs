//! hyper: the same measurements as ClientBenchmarks, called in the same way (`hyper-client KIND AT_ONCE WARMUP COUNT URL`), with the same line of
//! figures. One thread runs everything, as the bare handler's event loop does.

use hyper::body::{to_bytes, Bytes, HttpBody};
use hyper::client::connect::Connect;
use hyper::client::HttpConnector;
use hyper::{Body, Client, Request, StatusCode, Uri};
use serde::Deserialize;
use std::io::Read;
use std::time::Instant;

type Failure = Box<dyn std::error::Error + Send + Sync>;

#[derive(Deserialize)]
#[allow(dead_code)]
#[serde(rename_all = "camelCase")]
struct Item {
    id: i64,
    name: String,
    is_active: bool,
    score: f64,
    tags: Vec<String>,
}

#[derive(Deserialize)]
#[allow(dead_code)]
struct Document {
    page: i64,
    total: usize,
    title: String,
    items: Vec<Item>,
}

/// The bytes of bodies, and the nanoseconds of each request.
type Share = (usize, Vec<u64>);

fn now(start: Instant) -> [f64; 3] {
    let wall = start.elapsed().as_nanos() as f64;
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    unsafe { libc::getrusage(libc::RUSAGE_SELF, &mut usage) };
    let nanoseconds = |time: libc::timeval| time.tv_sec as f64 * 1e9 + time.tv_usec as f64 * 1e3;
    [wall, nanoseconds(usage.ru_utime), nanoseconds(usage.ru_stime)]
}

/// A request that sends a file, 128 KiB at a time.
fn upload(uri: &Uri) -> Result<Request<Body>, Failure> {
    let mut file = std::fs::File::open(std::env::var("BENCHMARK_FILE")?)?;
    let length = file.metadata()?.len();
    let (mut sender, body) = Body::channel();
    tokio::spawn(async move {
        loop {
            let mut chunk = vec![0; 128 * 1024];
            let count = file.read(&mut chunk).expect("the file can be read");
            chunk.truncate(count);
            if count == 0 || sender.send_data(Bytes::from(chunk)).await.is_err() {
                return;
            }
        }
    });
    Ok(Request::put(uri).header("content-length", length).body(body)?)
}

async fn request<C: Connect + Clone + Send + Sync + 'static>(client: &Client<C>, kind: &str, uri: &Uri) -> Result<usize, Failure> {
    let mut response = if kind == "upload" { client.request(upload(uri)?).await? } else { client.get(uri.clone()).await? };
    if response.status() != StatusCode::OK {
        return Err(format!("status {}", response.status()).into());
    }
    match kind {
        "get" => Ok(to_bytes(response.into_body()).await?.len()),
        "typed" => {
            let data = to_bytes(response.into_body()).await?;
            let value: Document = serde_json::from_slice(&data)?;
            if value.total != value.items.len() || value.total == 0 {
                return Err(format!("{} items of {}", value.items.len(), value.total).into());
            }
            Ok(value.total)
        }
        "download" => {
            let mut bytes = 0;
            while let Some(chunk) = response.body_mut().data().await {
                bytes += chunk?.len();
            }
            Ok(bytes)
        }
        "upload" => Ok(std::str::from_utf8(&to_bytes(response.into_body()).await?)?.parse()?),
        _ => Err(format!("no kind {}", kind).into()),
    }
}

async fn share<C: Connect + Clone + Send + Sync + 'static>(client: &Client<C>, kind: &str, count: usize, uri: &Uri) -> Result<Share, Failure> {
    let (mut bytes, mut latencies) = (0, Vec::with_capacity(count));
    let mut last = Instant::now();
    for _ in 0..count {
        bytes += request(client, kind, uri).await?;
        let now = Instant::now();
        latencies.push((now - last).as_nanos() as u64);
        last = now;
    }
    Ok((bytes, latencies))
}

async fn run<C: Connect + Clone + Send + Sync + 'static>(
    client: &Client<C>, kind: &str, at_once: usize, count: usize, uri: &Uri,
) -> Result<Share, Failure> {
    let workers = std::cmp::min(at_once, count);
    if workers <= 1 {
        return share(client, kind, count, uri).await;
    }
    let mut tasks = Vec::new();
    for worker in 0..workers {
        let (client, kind, uri) = (client.clone(), kind.to_string(), uri.clone());
        let count = count / workers + usize::from(worker < count % workers);
        tasks.push(tokio::spawn(async move { share(&client, &kind, count, &uri).await }));
    }
    let (mut bytes, mut latencies) = (0, Vec::with_capacity(count));
    for task in tasks {
        let (more, others) = task.await??;
        bytes += more;
        latencies.extend(others);
    }
    Ok((bytes, latencies))
}

async fn measure<C: Connect + Clone + Send + Sync + 'static>(
    client: Client<C>, kind: &str, at_once: usize, warmup: usize, count: usize, uri: &Uri,
) -> Result<(), Failure> {
    run(&client, kind, at_once, warmup, uri).await?;
    let start = Instant::now();
    let before = now(start);
    let (bytes, mut latencies) = run(&client, kind, at_once, count, uri).await?;
    let after = now(start);
    let each = |i: usize| (after[i] - before[i]) / count as f64;
    latencies.sort_unstable();
    let percentile = |part: usize| latencies[(latencies.len() * part + 99) / 100 - 1];
    println!(
        "wall_ns={} user_ns={} system_ns={} bytes={} p50_ns={} p99_ns={}",
        each(0), each(1), each(2), bytes as f64 / count as f64, percentile(50), percentile(99)
    );
    Ok(())
}

/// A connector that trusts the authority of a PEM file alone.
fn secure(authority: &str) -> Result<hyper_rustls::HttpsConnector<HttpConnector>, Failure> {
    let mut roots = rustls::RootCertStore::empty();
    for certificate in rustls_pemfile::certs(&mut std::io::BufReader::new(std::fs::File::open(authority)?))? {
        roots.add(&rustls::Certificate(certificate))?;
    }
    let settings = rustls::ClientConfig::builder().with_safe_defaults().with_root_certificates(roots).with_no_client_auth();
    Ok(hyper_rustls::HttpsConnectorBuilder::new().with_tls_config(settings).https_only().enable_http1().build())
}

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().collect();
    if arguments.len() != 6 {
        return Err("usage: hyper-client KIND AT_ONCE WARMUP COUNT URL".into());
    }
    let (kind, uri) = (arguments[1].as_str(), arguments[5].parse::<Uri>()?);
    let (at_once, warmup, count) = (arguments[2].parse()?, arguments[3].parse()?, arguments[4].parse()?);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        if uri.scheme_str() == Some("https") {
            let connector = secure(&std::env::var("BENCHMARK_CA")?)?;
            measure(Client::builder().build(connector), kind, at_once, warmup, count, &uri).await
        } else {
            measure(Client::new(), kind, at_once, warmup, count, &uri).await
        }
    })
}
