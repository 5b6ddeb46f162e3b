//! Peer of `weft compare`: the rows by tasks and unbounded channels.
//!
//!     tokio_peer ROW WORKERS N SIZE
//!
//! Prints `ops=… ns=… check=…` and what else the row measures; docs/comparison.md tells what each row is. One worker is Tokio's scheduler for
//! one thread, which is its fastest.
mod life;
mod messages;

use std::future::Future;
use std::pin::Pin;
use std::time::{Duration, Instant};

/// What a row is asked to do: n operations, on so much of something.
#[derive(Clone, Copy)]
pub struct Job {
    pub workers: usize,
    pub n: u64,
    pub size: u64,
}

/// What it says: how many operations, how long, what it added up to, and other measures.
pub struct Outcome {
    pub ops: u64,
    pub took: Duration,
    pub check: u64,
    pub more: String,
}

impl Outcome {
    pub fn since(start: Instant, ops: u64, check: u64) -> Outcome {
        Outcome { ops, took: start.elapsed(), check, more: String::new() }
    }
}

type Row = Pin<Box<dyn Future<Output = Outcome> + Send>>;

fn row(name: &str, job: Job) -> Option<Row> {
    Some(match name {
        "yield" => Box::pin(life::turns(job)),
        "spawn" => Box::pin(life::spawn(job)),
        "parked" => Box::pin(life::parked(job)),
        "sleepers" => Box::pin(life::sleepers(job)),
        "timers" => Box::pin(life::timers(job)),
        "blocking" => Box::pin(life::blocking(job)),
        "pingpong" => Box::pin(messages::pairs(job.n, 1)),
        "pairs" => Box::pin(messages::pairs(job.n, messages::PAIRS)),
        "ring" => Box::pin(messages::round(job.n, job.size, 1)),
        "flight" => Box::pin(messages::round(job.n, 1000, job.size)),
        "mailbox" => Box::pin(messages::mailbox(job)),
        "fanin" => Box::pin(messages::fanin(job)),
        "skynet" => Box::pin(messages::skynet(job)),
        "fib" => Box::pin(messages::fib_row(job)),
        "latency" => Box::pin(messages::latency(job)),
        _ => return None,
    })
}

pub fn runtime(workers: usize) -> tokio::runtime::Runtime {
    let mut builder =
        if workers == 1 { tokio::runtime::Builder::new_current_thread() } else { tokio::runtime::Builder::new_multi_thread() };
    if workers > 1 {
        builder.worker_threads(workers);
    }
    builder.enable_time().build().expect("a runtime")
}

fn number(text: &str) -> u64 {
    text.parse().expect("a number")
}

fn main() {
    let words: Vec<String> = std::env::args().collect();
    assert!(words.len() == 5, "usage: tokio_peer ROW WORKERS N SIZE");
    let job = Job { workers: number(&words[2]) as usize, n: number(&words[3]), size: number(&words[4]) };
    if words[1] == "hog" {
        life::hog(job);
        return;
    }
    let row = row(&words[1], job).expect("a row");
    let runtime = runtime(job.workers);
    // On a worker, not on the thread that waits for it.
    let outcome = runtime.block_on(async { tokio::spawn(row).await.expect("the row") });
    println!("ops={} ns={} check={}{}", outcome.ops, outcome.took.as_nanos(), outcome.check, outcome.more);
    std::process::exit(0); // without taking down what still waits
}
