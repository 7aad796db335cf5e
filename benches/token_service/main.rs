//! Benchmark of the token service: real `ringd ftn` processes on the loopback interface.
//!
//! - **Round trip**: the time from REQUEST to GRANT, measured in turn with the simplest possible program that echoes
//!   equal datagrams.
//! - **Grants per second** of a server with its own processor, with batches of datagrams from many sessions. In turn
//!   with an echo of the same number of datagrams, with and without merging in the kernel.
//! - **Keys**: the grants per second with keys, divided by those without keys.
//! - **Command**: the time of `ringctl token run NAME -- true`, with one server and with three servers.
//! - **Memory** of tokens without their names and data.
//! - **Sessions**: the time in which many clients log in.
//! - **Takeover**: the time from the crash of one of three servers until its successor grants one of its tokens. The
//!   successor first asks all clients for their tokens. The crashed server counts as dead when the time ST has passed
//!   since its last heartbeat. Heartbeats are 300 ms apart.
//! - **Others**, on request: a comparison with Redis and an etcd of three members, which must be installed. Each client
//!   has one outstanding request. All servers share one processor, and one thread on another processor drives the
//!   clients.
//!
//! ```text
//! cargo bench --bench token_service
//! cargo bench --bench token_service -- --small
//! cargo bench --bench token_service -- --only others
//! ```

mod command;
mod exchange;
mod floor;
mod ftn;
#[path = "../support/median.rs"]
mod median;
mod others;
mod pool;
mod raw;
mod server;

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;
use clap::{Parser, ValueEnum};
use exchange::{Etcd, Exchange, Redis};

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    RoundTrip,
    Grants,
    Keys,
    Command,
    Memory,
    Sessions,
    TakeOver,
    Others,
}

/// Measure the token service.
#[derive(Debug, Parser)]
struct Options {
    /// Measure with a tenth of the tokens and clients.
    #[arg(long)]
    small: bool,
    /// Number of measurements of round trip and floor, in turn.
    #[arg(long, default_value_t = 7)]
    pairs: usize,
    /// Time of each measurement.
    #[arg(long, default_value = "1s")]
    time: humantime::Duration,
    /// Measure only these parts [default: all except others]
    #[arg(long, value_enum, value_delimiter = ',')]
    only: Vec<Part>,
    /// Another build of ringd, next to a ringctl. The grants, the command and the memory of both builds are measured in
    /// turn.
    #[arg(long)]
    beside: Option<PathBuf>,
    /// Cargo passes this option to benchmarks.
    #[arg(long, hide = true)]
    bench: bool,
}

impl Options {
    fn wants(&self, part: Part) -> bool {
        self.only.contains(&part) || self.only.is_empty() && part != Part::Others
    }

    /// Returns the programs whose grants and memory are measured.
    fn programs(&self) -> Vec<&Path> {
        self.beside
            .as_deref()
            .into_iter()
            .chain([shipped_program()])
            .collect()
    }
}

fn shipped_program() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_ringd"))
}

fn main() -> Result<()> {
    let options = Options::parse();
    let share = if options.small { 10_usize } else { 1 };
    let time = options.time.into();
    if options.wants(Part::RoundTrip) {
        round_trip(&options)?;
    }
    if options.wants(Part::Grants) {
        grants(&options)?;
    }
    if options.wants(Part::Keys) {
        keys(&options)?;
    }
    if options.wants(Part::Command) {
        command(&options)?;
    }
    if options.wants(Part::Memory) {
        for tokens in [100_000_usize, 300_000, 1_000_000] {
            for program in options.programs() {
                memory(program, u64::try_from(tokens / share)?)?;
            }
        }
    }
    if options.wants(Part::Sessions) {
        for clients in [1_000, 3_000, 10_000] {
            sessions(clients / share)?;
        }
    }
    if options.wants(Part::TakeOver) {
        for clients in [100, 300, 1_000] {
            measure_takeover(clients / share)?;
        }
    }
    if options.wants(Part::Others) {
        for clients in [1, 16, 64] {
            others(clients, time)?;
        }
    }
    Ok(())
}

fn round_trip(options: &Options) -> Result<()> {
    let time = options.time.into();
    let servers = server::start(shipped_program(), 1, "600s")?;
    let mut session = raw::Session::log_in(&servers)?;
    let mut ratios = Vec::new();
    for _ in 0..options.pairs {
        let floor = floor::round_trip(time)?;
        let real = session.round_trip(time)?;
        println!("request to grant {real:?}, echo {floor:?}");
        ratios.push(real.as_secs_f64() / floor.as_secs_f64());
    }
    println!(
        "request to grant ÷ echo, medians: {:.2}",
        median_of(&mut ratios)
    );
    Ok(())
}

fn median_of(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn grants(options: &Options) -> Result<()> {
    for count in [1, 4, 16, 64] {
        let programs = options.programs();
        let pairs = if programs.len() > 1 { options.pairs } else { 1 };
        let mut ratios = Vec::new();
        for _ in 0..pairs {
            let rates = programs
                .iter()
                .map(|program| flood(program, count, options.time.into()));
            let rates = rates.collect::<Result<Vec<f64>>>()?;
            if let [other, own] = rates[..] {
                ratios.push(own / other);
            }
            // A grant takes as many datagrams as two echoes.
            for (merges, text) in [(false, "separate"), (true, "merged")] {
                let echoes = floor::flood(count, merges, options.time.into())? / 2.0;
                let share = rates.last().map_or(0.0, |own| own / echoes);
                println!(
                    "{count} sessions: {echoes:.0} pairs of echoes per second of CPU time, with {text} datagrams; \
                     grants ÷ pairs of echoes: {share:.2}"
                );
            }
        }
        if !ratios.is_empty() {
            println!(
                "{count} sessions: ÷ the other build, median {:.2}",
                median_of(&mut ratios)
            );
        }
    }
    Ok(())
}

/// Measures the grants of a server without keys and of a server with keys, in turn.
fn keys(options: &Options) -> Result<()> {
    for count in [1, 16] {
        let mut ratios = Vec::new();
        for _ in 0..options.pairs {
            let time = options.time.into();
            let without = flood(shipped_program(), count, time)?;
            let servers = server::start_with_keys(shipped_program())?;
            let with = flood_servers(&servers, count, time)?;
            ratios.push(with / without);
        }
        let median = median_of(&mut ratios);
        println!("{count} sessions: with keys ÷ without keys, median {median:.2}");
    }
    Ok(())
}

/// Measures `ringctl token run NAME -- true`.
fn command(options: &Options) -> Result<()> {
    const RUNS_PER_PAIR: usize = 5;
    let programs = options.programs();
    let programs: Vec<_> = programs
        .iter()
        .map(|it| it.with_file_name("ringctl"))
        .collect();
    let programs: Vec<_> = programs.iter().map(PathBuf::as_path).collect();
    for count in [1, 3] {
        let servers = server::start(shipped_program(), count, "600s")?;
        let mut pool = pool::Pool::new(&servers, 1, Duration::from_secs(600))?;
        pool.drive_until("the servers work", |pool| pool.live == 1)?;
        let medians = command::run(&servers, &programs, options.pairs * RUNS_PER_PAIR)?;
        for (program, median) in programs.iter().zip(medians) {
            println!(
                "{count} servers: {} token run: {median:.1?}",
                program.display()
            );
        }
    }
    Ok(())
}

fn flood(program: &Path, count: usize, time: Duration) -> Result<f64> {
    flood_servers(&server::start(program, 1, "600s")?, count, time)
}

/// Returns the grants per second of a server's processor time.
fn flood_servers(servers: &server::ServerProcesses, count: usize, time: Duration) -> Result<f64> {
    let mut sessions = (0..count)
        .map(|_| raw::Session::log_in(servers))
        .collect::<Result<Vec<_>>>()?;
    let before = servers.processor_time(0)?;
    let (grants, took) = raw::flood(&mut sessions, time)?;
    let busy = servers.processor_time(0)?.saturating_sub(before);
    let rate = per_second(grants, busy);
    println!(
        "{count} sessions: {:.0} grants per second, {rate:.0} per second of the server's CPU time",
        per_second(grants, took)
    );
    Ok(rate)
}

/// Measures `count` clients of each service. Each client requests its own name again and again.
fn others(count: usize, time: Duration) -> Result<()> {
    let servers = server::start_crowded(shipped_program(), 1, &[])?;
    exchange("ringd ftn", count, time, || ftn::Ftn::connect(&servers))?;
    drop(servers);
    let servers = server::start_crowded(shipped_program(), 3, &["--quorum", "majority"])?;
    let name = "three ringd ftn, a majority";
    exchange(name, count, time, || ftn::Ftn::connect(&servers))?;
    drop(servers);
    let service = others::redis(false)?;
    exchange("Redis", count, time, || {
        Redis::connect(service.addresses[0])
    })?;
    let service = others::redis(true)?;
    let name = "Redis, on disk";
    exchange(name, count, time, || Redis::connect(service.addresses[0]))?;
    let service = others::etcd()?;
    let name = "three etcd";
    exchange(name, count, time, || Etcd::connect(service.addresses[0]))
}

fn exchange<E: Exchange>(
    name: &str,
    count: usize,
    time: Duration,
    connect: impl Fn() -> Result<E>,
) -> Result<()> {
    let mut clients = (0..count).map(|_| connect()).collect::<Result<Vec<_>>>()?;
    let figures = exchange::measure(&mut clients, time)?;
    println!(
        "{count} clients of {name}: {:.0} grants per second, request to grant {:?}",
        per_second(figures.grants, figures.took),
        figures.median
    );
    Ok(())
}

#[expect(
    clippy::cast_precision_loss,
    reason = "counts of a benchmark are small"
)]
fn per_second(count: u64, time: Duration) -> f64 {
    count as f64 / time.as_secs_f64()
}

fn memory(program: &Path, tokens: u64) -> Result<()> {
    let servers = server::start(program, 1, "600s")?;
    let mut session = raw::Session::log_in(&servers)?;
    let before = servers.resident(0)?;
    let text = session.fill(tokens)?;
    let took = servers.resident(0)?.saturating_sub(before);
    println!(
        "{tokens} tokens: {} bytes each in addition to name and data",
        took.saturating_sub(text) / tokens
    );
    Ok(())
}

fn sessions(clients: usize) -> Result<()> {
    let servers = server::start(shipped_program(), 3, "60s")?;
    let mut pool = pool::Pool::new(&servers, clients, Duration::from_secs(60))?;
    let took = pool.drive_until("all clients are live", |pool| pool.live == clients)?;
    println!(
        "{clients} sessions: live after {took:?}, {} KiB resident at the leader",
        servers
            .resident(0)?
            .max(servers.resident(1)?)
            .max(servers.resident(2)?)
            / 1024
    );
    Ok(())
}

fn measure_takeover(clients: usize) -> Result<()> {
    const HELD_TOKENS: usize = 100;
    let mut servers = server::start(shipped_program(), 3, "60s")?;
    let mut pool = pool::Pool::new(&servers, clients, Duration::from_secs(60))?;
    pool.drive_until("all clients are live", |pool| pool.live == clients)?;
    for name in 0..HELD_TOKENS {
        pool.request(name);
        let wanted = (name + 1) * clients;
        pool.drive_until("tokens are granted", |pool| pool.granted >= wanted)?;
    }
    let dead = pool.follower()?;
    let name = pool.name_owned_by(dead);
    servers.kill(dead)?;
    pool.request_one(&name);
    let wanted = pool.granted + 1;
    let took = pool.drive_until("the successor serves", |pool| pool.granted >= wanted)?;
    println!(
        "{} tokens held by {clients} clients: the successor grants again {took:?} after the crash, with ST {:?}",
        HELD_TOKENS * clients,
        server::SERVER_TIMEOUT
    );
    Ok(())
}
