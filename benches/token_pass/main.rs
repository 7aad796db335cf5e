//! What a hop of the token costs, and what it cannot cost less than.
//!
//! On one and the same segment, in turn: `ringd`, as it ships, on every node with `--idle-hold
//! 0ms`; and the floor, the barest program that can pass a frame on. Its loop is one
//! `epoll_pwait2`, one `recv` and one `send` on a plain AF_PACKET socket, of a frame as long as a
//! TAKE_TOKEN, and nothing else: no time-out, no filter, no time stamp, no look at the bytes.
//! Both are processes of their own, one a node, in network namespaces.
//!
//! A hop is a rotation of the frame divided by the number of stations, so that nobody has to
//! read a clock at every hop: `ringd` reports its rotations in `ringctl status`
//! (`hand_over_latency`), and one station of the floor reads the clock once a rotation.
//!
//! A machine's noise moves both, so floor and ring are measured in pairs, and the ratio is the
//! median over the pairs' ratios.
//!
//! ```text
//! cargo bench --bench token_pass
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
use real::fabric::{Fabric, Kind};
use real::start::{Placement, Start};

/// Measures a hop of the token, and the floor under it.
#[derive(Debug, Parser)]
struct Options {
    /// How many times floor and ring are measured, in turn.
    #[arg(long, default_value_t = 7)]
    pairs: usize,
    /// How long each is measured each time.
    #[arg(long, default_value = "1s")]
    time: humantime::Duration,
    /// Which CPUs the stations run on; both ways if not given.
    #[arg(long, value_enum)]
    placement: Option<Placement>,
    /// A command that every station is run through, such as `chrt --fifo 1` on a busy machine.
    #[arg(long, default_value = "")]
    through: String,
    /// Another build of `ringd`, to see what a change costs; several are measured in turn, a line for each.
    #[arg(long, default_value = env!("CARGO_BIN_EXE_ringd"))]
    ringd: Vec<PathBuf>,
    /// Only these of `pair-2`, `bridge-2`, `bridge-4` and `bridge-8`.
    segments: Vec<String>,
    /// Cargo says that this is a benchmark.
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
        // `cargo test --benches` only wants to know whether it would run.
        return Ok(());
    }
    ring_segment::enter()?;
    let placements = match options.placement {
        Some(placement) => vec![placement],
        None => vec![Placement::Apart, Placement::Together],
    };
    for placement in placements {
        println!("\n{placement}:\n");
        println!("{}", figures::HEAD);
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
    for _ in 0..options.pairs {
        let floor = floor::measure(&fabric, &start, time, Duration::ZERO)?;
        for (ringd, pairs) in options.ringd.iter().zip(&mut pairs) {
            pairs.push((floor, ring::measure(&fabric, &start, ringd, time)?));
        }
    }
    Ok(pairs.iter().map(|pairs| Row::new(pairs)).collect())
}
