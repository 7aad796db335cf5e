//! Benchmark of the memory of an idle daemon, of its share of a core, and of the frames of an idle ring.
//!
//! The rings have two members on a cable, or four or eight on a bridge. All rings have default settings, and a program
//! used their token once. The daemons are real processes in network namespaces, measured through /proc.
//!
//! Builds are measured in turn, so that noise of the machine affects all of them.
//!
//! ```text
//! cargo bench --bench footprint
//! cargo bench --bench footprint -- --rounds 5 --time 8s --ringd NEW --ringd OLD
//! ```

mod real;

use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;
use clap::Parser;
use nix::time::{ClockId, clock_gettime};

use real::client::Client;
use real::daemon::Daemon;
use real::fabric::{Fabric, Kind};
use real::start::Start;
use real::usage::Usage;

/// Measured rings. A member of a small ring wakes up more often.
const RINGS: [(Kind, usize); 3] = [(Kind::Pair, 2), (Kind::Bridge, 4), (Kind::Bridge, 8)];
/// Time after which memory and caches stop changing.
const WARM_UP_TIME: Duration = Duration::from_secs(2);
/// Time for which a program uses the token. The time is longer than a heartbeat, so that the token leaves between two
/// heartbeats.
const USE_TIME: Duration = Duration::from_millis(130);

/// Number of the bare program's sleeps, and their length. Both are about the same as in a daemon.
const WAKE_UP_COUNT: u32 = 300;
const NAP_TIME: Duration = Duration::from_millis(8);

/// Measure memory and CPU of idle daemons.
#[derive(Debug, Parser)]
struct Options {
    /// Time for which the CPU is measured.
    #[arg(long, default_value = "30s")]
    time: humantime::Duration,
    /// Number of measurements of each build, in turn. The table has their medians.
    #[arg(long, default_value_t = 1)]
    rounds: usize,
    /// Another build of `ringd` (may be repeated).
    #[arg(long, default_value = env!("CARGO_BIN_EXE_ringd"))]
    ringd: Vec<PathBuf>,
    /// Cargo passes this option to benchmarks.
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() -> Result<()> {
    let options = Options::parse();
    if !options.bench {
        // `cargo test --benches` only checks that this program starts.
        return Ok(());
    }
    ring_segment::enter()?;
    let bare = measure_bare_wake_up()?;
    println!(
        "A program that only sleeps takes {bare:.1?} of CPU time per wake-up on this machine.\n"
    );
    println!(
        "| members | resident memory, most | CPU per node, mean | ÷ first build | most | wake-ups per second \
         | CPU per wake-up | frames of the ring per second | bytes per second |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    for (kind, members) in RINGS {
        let mut samples = vec![Vec::new(); options.ringd.len()];
        for _ in 0..options.rounds {
            for (ringd, samples) in options.ringd.iter().zip(&mut samples) {
                samples.push(measure(ringd, kind, members, options.time.into())?);
            }
        }
        for of_build in &samples {
            println!("{}", line(members, of_build, &samples[0]));
        }
    }
    Ok(())
}

/// Measures the CPU time of a bare program that sleeps and wakes up as often as a daemon.
fn measure_bare_wake_up() -> Result<Duration> {
    let cpu = || clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map(Duration::from);
    let before = cpu()?;
    for _ in 0..WAKE_UP_COUNT {
        thread::sleep(NAP_TIME);
    }
    Ok((cpu()?.saturating_sub(before)) / WAKE_UP_COUNT)
}

fn measure(ringd: &Path, kind: Kind, members: usize, time: Duration) -> Result<Sample> {
    let fabric = Fabric::new(kind, members)?;
    let daemons = Daemon::ring(&Start::default(), &fabric.places, ringd, &[])?;
    use_once(&daemons[0])?;
    thread::sleep(WARM_UP_TIME);
    let usages = || {
        let pairs = daemons.iter().zip(&fabric.places);
        let usages = pairs.map(|(daemon, place)| Usage::of(daemon, place));
        usages.collect::<Result<Vec<_>>>()
    };
    let start = Instant::now();
    let before = usages()?;
    thread::sleep(time);
    let took = start.elapsed();
    Ok(Sample::new(&before, &usages()?, took))
}

/// Takes the token and releases it. In an unused ring, hops and heartbeats may be due at the same time by chance. After
/// the use, hops and heartbeats are due at different times for a long time.
fn use_once(daemon: &Daemon) -> Result<()> {
    let mut client = Client::connect(&daemon.control())?;
    client.ask()?;
    client.await_grant()?;
    thread::sleep(USE_TIME);
    client.release()?;
    client.await_unlock()
}

/// Figures of one measurement.
#[derive(Debug, Clone)]
struct Sample {
    /// Largest resident memory of a node, in MiB.
    resident: f64,
    /// Mean share of a core per node, in percent.
    mean: f64,
    /// Largest share of a core, in percent.
    most: f64,
    /// Wake-ups per second and node.
    sleeps: f64,
    /// CPU time per wake-up, in microseconds.
    per_wake_up: f64,
    /// Frames per second that the ring sends.
    frames: f64,
    bytes: f64,
}

impl Sample {
    fn new(before: &[Usage], after: &[Usage], took: Duration) -> Self {
        let pairs = || before.iter().zip(after);
        let nodes = f64::from(u32::try_from(before.len()).unwrap_or(u32::MAX));
        let share = |cpu: Duration| 100.0 * cpu.as_secs_f64() / took.as_secs_f64();
        let used = || pairs().map(|(from, to)| to.cpu.saturating_sub(from.cpu));
        let all: Duration = used().sum();
        let most = used().max().unwrap_or_default();
        let sleeps: u32 = pairs().map(|(from, to)| to.sleeps - from.sleeps).sum();
        let resident = after.iter().map(|usage| usage.resident).max();
        let [frames, bytes] = [0, 1].map(|at| {
            let sent: u32 = pairs().map(|(from, to)| to.sent[at] - from.sent[at]).sum();
            f64::from(sent) / took.as_secs_f64()
        });
        Self {
            resident: f64::from(resident.unwrap_or_default()) / 1024.0,
            mean: share(all) / nodes,
            most: share(most),
            sleeps: f64::from(sleeps) / nodes / took.as_secs_f64(),
            per_wake_up: all.as_secs_f64() * 1e6 / f64::from(sleeps.max(1)),
            frames,
            bytes,
        }
    }
}

/// Returns the line of the table with the medians of all measurements of a build. `first` are the measurements of the
/// first build in the same rounds.
fn line(members: usize, samples: &[Sample], first: &[Sample]) -> String {
    let median = |value: fn(&Sample) -> f64| middle(samples.iter().map(value));
    let pairs = samples.iter().zip(first);
    let ratio = middle(pairs.map(|(own, first)| own.mean / first.mean));
    format!(
        "| {members} | {:.2} MiB | {:.3} % of a core | {ratio:.2} | {:.3} % | {:.0} | {:.1} µs | {:.1} | {:.0} |",
        median(|it| it.resident),
        median(|it| it.mean),
        median(|it| it.most),
        median(|it| it.sleeps),
        median(|it| it.per_wake_up),
        median(|it| it.frames),
        median(|it| it.bytes),
    )
}

fn middle(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_unstable_by(f64::total_cmp);
    values[values.len() / 2]
}
