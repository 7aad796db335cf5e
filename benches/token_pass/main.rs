//! Benchmark of a hop of the token, compared with its floor.
//!
//! Ring and floor use the same segment in turn. The ring is `ringd` with `--idle-hold 0ms` on every node. The floor is
//! the simplest possible program that passes a frame on. The program's loop has one `epoll_pwait2`, one `recv` and one
//! `send` on a plain AF_PACKET socket. The frame is as long as a TAKE_TOKEN. The program has no timeout, filter or
//! timestamp, and does not read the bytes. In the ring and in the floor, each node is a separate process in a network
//! namespace.
//!
//! The time of a hop is the time of a rotation divided by the number of stations. So no station reads a clock at every
//! hop. `ringd` reports its rotations in `ringctl status` (`hand_over_latency`), and one station of the floor reads the
//! clock once per rotation.
//!
//! Noise of the machine affects floor and ring. So they are measured in pairs, and the result is the median of the
//! pairs' ratios.
//!
//! ```text
//! cargo bench --bench token_pass
//! cargo bench --bench token_pass -- --busy-poll auto --placement apart pair-2
//! cargo bench --bench token_pass -- --pairs 15 --time 2s --placement together bridge-8
//! ```

mod figures;
mod floor;
#[path = "../real/mod.rs"]
mod real;
mod ring;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use clap::Parser;

use figures::{Figures, Row};
use floor::Waiting;
use real::fabric::{Fabric, Kind};
use real::start::{Placement, Start};

/// Measure a hop of the token, and its floor.
#[derive(Debug, Parser)]
struct Options {
    /// Number of measurements of floor and ring, in turn.
    #[arg(long, default_value_t = 7)]
    pairs: usize,
    /// Time of each measurement.
    #[arg(long, default_value = "1s")]
    time: humantime::Duration,
    /// CPUs of the stations [default: both placements]
    #[arg(long, value_enum)]
    placement: Option<Placement>,
    /// Command that starts every station, such as `chrt --fifo 1` on a busy machine.
    #[arg(long, default_value = "")]
    through: String,
    /// Value of --busy-poll for each ringd. On different CPUs, the stations of the floor then spin.
    #[arg(long)]
    busy_poll: Option<String>,
    /// Another build of `ringd` (may be repeated), to compare builds. Each build gets one line.
    #[arg(long, default_value = env!("CARGO_BIN_EXE_ringd"))]
    ringd: Vec<PathBuf>,
    /// Measure only these segments, of `pair-2`, `bridge-2`, `bridge-4` and `bridge-8`.
    segments: Vec<String>,
    /// Cargo passes this option to benchmarks.
    #[arg(long, hide = true)]
    bench: bool,
}

const SEGMENTS: [(Kind, usize); 4] = [
    (Kind::Pair, 2),
    (Kind::Bridge, 2),
    (Kind::Bridge, 4),
    (Kind::Bridge, 8),
];

fn main() -> Result<()> {
    if let Some(station) = floor::Station::from_env()? {
        return station.run();
    }
    let options = Options::parse();
    if !options.bench {
        // `cargo test --benches` only checks that this program starts.
        return Ok(());
    }
    ring_segment::enter()?;
    let placements = match options.placement {
        Some(placement) => vec![placement],
        None => vec![Placement::Apart, Placement::Together],
    };
    for placement in placements {
        println!("\n{placement}:\n");
        println!("{}", figures::TABLE_HEADER);
        for (kind, stations) in SEGMENTS {
            let name = format!("{kind}-{stations}");
            if options.segments.is_empty() || options.segments.contains(&name) {
                for row in measure(&options, placement, kind, stations)? {
                    println!("{}", row.line(&name));
                }
            }
        }
    }
    Ok(())
}

fn measure(
    options: &Options,
    placement: Placement,
    kind: Kind,
    stations: usize,
) -> Result<Vec<Row>> {
    let fabric = Fabric::new(kind, stations)?;
    let time: Duration = options.time.into();
    let through = options.through.split_whitespace().map(str::to_owned);
    let start = Start {
        placement: Some(placement),
        through: through.collect(),
    };
    let mut pairs: Vec<Vec<(Figures, Figures)>> = vec![Vec::new(); options.ringd.len()];
    let busy_poll = options.busy_poll.as_deref();
    // On one CPU, a station that spins keeps the other stations from running.
    let spins = busy_poll.is_some() && placement == Placement::Apart;
    let waiting = if spins { Waiting::Spin } else { Waiting::Sleep };
    for _ in 0..options.pairs {
        let floor = floor::measure(&fabric, &start, time, waiting)?;
        for (ringd, pairs) in options.ringd.iter().zip(&mut pairs) {
            pairs.push((
                floor,
                ring::measure(&fabric, &start, ringd, time, busy_poll)?,
            ));
        }
    }
    Ok(pairs.iter().map(|pairs| Row::new(pairs)).collect())
}
