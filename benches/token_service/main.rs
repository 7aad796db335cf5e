//! What the token service costs: `ringd ftn`, as it ships, on the loopback interface.
//!
//! - **Round trip**: from REQUEST to GRANT, beside an echo of equal datagrams by the barest program, in turn.
//! - **Grants a second** of a server that has one processor for itself, with datagrams in batches from many sessions.
//! - **Memory** that tokens take beside their names and data.
//! - **Sessions**: how long many take to log in.
//! - **Take-over**: from the crash of one of three servers until a token of its is granted by its heir, which asks all
//!   clients first what they hold. The server is known to be dead ST after its last heartbeat, of 300 ms.
//!
//! ```text
//! cargo bench --bench token_service
//! cargo bench --bench token_service -- --small
//! ```

mod floor;
#[path = "../support/median.rs"]
mod median;
mod pool;
mod raw;
#[path = "../support/resident.rs"]
mod resident;
mod server;

use std::time::Duration;

use anyhow::Result;
use clap::Parser;

/// Measures the token service.
#[derive(Debug, Parser)]
struct Options {
    /// A tenth of everything.
    #[arg(long)]
    small: bool,
    /// How many times round trip and floor are measured, in turn.
    #[arg(long, default_value_t = 7)]
    pairs: usize,
    /// How long each is measured each time.
    #[arg(long, default_value = "1s")]
    time: humantime::Duration,
    /// Cargo says that this is a benchmark.
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() -> Result<()> {
    let options = Options::parse();
    let share = if options.small { 10_usize } else { 1 };
    round_trip(&options)?;
    grants(options.time.into())?;
    for tokens in [100_000_usize, 300_000, 1_000_000] {
        memory(u64::try_from(tokens / share)?)?;
    }
    for clients in [1_000, 3_000, 10_000] {
        sessions(clients / share)?;
    }
    for clients in [100, 300, 1_000] {
        take_over(clients / share)?;
    }
    Ok(())
}

fn round_trip(options: &Options) -> Result<()> {
    let time = options.time.into();
    let servers = server::start(1, "600s")?;
    let mut session = raw::Session::log_in(&servers)?;
    let mut ratios = Vec::new();
    for _ in 0..options.pairs {
        let floor = floor::round_trip(time)?;
        let real = session.round_trip(time)?;
        println!("request to grant {real:?}, echo {floor:?}");
        ratios.push(real.as_secs_f64() / floor.as_secs_f64());
    }
    ratios.sort_by(f64::total_cmp);
    println!(
        "request to grant ÷ echo, medians: {:.2}",
        ratios[ratios.len() / 2]
    );
    Ok(())
}

fn grants(time: Duration) -> Result<()> {
    for count in [1, 4, 16, 64] {
        let servers = server::start(1, "600s")?;
        let mut sessions = (0..count)
            .map(|_| raw::Session::log_in(&servers))
            .collect::<Result<Vec<_>>>()?;
        let before = servers.processor_time(0)?;
        let (grants, took) = raw::flood(&mut sessions, time)?;
        let busy = servers.processor_time(0)?.saturating_sub(before);
        println!(
            "{count} sessions: {:.0} grants a second, {:.0} a second of the server's processor time",
            per_second(grants, took),
            per_second(grants, busy)
        );
    }
    Ok(())
}

#[expect(
    clippy::cast_precision_loss,
    reason = "counts of a benchmark are small"
)]
fn per_second(count: u64, time: Duration) -> f64 {
    count as f64 / time.as_secs_f64()
}

fn memory(tokens: u64) -> Result<()> {
    let servers = server::start(1, "600s")?;
    let mut session = raw::Session::log_in(&servers)?;
    let before = servers.resident(0)?;
    let text = session.fill(tokens)?;
    let took = servers.resident(0)?.saturating_sub(before);
    println!(
        "{tokens} tokens: {} bytes each beside name and data",
        took.saturating_sub(text) / tokens
    );
    Ok(())
}

fn sessions(clients: usize) -> Result<()> {
    let servers = server::start(3, "60s")?;
    let mut pool = pool::Pool::new(&servers, clients)?;
    let took = pool.until("all are live", |pool| pool.live == clients)?;
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

fn take_over(clients: usize) -> Result<()> {
    const HELD: usize = 100;
    let mut servers = server::start(3, "60s")?;
    let mut pool = pool::Pool::new(&servers, clients)?;
    pool.until("all are live", |pool| pool.live == clients)?;
    for name in 0..HELD {
        pool.request(name);
        let wanted = (name + 1) * clients;
        pool.until("tokens are granted", |pool| pool.granted >= wanted)?;
    }
    let dead = pool.a_follower()?;
    let name = pool.name_of(dead);
    servers.kill(dead)?;
    pool.request_one(&name);
    let wanted = pool.granted + 1;
    let took = pool.until("the heir serves", |pool| pool.granted >= wanted)?;
    println!(
        "{} tokens held by {clients} clients: the heir serves {took:?} after the crash, with ST {:?}",
        HELD * clients,
        server::SERVER_TIMEOUT
    );
    Ok(())
}
