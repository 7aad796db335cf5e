//! Benchmark of the memory of an idle daemon, and of its share of a core.
//!
//! The rings have two members on a cable, or four or eight on a bridge. All rings have default settings, and a program
//! used their token once. The daemons are real processes in network namespaces, measured through /proc.
//!
//! `cargo bench --bench footprint [-- --time 60s]`

mod real;

use ring_segment::proc;
use std::fs;
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
        "| members | resident memory, most | CPU per node, mean | most | wake-ups per second | CPU per wake-up |"
    );
    println!("|---|---|---|---|---|---|");
    for (kind, members) in RINGS {
        for ringd in &options.ringd {
            println!("{}", measure(ringd, kind, members, options.time.into())?);
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

fn measure(ringd: &Path, kind: Kind, members: usize, time: Duration) -> Result<String> {
    let fabric = Fabric::new(kind, members)?;
    let daemons = Daemon::ring(&Start::default(), &fabric.places, ringd, &[])?;
    use_once(&daemons[0])?;
    thread::sleep(WARM_UP_TIME);
    let usages = || daemons.iter().map(|daemon| Usage::of(daemon.process.id()));
    let start = Instant::now();
    let before = usages().collect::<Result<Vec<_>>>()?;
    thread::sleep(time);
    let took = start.elapsed();
    let after = usages().collect::<Result<Vec<_>>>()?;
    Ok(line(&before, &after, took))
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

#[derive(Debug)]
struct Usage {
    /// Resident memory (VmRSS) in KiB.
    resident: u32,
    /// Sum of user and system time.
    cpu: Duration,
    /// Voluntary context switches of all threads.
    sleeps: u32,
}

impl Usage {
    fn of(pid: u32) -> Result<Self> {
        let mut sleeps = 0;
        for thread in fs::read_dir(format!("/proc/{pid}/task"))? {
            let thread = format!("{pid}/task/{}", thread?.file_name().display());
            sleeps += u32::try_from(proc::status_field(thread, "voluntary_ctxt_switches:")?)?;
        }
        Ok(Self {
            resident: u32::try_from(proc::resident_kib(pid)?)?,
            cpu: proc::cpu_time(pid)?,
            sleeps,
        })
    }
}

fn line(before: &[Usage], after: &[Usage], took: Duration) -> String {
    let pairs = || before.iter().zip(after);
    let nodes = u32::try_from(before.len()).unwrap_or(u32::MAX);
    let share = |cpu: Duration| 100.0 * cpu.as_secs_f64() / took.as_secs_f64();
    let used = || pairs().map(|(from, to)| to.cpu.saturating_sub(from.cpu));
    let all: Duration = used().sum();
    let most = used().max().unwrap_or_default();
    let sleeps: u32 = pairs().map(|(from, to)| to.sleeps - from.sleeps).sum();
    let resident = after.iter().map(|usage| usage.resident).max();
    format!(
        "| {nodes} | {:.2} MiB | {:.3} % of a core | {:.3} % | {:.0} | {:.1?} |",
        f64::from(resident.unwrap_or_default()) / 1024.0,
        share(all / nodes),
        share(most),
        f64::from(sleeps) / f64::from(nodes) / took.as_secs_f64(),
        all / sleeps.max(1),
    )
}
