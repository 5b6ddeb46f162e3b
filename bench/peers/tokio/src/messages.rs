//! Rows of messages.
use crate::life::percentiles;
use crate::{Job, Outcome};
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::mpsc::{unbounded_channel, UnboundedReceiver, UnboundedSender};

const CHILDREN: u64 = 10;
const SENDERS: u64 = 100;
const BURST: u64 = 16;
pub const PAIRS: u64 = 1000;

/// The i-th of so many equal parts.
fn part(n: u64, parts: u64, i: u64) -> u64 {
    n / parts + u64::from(i < n % parts)
}

async fn pong(mut from: UnboundedReceiver<u64>, to: UnboundedSender<u64>) {
    while let Some(value) = from.recv().await {
        let _ = to.send(value);
    }
}

fn partner() -> (UnboundedSender<u64>, UnboundedReceiver<u64>) {
    let (there, pongs) = unbounded_channel();
    let (pings, back) = unbounded_channel();
    tokio::spawn(pong(pongs, pings));
    (there, back)
}

async fn ping(trips: u64) -> u64 {
    let (there, mut back) = partner();
    let mut sum = 0;
    for left in (1..=trips).rev() {
        there.send(left).expect("pong");
        sum += back.recv().await.expect("pong");
    }
    sum
}

pub async fn pairs(n: u64, most: u64) -> Outcome {
    let count = n.min(most);
    let start = Instant::now();
    let all: Vec<_> = (0..count).map(|i| tokio::spawn(ping(part(n, count, i)))).collect();
    let mut sum = 0;
    for each in all {
        sum += each.await.expect("ping");
    }
    Outcome::since(start, n, sum)
}

/// The value says how many hops are left, the one just made included.
async fn member(mut from: UnboundedReceiver<u64>, to: UnboundedSender<u64>, number: u64, arrived: UnboundedSender<u64>) {
    while let Some(left) = from.recv().await {
        let _ = if left > 1 { to.send(left - 1) } else { arrived.send(number + 1) };
    }
}

pub async fn round(hops: u64, members: u64, most: u64) -> Outcome {
    let tokens = hops.min(most);
    let (arrived, mut arrivals) = unbounded_channel();
    let (doors, boxes): (Vec<_>, Vec<_>) = (0..members).map(|_| unbounded_channel()).unzip();
    for (i, from) in boxes.into_iter().enumerate() {
        let next = (i + 1) % members as usize;
        tokio::spawn(member(from, doors[next].clone(), i as u64, arrived.clone()));
    }
    doors[(1 % members) as usize].send(members).expect("a member"); // a lap before the clock: every member has run then, and waits
    arrivals.recv().await;
    let start = Instant::now();
    for t in 0..tokens {
        doors[((t + 1) % members) as usize].send(part(hops, tokens, t)).expect("a member");
    }
    let mut places = 0;
    for _ in 0..tokens {
        places += arrivals.recv().await.expect("a member");
    }
    Outcome::since(start, hops, places)
}

pub async fn mailbox(job: Job) -> Outcome {
    let length = job.size;
    let messages = if job.n < length { length } else { job.n / length * length };
    let (door, mut box_) = unbounded_channel::<u64>();
    let (answer, mut answers) = unbounded_channel();
    tokio::spawn(async move {
        let (mut sum, mut had) = (0, 0);
        while let Some(value) = box_.recv().await {
            sum += value;
            had += 1;
            if had % length == 0 {
                let _ = answer.send(sum);
            }
        }
    });
    let mut sum = 0;
    let start = Instant::now();
    for i in 1..=messages {
        door.send(i).expect("a reader");
        if i % length == 0 {
            sum = answers.recv().await.expect("a reader");
        }
    }
    Outcome::since(start, messages, sum)
}

pub async fn fanin(job: Job) -> Outcome {
    let (door, mut box_) = unbounded_channel::<u64>();
    let start = Instant::now();
    for i in 0..SENDERS {
        let (door, count) = (door.clone(), part(job.n, SENDERS, i));
        tokio::spawn(async move {
            for left in (1..=count).rev() {
                door.send(left).expect("a receiver");
                if left % BURST == 0 {
                    tokio::task::yield_now().await;
                }
            }
        });
    }
    let mut sum = 0;
    for _ in 0..job.n {
        sum += box_.recv().await.expect("a sender");
    }
    Outcome::since(start, job.n, sum)
}

fn sky(up: UnboundedSender<u64>, first: u64, leaves: u64) -> Pin<Box<dyn Future<Output = ()> + Send>> {
    Box::pin(async move {
        let (door, mut sums) = unbounded_channel();
        let (children, mut first, mut sum) = (leaves.min(CHILDREN), first, 0);
        for i in 0..children {
            let below = part(leaves, children, i);
            if below == 1 {
                tokio::spawn(leaf(door.clone(), first));
            } else {
                tokio::spawn(sky(door.clone(), first, below));
            }
            first += below;
        }
        for _ in 0..children {
            sum += sums.recv().await.expect("a child");
        }
        let _ = up.send(sum);
    })
}

async fn leaf(up: UnboundedSender<u64>, number: u64) {
    let _ = up.send(number);
}

pub async fn skynet(job: Job) -> Outcome {
    let (door, mut sums) = unbounded_channel();
    let start = Instant::now();
    tokio::spawn(sky(door, 0, job.n));
    let sum = sums.recv().await.expect("the root");
    Outcome::since(start, job.n, sum)
}

fn fib(n: u64) -> Pin<Box<dyn Future<Output = u64> + Send>> {
    Box::pin(async move {
        if n < 2 {
            return n;
        }
        let other = tokio::spawn(fib(n - 1));
        let sum = fib(n - 2).await;
        sum + other.await.expect("a task")
    })
}

fn tasks(n: u64) -> u64 {
    if n < 2 {
        0
    } else {
        1 + tasks(n - 1) + tasks(n - 2)
    }
}

pub async fn fib_row(job: Job) -> Outcome {
    let start = Instant::now();
    let sum = fib(job.n).await;
    Outcome::since(start, tasks(job.n), sum)
}

async fn never_pauses(over: Arc<AtomicBool>) {
    let (there, mut back) = partner();
    while !over.load(Ordering::Relaxed) {
        there.send(1).expect("pong");
        back.recv().await.expect("pong");
    }
}

/// A request every millisecond, while a thousand pairs never pause. One that had to wait for the one before it counts from its own time.
pub async fn latency(job: Job) -> Outcome {
    let over = Arc::new(AtomicBool::new(false));
    for _ in 0..PAIRS {
        tokio::spawn(never_pauses(over.clone()));
    }
    let (there, mut back) = partner();
    tokio::time::sleep(Duration::from_millis(100)).await;
    let (mut took, mut sum) = (Vec::with_capacity(job.n as usize), 0);
    let start = Instant::now();
    for i in 1..=job.n {
        let due = start + Duration::from_millis(i);
        if Instant::now() < due {
            tokio::time::sleep_until(due.into()).await;
        }
        there.send(i).expect("pong");
        sum += back.recv().await.expect("pong");
        took.push(due.elapsed());
    }
    let mut outcome = Outcome::since(start, job.n, sum);
    outcome.more = percentiles(took);
    over.store(true, Ordering::Relaxed);
    outcome
}
