//! What the coordinated ring costs, with nodes as they ship, each in a network namespace of its own.
//!
//! - **A hop** of the token between two nodes that keep it for no time, beside a bare echo of the same bytes over TCP
//!   between the same namespaces, in turn.
//! - **Posts a second** against hold and the number of nodes, by clients that wait for each answer.
//! - **Recovery**: from a node's death, and from the coordinator's, by the method of election.
//!
//! ```text
//! cargo bench -p ring-board --bench board
//! cargo bench -p ring-board --bench board -- --only hop,posts --database postgresql
//! ```

mod client;
mod hop;
mod nodes;
mod posts;
mod real;
mod recovery;

use anyhow::Result;
use clap::{Parser, ValueEnum};

/// Measures the coordinated ring.
#[derive(Debug, Parser)]
struct Options {
    /// Some of it.
    #[arg(long, value_delimiter = ',', default_value = "hop,posts,recovery")]
    only: Vec<Part>,
    /// Where the posts are.
    #[arg(long, default_value = "sqlite")]
    database: nodes::Kind,
    /// How many nodes the rings have that posts are written to.
    #[arg(long, value_delimiter = ',', default_value = "1,3,8")]
    sizes: Vec<usize>,
    /// How many nodes die in each way.
    #[arg(long, default_value_t = 5)]
    deaths: usize,
    /// Cargo says that this is a benchmark.
    #[arg(long, hide = true)]
    bench: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    Hop,
    Posts,
    Recovery,
}

fn main() -> Result<()> {
    let options = Options::parse();
    if !options.bench {
        // Under `cargo test`: all of it needs a network and takes time.
        return Ok(());
    }
    // First: it starts this program anew, in namespaces of its own.
    ring_segment::enter()?;
    for part in options.only {
        match part {
            Part::Hop => hop::measure()?,
            Part::Posts => posts::measure(options.database, &options.sizes)?,
            Part::Recovery => recovery::measure(options.deaths)?,
        }
    }
    Ok(())
}
