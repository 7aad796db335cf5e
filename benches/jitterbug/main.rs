//! What Jitterbug costs.
//!
//! - **A pass**: from a giver's connect to the acknowledgement of `ringd jitterbug`, as it ships, beside a bare exchange of
//!   the same bytes between the same namespaces, in turn; and how many passes a second a ring of two makes without a hold.
//! - **A leader's death**: from SIGKILL until the next leader says so.
//! - **Memory** with the longest list.
//! - **Growth**: restores and datagrams against the number of nodes, and the idle ring, in memory. These figures are the
//!   same on every machine; the curves go into `docs/images`.
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
#[allow(dead_code, reason = "these nodes are not Lab2's")]
mod real;
#[path = "../support/resident.rs"]
mod resident;
mod ring;

use std::path::PathBuf;

use anyhow::Result;
use clap::{Parser, ValueEnum};

/// Measures Jitterbug.
#[derive(Debug, Parser)]
struct Options {
    /// Some of it.
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "growth,pass,death,memory"
    )]
    only: Vec<Part>,
    /// How many nodes the rings in memory have.
    #[arg(long, value_delimiter = ',', default_value = "2,3,10,30,100,300,1000")]
    sizes: Vec<usize>,
    /// How many passes are measured at a time, and as many of the floor, in turn.
    #[arg(long, default_value_t = 500)]
    passes: usize,
    /// How many leaders die.
    #[arg(long, default_value_t = 20)]
    deaths: usize,
    /// Where the curves are drawn.
    #[arg(long, default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/images"))]
    images: PathBuf,
    /// Cargo says that this is a benchmark.
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
        // Under `cargo test`: what is measured in memory works, and nothing is written.
        println!("{}", growth::table(&[growth::measure(3)?]));
        return Ok(());
    }
    let does = |part| options.only.contains(&part);
    if does(Part::Pass) || does(Part::Death) || does(Part::Memory) {
        // First: it starts this program anew, in namespaces of its own.
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
