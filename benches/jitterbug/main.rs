//! Benchmark of Jitterbug.
//!
//! - **A pass**: the time from a giver's connect to the acknowledgement of `ringd jitterbug`. Passes alternate with a
//!   bare exchange of the same bytes between the same namespaces. This part also measures the passes per second of a
//!   ring of two with no hold time.
//! - **A leader's death**: the time from SIGKILL until the new leader announces itself.
//! - **Memory** of a node with the longest list.
//! - **Growth**: the numbers of restores and datagrams for each number of nodes, and the messages of an idle ring. The
//!   rings run in memory, so the figures are the same on every machine. Their curves are in `docs/images`.
//!
//! ```text
//! cargo bench --bench jitterbug
//! cargo bench --bench jitterbug -- --only pass,death
//! ```

#[path = "../support/chart.rs"]
mod chart;
mod death;
mod growth;
#[path = "../support/median.rs"]
mod median;
mod memory;
mod nodes;
mod pass;
#[path = "../support/quiet.rs"]
mod quiet;
#[path = "../real/mod.rs"]
#[allow(dead_code, reason = "these nodes run Jitterbug")]
mod real;
mod ring;

use std::path::PathBuf;

use anyhow::Result;
use clap::{Parser, ValueEnum};

/// Measure Jitterbug.
#[derive(Debug, Parser)]
struct Options {
    /// Measure only these parts.
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "growth,pass,death,memory"
    )]
    only: Vec<Part>,
    /// Numbers of nodes of the rings in memory.
    #[arg(long, value_delimiter = ',', default_value = "2,3,10,30,100,300,1000")]
    sizes: Vec<usize>,
    /// Passes per measurement. The benchmark also measures the same number of exchanges of the floor.
    #[arg(long, default_value_t = 500)]
    passes: usize,
    /// Number of leaders to kill.
    #[arg(long, default_value_t = 20)]
    deaths: usize,
    /// Folder for the curves.
    #[arg(long, default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/images"))]
    images: PathBuf,
    /// Cargo passes this option to benchmarks.
    #[arg(long, hide = true)]
    bench: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    Growth,
    Pass,
    Death,
    Memory,
}

fn main() -> Result<()> {
    let options = Options::parse();
    if !options.bench {
        // Under `cargo test` only the part in memory runs, and it writes no files.
        println!("{}", growth::table(&[growth::measure(3)?]));
        return Ok(());
    }
    let does = |part| options.only.contains(&part);
    if does(Part::Pass) || does(Part::Death) || does(Part::Memory) {
        // This call must come first, because it starts this program again in new namespaces.
        ring_segment::enter()?;
    }
    if does(Part::Growth) {
        let mut all = Vec::new();
        for &nodes in &options.sizes {
            eprintln!("{nodes} nodes …");
            all.push(growth::measure(nodes)?);
        }
        growth::draw(&all, &options.images)?;
        println!("{}", growth::table(&all));
    }
    if does(Part::Pass) {
        pass::measure(options.passes)?;
    }
    if does(Part::Death) {
        death::measure(options.deaths)?;
    }
    if does(Part::Memory) {
        memory::measure()?;
    }
    Ok(())
}
