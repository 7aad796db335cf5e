//! Benchmark of the end of an owner: how long it takes until another machine owns the token.
//!
//! The ring has three members with the default constants, but with a long IDLE_HOLD. The times are from the signal to
//! the first frame of the next owner. In one row, a command runs under the token. In all others, no program uses it.
//!
//! With `--rivals`, two more rows show how long it takes until another machine has a virtual IP address (`address`).
//! One row is for a command of `ringctl run`, and one for keepalived, which must be installed.
//!
//! ```text
//! cargo bench --bench takeover
//! cargo bench --bench takeover -- --rivals --rounds 50
//! ```

mod address;

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Parser;
use nix::sys::signal::Signal;
use ring_segment::{
    LONG_IDLE_HOLD, Layout, Message, Ring, Timing, WAIT_LIMIT, binaries, is_heartbeat, now,
};
use serde_json::Value;

/// Measure how long it takes until another machine owns the token.
#[derive(Debug, Parser)]
struct Options {
    /// Number of measurements of each kind of end.
    #[arg(long, default_value_t = 20)]
    rounds: usize,
    /// Also measure how long it takes until another machine has an address, with ringd and with keepalived.
    #[arg(long)]
    rivals: bool,
    /// Cargo passes this option to benchmarks.
    #[arg(long, hide = true)]
    bench: bool,
}

/// The end of an owner.
#[derive(Debug, Clone, Copy)]
enum End {
    /// The daemon dies, and its guardian lives.
    Crash,
    /// A crash while a command runs under the token. The command ends at SIGTERM.
    WorkingCrash,
    /// The daemon gets SIGTERM.
    CleanExit,
    /// Daemon and guardian die, like their machine.
    Death,
}

impl End {
    const ALL: [(Self, &'static str); 4] = [
        (Self::Crash, "the daemon crashes"),
        (
            Self::WorkingCrash,
            "the daemon crashes while a command runs",
        ),
        (Self::CleanExit, "the daemon gets SIGTERM"),
        (Self::Death, "the machine dies"),
    ];
}

fn main() -> Result<()> {
    let options = Options::parse();
    if !options.bench {
        return Ok(());
    }
    ring_segment::enter()?;
    let segment = Layout::new(3).addresses().bridge()?;
    let timing = Timing {
        heartbeat: Duration::from_millis(100),
        take_timeout: Duration::from_millis(5),
        idle_hold: LONG_IDLE_HOLD,
        waiter_intervals: 4,
    };
    let start = |segment| Ring::start_with(segment, 3, timing, binaries(), |ringd| ringd);
    let mut ring = start(segment)?;
    ring.wait_until_formed()?;
    println!(
        "| end of the owner | median | slowest of {} |",
        options.rounds
    );
    println!("|---|---:|---:|");
    for (end, title) in End::ALL {
        let mut times = Vec::new();
        for _ in 0..options.rounds {
            times.push(measure(&mut ring, end)?);
        }
        print_row(title, times)?;
    }
    if options.rivals {
        drop(ring);
        let title = "ringd is killed: another machine has the address";
        print_row(title, address::with_ringd(options.rounds, start)?)?;
        let title = "keepalived is killed: another machine has the address";
        print_row(title, address::with_keepalived(options.rounds)?)?;
    }
    Ok(())
}

fn print_row(title: &str, mut times: Vec<Duration>) -> Result<()> {
    times.sort_unstable();
    let slowest = times.last().context("there must be a round")?;
    let median = times[times.len() / 2];
    println!("| {title} | {} | {} |", millis(median), millis(*slowest));
    Ok(())
}

/// Ends the owner, and starts it again. Returns the time until the first frame of the next owner.
fn measure(ring: &mut Ring, end: End) -> Result<Duration> {
    let owner = ring.owner()?;
    let work = match end {
        End::WorkingCrash => Some(start_command(ring, owner)?),
        End::Crash | End::CleanExit | End::Death => None,
    };
    let capture = ring.segment.capture();
    let mark = capture.mark();
    capture.wait_from(mark, WAIT_LIMIT, |seen| {
        seen.port == owner && is_heartbeat(seen)
    })?;
    let (mark, ended) = (capture.mark(), now());
    let daemon = &mut ring.daemons[owner];
    match end {
        End::Crash | End::WorkingCrash => daemon.crash()?,
        End::CleanExit => {
            daemon.signal(Signal::SIGTERM)?;
            daemon.wait_exit(WAIT_LIMIT)?;
        }
        End::Death => daemon.kill()?,
    }
    let next = ring.segment.capture().wait_from(mark, WAIT_LIMIT, |seen| {
        seen.port != owner && matches!(seen.message, Message::TokenIsHere { .. })
    })?;
    if let Some(mut work) = work {
        work.wait()?;
    }
    ring.daemons[owner].start()?;
    ring.wait_for_one_owner(now())?;
    ring.wait_for_equal_tables()?;
    Ok(next.at.saturating_sub(ended))
}

/// Starts a command under the token of this owner.
fn start_command(ring: &Ring, owner: usize) -> Result<Child> {
    let daemon = &ring.daemons[owner];
    let mut command = Command::new(binaries().ringctl);
    command.arg("--socket").arg(daemon.control());
    command.args(["run", "sleep", "1000"]);
    let child = command.stdin(Stdio::null()).stderr(Stdio::null()).spawn()?;
    let holds = |status: &Value| status["clients"][0]["holds"] == true;
    daemon.wait_for_status(WAIT_LIMIT, holds)?;
    Ok(child)
}

fn millis(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1e3)
}
