//! hyper: the same measurements as ClientBenchmarks, called in the same way (`hyper-client CASE ROUNDS COUNT URL`), with the same line of figures.
//! One thread runs everything, as the bare handler's event loop does.

use hyper::body::{to_bytes, HttpBody};
use hyper::client::HttpConnector;
use hyper::{Body, Client, StatusCode, Uri};
use serde::Deserialize;
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

type Figures = [f64; 4];

fn now(start: Instant) -> Figures {
    let wall = start.elapsed().as_nanos() as f64;
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    unsafe { libc::getrusage(libc::RUSAGE_SELF, &mut usage) };
    let nanoseconds = |time: libc::timeval| time.tv_sec as f64 * 1e9 + time.tv_usec as f64 * 1e3;
    [wall, nanoseconds(usage.ru_utime), nanoseconds(usage.ru_stime), 0.0]
}

async fn get(client: &Client<HttpConnector>, measurement: &str, uri: &Uri) -> Result<usize, Failure> {
    let mut response = client.get(uri.clone()).await?;
    if response.status() != StatusCode::OK {
        return Err(format!("status {}", response.status()).into());
    }
    match measurement {
        "get" | "get16" => Ok(to_bytes(response.into_body()).await?.len()),
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
        _ => Err(format!("no case {}", measurement).into()),
    }
}

async fn share(client: &Client<HttpConnector>, measurement: &str, count: usize, uri: &Uri) -> Result<usize, Failure> {
    let mut bytes = 0;
    for _ in 0..count {
        bytes += get(client, measurement, uri).await?;
    }
    Ok(bytes)
}

async fn run(client: &Client<HttpConnector>, measurement: &str, count: usize, uri: &Uri) -> Result<usize, Failure> {
    let workers = std::cmp::min(if measurement == "get16" { 16 } else { 1 }, count);
    if workers == 1 {
        return share(client, measurement, count, uri).await;
    }
    let mut tasks = Vec::new();
    for worker in 0..workers {
        let (client, measurement, uri) = (client.clone(), measurement.to_string(), uri.clone());
        let count = count / workers + usize::from(worker < count % workers);
        tasks.push(tokio::spawn(async move { share(&client, &measurement, count, &uri).await }));
    }
    let mut total = 0;
    for task in tasks {
        total += task.await??;
    }
    Ok(total)
}

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().collect();
    if arguments.len() != 5 {
        return Err("usage: hyper-client CASE ROUNDS COUNT URL".into());
    }
    let (measurement, uri) = (arguments[1].as_str(), arguments[4].parse::<Uri>()?);
    let (rounds, count) = (arguments[2].parse::<usize>()?, arguments[3].parse::<usize>()?);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let client: Client<HttpConnector, Body> = Client::new();
        run(&client, measurement, std::cmp::max(count / 5, 1), &uri).await?;
        let start = Instant::now();
        let mut all: Vec<Figures> = Vec::new();
        for _ in 0..rounds {
            let before = now(start);
            let bytes = run(&client, measurement, count, &uri).await?;
            let after = now(start);
            let mut each = [0.0; 4];
            for i in 0..3 {
                each[i] = (after[i] - before[i]) / count as f64;
            }
            each[3] = bytes as f64 / count as f64;
            all.push(each);
        }
        let median = |figure: usize| {
            let mut values: Vec<f64> = all.iter().map(|each| each[figure]).collect();
            values.sort_by(|a, b| a.total_cmp(b));
            values[values.len() / 2]
        };
        println!("wall_ns={} user_ns={} system_ns={} bytes={}", median(0), median(1), median(2), median(3));
        Ok(())
    })
}
