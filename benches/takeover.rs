//! Benchmark of the end of an owner: how long it takes until another machine owns the token.
//!
//! The ring has three members with the default constants, but with a long IDLE_HOLD. No program uses the token. The
//! times are from the signal to the first frame of the next owner.
//!
//! ```text
//! cargo bench --bench takeover
//! cargo bench --bench takeover -- --rounds 50
//! ```

use std::time::Duration;

use anyhow::{Context, Result};
use clap::Parser;
use nix::sys::signal::Signal;
use ring_segment::{
    LONG_IDLE_HOLD, Layout, Message, Ring, Timing, WAIT_LIMIT, binaries, is_heartbeat, now,
};

/// Measure how long it takes until another machine owns the token.
#[derive(Debug, Parser)]
struct Options {
    /// Number of measurements of each kind of end.
    #[arg(long, default_value_t = 20)]
    rounds: usize,
    /// Cargo passes this option to benchmarks.
    #[arg(long, hide = true)]
    bench: bool,
}

/// The end of an owner.
#[derive(Debug, Clone, Copy)]
enum End {
    /// The daemon dies, and its guardian lives.
    Crash,
    /// The daemon gets SIGTERM.
    CleanExit,
    /// Daemon and guardian die, like their machine.
    Death,
}

impl End {
    const ALL: [(Self, &'static str); 3] = [
        (Self::Crash, "the daemon crashes"),
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
    let mut ring = Ring::start_with(segment, 3, timing, binaries(), |ringd| ringd)?;
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
        times.sort_unstable();
        let slowest = times.last().context("there must be a round")?;
        let median = times[times.len() / 2];
        println!("| {title} | {} | {} |", millis(median), millis(*slowest));
    }
    Ok(())
}

/// Ends the owner, and starts it again. Returns the time until the first frame of the next owner.
fn measure(ring: &mut Ring, end: End) -> Result<Duration> {
    let owner = ring.owner()?;
    let capture = ring.segment.capture();
    let mark = capture.mark();
    capture.wait_from(mark, WAIT_LIMIT, |seen| {
        seen.port == owner && is_heartbeat(seen)
    })?;
    let (mark, ended) = (capture.mark(), now());
    let daemon = &mut ring.daemons[owner];
    match end {
        End::Crash => daemon.crash()?,
        End::CleanExit => {
            daemon.signal(Signal::SIGTERM)?;
            daemon.wait_exit(WAIT_LIMIT)?;
        }
        End::Death => daemon.kill()?,
    }
    let next = ring.segment.capture().wait_from(mark, WAIT_LIMIT, |seen| {
        seen.port != owner && matches!(seen.message, Message::TokenIsHere { .. })
    })?;
    ring.daemons[owner].start()?;
    ring.wait_for_one_owner(now())?;
    ring.wait_for_equal_tables()?;
    Ok(next.at.saturating_sub(ended))
}

fn millis(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1e3)
}
