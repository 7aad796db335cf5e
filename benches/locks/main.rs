//! Measures how long a program waits for the token at the control socket. No process starts during this time.
//!
//! The floor and the locks are measured in turn on the same segment. The floor is one hop of a frame through the
//! simplest possible program, see `benches/token_pass`.
//!
//! `--rivals` measures ringd, an etcd of three nodes and a Redis, which must be installed (`rivals`). `updates` counts
//! the updates that are lost under a lock during faults. `names` measures named locks, and `full` measures
//! them in a large ring.
//!
//! ```text
//! cargo bench --bench locks
//! cargo bench --bench locks -- --pairs 5 --time 3s
//! cargo bench --bench locks -- --rivals
//! cargo bench --bench locks -- --ringd NEW --ringd OLD
//! cargo bench --bench locks -- names --rivals
//! cargo bench --bench locks -- full
//! cargo bench --bench locks -- updates --with ringd-guard --faults mixed
//! cargo bench --bench locks -- updates --help
//! ```

mod contest;
#[path = "../token_pass/figures.rs"]
#[expect(dead_code, reason = "only token_pass prints the table")]
mod figures;
#[path = "../token_pass/floor.rs"]
mod floor;
mod names;
#[path = "../real/mod.rs"]
mod real;
mod rivals;
mod updates;

use std::path::PathBuf;
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;
use clap::{Parser, Subcommand};

use contest::{Lock, median, micros, percentile};
use floor::Waiting;
use real::client::Client;
use real::daemon::Daemon;
use real::fabric::{Fabric, Kind};
use real::start::{Placement, Start};

/// Measure how fast programs get the token.
#[derive(Debug, Parser)]
struct Options {
    /// Number of measurements of floor and locks, in turn.
    #[arg(long, default_value_t = 5)]
    pairs: usize,
    /// Time of each measurement.
    #[arg(long, default_value = "2s")]
    time: humantime::Duration,
    /// Measure only ringd, etcd and Redis, to compare them.
    #[arg(long)]
    rivals: bool,
    /// Another build of `ringd` (may be repeated). Builds are measured in turn.
    #[arg(long, default_value = env!("CARGO_BIN_EXE_ringd"))]
    ringd: Vec<PathBuf>,
    /// Cargo passes this option to benchmarks.
    #[arg(long, hide = true, global = true)]
    bench: bool,
    #[command(subcommand)]
    task: Option<Task>,
}

/// Other commands of this program.
#[derive(Debug, Subcommand)]
enum Task {
    Names(names::Options),
    Full(names::full::Options),
    Updates(updates::Options),
    /// The work of a client of `updates` while the client holds the lock.
    #[command(hide = true)]
    Add(updates::Addition),
}

/// Function that makes one kind of measurement for a given time, in a ring of the given daemons.
type Measure = fn(&[Daemon], Duration) -> Result<Sample>;

/// Rest of the ring before each request. During the rest, idle processors fall asleep.
const REST_TIME: Duration = Duration::from_millis(2);

#[derive(Debug, Clone, Copy)]
struct Sample {
    /// Time of one hop of the floor, without pauses between rotations.
    floor: f64,
    rested: f64,
    p50: f64,
    p99: f64,
    rate: f64,
    /// The smallest and the largest number of grants that a node received, each divided by the mean number of all
    /// nodes.
    parts: (f64, f64),
}

fn main() -> Result<ExitCode> {
    if let Some(station) = floor::Station::from_env()? {
        station.run()?;
        return Ok(ExitCode::SUCCESS);
    }
    let options = Options::parse();
    match &options.task {
        Some(Task::Updates(task)) => return Ok(updates::run(task)),
        // `cargo test --benches` only checks that this program starts.
        Some(Task::Names(task)) if options.bench => names::run(task)?,
        Some(Task::Full(task)) if options.bench => names::full::run(task)?,
        Some(Task::Add(addition)) => addition.run()?,
        None if options.bench => measure_locks(&options)?,
        Some(Task::Names(_) | Task::Full(_)) | None => {}
    }
    Ok(ExitCode::SUCCESS)
}

fn measure_locks(options: &Options) -> Result<()> {
    ring_segment::enter()?;
    let time: Duration = options.time.into();
    if options.rivals {
        return rivals::compare(&options.ringd[0], options.pairs, time);
    }
    println!(
        "| | floor | floor, rested | p50 | p99 | p50 ÷ floor | ÷ rested | per second | parts |"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|---:|---|");
    let what: [(&str, usize, Measure); 5] = [
        ("acquire, idle ring of 4, again and again", 4, acquire_awake),
        ("acquire, idle ring of 4, rested", 4, acquire_rested),
        ("handover, 3 nodes contend", 3, contend),
        (
            "grant to the next program on the same machine",
            2,
            contend_locally,
        ),
        ("one program, again and again, idle ring of 4", 4, relock),
    ];
    for (name, stations, measure) in what {
        let samples = measure_all(options, stations, time, measure)?;
        for (ringd, samples) in options.ringd.iter().zip(samples) {
            let name = match options.ringd.len() {
                1 => name.to_owned(),
                _ => format!("{name}, {}", ringd.display()),
            };
            println!("{}", line(&name, &samples));
        }
    }
    Ok(())
}

fn measure_all(
    options: &Options,
    stations: usize,
    time: Duration,
    measure: Measure,
) -> Result<Vec<Vec<Sample>>> {
    let fabric = Fabric::new(Kind::Bridge, stations)?;
    let start = Start {
        placement: Some(Placement::Apart),
        through: Vec::new(),
    };
    let mut samples = vec![Vec::new(); options.ringd.len()];
    for _ in 0..options.pairs {
        let floor = floor::measure(&fabric, &start, time, Waiting::Sleep)?.p50;
        let pause = Waiting::SleepAfterPause(REST_TIME);
        let rested = floor::measure(&fabric, &start, time, pause)?.p50;
        for (ringd, samples) in options.ringd.iter().zip(&mut samples) {
            let daemons = Daemon::ring(&start, &fabric.places, ringd, &[])?;
            let sample = measure(&daemons, time)?;
            samples.push(Sample {
                floor,
                rested,
                ..sample
            });
        }
    }
    Ok(samples)
}

/// Measures grants after a rest. The processors must wake up first.
fn acquire_rested(daemons: &[Daemon], time: Duration) -> Result<Sample> {
    acquire(daemons, time, REST_TIME)
}

/// Measures grants without a rest. No node holds the lock or waits for it, but all nodes are awake, as the floor's
/// stations are.
fn acquire_awake(daemons: &[Daemon], time: Duration) -> Result<Sample> {
    acquire(daemons, time, Duration::ZERO)
}

/// Measures grants to a node that does not hold the token. The next node in the ring has just released the lock and
/// passed the token to its successor.
fn acquire(daemons: &[Daemon], time: Duration, rest: Duration) -> Result<Sample> {
    let mut clients = connect(daemons)?;
    let mut took = Vec::new();
    let began = Instant::now();
    while began.elapsed() < time {
        for at in 0..clients.len() {
            let elsewhere = (at + 1) % clients.len();
            clients[elsewhere].lock()?;
            clients[elsewhere].unlock()?;
            thread::sleep(rest);
            let asked = Instant::now();
            clients[at].lock()?;
            took.push(asked.elapsed());
            clients[at].unlock()?;
        }
    }
    sample(took, 0.0, (1.0, 1.0))
}

/// Makes one program per node lock and unlock without pauses.
fn contend(daemons: &[Daemon], time: Duration) -> Result<Sample> {
    let contest = contest::contend(connect(daemons)?, time)?;
    sample(contest.hand_overs, contest.rate, contest.parts)
}

/// Makes two programs on one machine compete, so that one program always waits.
fn contend_locally(daemons: &[Daemon], time: Duration) -> Result<Sample> {
    let mut clients = connect(&[&daemons[0], &daemons[0]].map(|it| it))?;
    let mut took = Vec::new();
    clients[0].lock()?;
    let began = Instant::now();
    let mut holder = 0;
    while began.elapsed() < time {
        let next = 1 - holder;
        clients[next].ask()?;
        // After this pause the request waits in the queue.
        thread::sleep(Duration::from_millis(1));
        let released = Instant::now();
        clients[holder].release()?;
        clients[next].await_grant()?;
        took.push(released.elapsed());
        clients[holder].await_unlock()?;
        holder = next;
    }
    sample(took, 0.0, (1.0, 1.0))
}

/// Makes one program lock and unlock while no other program wants the token.
fn relock(daemons: &[Daemon], time: Duration) -> Result<Sample> {
    let mut client = Client::connect(&daemons[0].control())?;
    let (took, _) = contest::measure_uncontended(&mut client, time)?;
    sample(took, 0.0, (1.0, 1.0))
}

impl Lock for Client {
    fn lock(&mut self) -> Result<()> {
        self.ask()?;
        self.await_grant()
    }

    fn unlock(&mut self) -> Result<()> {
        self.release()?;
        self.await_unlock()
    }
}

fn connect<T: std::borrow::Borrow<Daemon>>(daemons: &[T]) -> Result<Vec<Client>> {
    let sockets = daemons.iter().map(|daemon| daemon.borrow().control());
    sockets.map(|socket| Client::connect(&socket)).collect()
}

fn sample(mut took: Vec<Duration>, rate: f64, parts: (f64, f64)) -> Result<Sample> {
    took.sort_unstable();
    Ok(Sample {
        floor: 0.0,
        rested: 0.0,
        p50: percentile(&took, 50)?,
        p99: percentile(&took, 99)?,
        rate,
        parts,
    })
}

fn line(name: &str, samples: &[Sample]) -> String {
    let rate = match median(samples, |it| it.rate) {
        0.0 => "-".to_owned(),
        rate => format!("{rate:.0}"),
    };
    let least = samples.iter().map(|it| it.parts.0).fold(1.0, f64::min);
    let most = samples.iter().map(|it| it.parts.1).fold(1.0, f64::max);
    format!(
        "| {name} | {} | {} | {} | {} | {:.1} | {:.1} | {rate} | {least:.2} to {most:.2} |",
        micros(median(samples, |it| it.floor)),
        micros(median(samples, |it| it.rested)),
        micros(median(samples, |it| it.p50)),
        micros(median(samples, |it| it.p99)),
        median(samples, |it| it.p50 / it.floor),
        median(samples, |it| it.p50 / it.rested),
    )
}
