//! Rows of spawning, waiting and time.
use crate::{runtime, Job, Outcome};
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use tokio::sync::mpsc::unbounded_channel;
use tokio::task::yield_now;

const BURST: u64 = 32;
const HOGS: usize = 4;
const PERIOD: Duration = Duration::from_millis(1);
const NAP: Duration = Duration::from_millis(10);
const STARVED: Duration = Duration::from_secs(5);

pub fn percentiles(mut took: Vec<Duration>) -> String {
    took.sort();
    let at = |part: f64| took[(part * (took.len() - 1) as f64) as usize].as_nanos() as f64 / 1e3;
    format!(" p50_us={:.3} p99_us={:.3} p999_us={:.3}", at(0.5), at(0.99), at(0.999))
}

/// Seconds of all threads, as the kernel counts them.
fn cpu_seconds() -> f64 {
    let mut sum = 0.0;
    for task in std::fs::read_dir("/proc/self/task").expect("threads").flatten() {
        let text = std::fs::read_to_string(task.path().join("schedstat")).unwrap_or_default();
        sum += text.split_whitespace().next().and_then(|ns| ns.parse::<f64>().ok()).unwrap_or(0.0) / 1e9;
    }
    sum
}

fn resident_bytes() -> f64 {
    let text = std::fs::read_to_string("/proc/self/statm").expect("/proc/self/statm");
    text.split_whitespace().nth(1).expect("a field").parse::<f64>().expect("a number") * 4096.0
}

/// Below `most`; a small generator is enough for times that differ.
struct Random(u64);
impl Random {
    fn below(&mut self, most: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % most
    }
}

async fn turn(count: u64) -> u64 {
    let mut had = 0;
    while had < count {
        yield_now().await;
        had += 1;
    }
    had
}

pub async fn turns(job: Job) -> Outcome {
    let start = Instant::now();
    let (one, other) = (tokio::spawn(turn(job.n / 2)), tokio::spawn(turn(job.n - job.n / 2)));
    let turned = one.await.expect("one") + other.await.expect("the other");
    Outcome::since(start, job.n, turned)
}

/// In bursts, so that those that have ended leave their memory to the next.
pub async fn spawn(job: Job) -> Outcome {
    let ended = Arc::new(AtomicU64::new(0));
    let start = Instant::now();
    for i in 1..=job.n {
        let ended = ended.clone();
        tokio::spawn(async move {
            ended.fetch_add(1, Ordering::Relaxed);
        });
        if i % BURST == 0 {
            yield_now().await;
        }
    }
    while ended.load(Ordering::Relaxed) < job.n {
        yield_now().await;
    }
    Outcome::since(start, job.n, ended.load(Ordering::Relaxed))
}

pub async fn parked(job: Job) -> Outcome {
    let had = Arc::new(AtomicU64::new(0));
    let mut doors = Vec::with_capacity(job.n as usize);
    let before = resident_bytes();
    let start = Instant::now();
    for i in 0..job.n {
        let (door, mut letters) = unbounded_channel::<u64>();
        let had = had.clone();
        tokio::spawn(async move {
            letters.recv().await;
            had.fetch_add(1, Ordering::Relaxed);
            letters.recv().await;
        });
        let _ = door.send(i);
        doors.push(door);
        if i % BURST == 0 {
            yield_now().await;
        }
    }
    while had.load(Ordering::Relaxed) < job.n {
        yield_now().await;
    }
    let mut outcome = Outcome::since(start, job.n, had.load(Ordering::Relaxed));
    outcome.more = format!(" bytes_each={:.1}", (resident_bytes() - before) / job.n as f64);
    std::mem::forget(doors);
    outcome
}

pub async fn sleepers(job: Job) -> Outcome {
    let mut random = Random(88172645463325252);
    let woken = Arc::new(AtomicU64::new(0));
    let (done, mut all) = unbounded_channel::<()>();
    let (before, start) = (cpu_seconds(), Instant::now());
    for i in 0..job.n {
        let pause = Duration::from_nanos(random.below(1_000_000_000));
        let (woken, done) = (woken.clone(), done.clone());
        tokio::spawn(async move {
            tokio::time::sleep(pause).await;
            if woken.fetch_add(1, Ordering::Relaxed) + 1 == job.n {
                let _ = done.send(());
            }
        });
        if i % BURST == 0 {
            yield_now().await;
        }
    }
    all.recv().await;
    let mut outcome = Outcome::since(start, job.n, woken.load(Ordering::Relaxed));
    let late = outcome.took.as_secs_f64() * 1e3 - 1e3;
    outcome.more = format!(" late_ms={:.3} cpu_s={:.4}", late, cpu_seconds() - before);
    outcome
}

/// Polls a future a single time, which arms a timer.
struct Once<'a>(Pin<&'a mut tokio::time::Sleep>);
impl Future for Once<'_> {
    type Output = ();
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let _ = self.0.as_mut().poll(context);
        Poll::Ready(())
    }
}

/// `size` timers stay armed; the oldest is cancelled and armed again, in one call.
pub async fn timers(job: Job) -> Outcome {
    let mut random = Random(88172645463325252);
    let base = tokio::time::Instant::now() + Duration::from_secs(3600);
    let mut at = move || base + Duration::from_nanos(random.below(1_000_000_000));
    let mut armed: Vec<_> = (0..job.size).map(|_| Box::pin(tokio::time::sleep_until(at()))).collect();
    for each in &mut armed {
        Once(each.as_mut()).await;
    }
    let mut again = 0;
    let start = Instant::now();
    for i in 0..job.n {
        let each = &mut armed[(i % job.size) as usize];
        if !each.is_elapsed() {
            again += 1;
        }
        each.as_mut().reset(at());
    }
    Outcome::since(start, job.n, again)
}

pub async fn blocking(job: Job) -> Outcome {
    let start = Instant::now();
    let all: Vec<_> = (0..job.n).map(|_| tokio::task::spawn_blocking(|| std::thread::sleep(NAP))).collect();
    let mut back = 0;
    for each in all {
        each.await.expect("a call");
        back += 1;
    }
    Outcome::since(start, job.n, back)
}

async fn ticks(job: Job) -> Outcome {
    let mut late = Vec::with_capacity(job.n as usize);
    let start = Instant::now();
    let mut next = tokio::time::Instant::now();
    while (late.len() as u64) < job.n {
        next += PERIOD;
        tokio::time::sleep_until(next).await;
        let now = tokio::time::Instant::now();
        late.push(now - next);
        if now - next > PERIOD {
            next = now;
        }
    }
    let mut outcome = Outcome::since(start, job.n, late.len() as u64);
    outcome.more = percentiles(late);
    outcome
}

/// Nothing takes a worker from an endless loop: then the ticker has no turn, and that is what it says.
pub fn hog(job: Job) {
    let runtime = runtime(job.workers.max(2));
    let (tell, told) = std::sync::mpsc::channel();
    let over = Arc::new(AtomicBool::new(false));
    for _ in 0..HOGS {
        let over = over.clone();
        runtime.spawn(async move { while !over.load(Ordering::Relaxed) {} });
    }
    runtime.spawn(async move {
        tokio::time::sleep(Duration::from_millis(50)).await;
        let outcome = ticks(job).await;
        let _ = tell.send(outcome);
    });
    match told.recv_timeout(STARVED + PERIOD * job.n as u32) {
        Ok(outcome) => println!("ops={} ns={} check={}{}", outcome.ops, outcome.took.as_nanos(), outcome.check, outcome.more),
        Err(_) => println!("failed=starves"),
    }
    over.store(true, Ordering::Relaxed);
    std::process::exit(0);
}
