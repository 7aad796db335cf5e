//! The cost of the coordinated ring, with real nodes. Each node has its own network namespace.
//!
//! - **A hop** of the token between two nodes with `--hold 0s`, compared with a bare echo of the same bytes over TCP.
//! - **Posts per second** of clients that wait for each answer, for several values of --hold and numbers of nodes.
//! - **Recovery** after the death of a node and of the coordinator, for each method of election.
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
    #[arg(long, value_delimiter = ',', default_value = "hop,posts,recovery")]
    only: Vec<Part>,
    #[arg(long, default_value = "sqlite")]
    database: nodes::DatabaseKind,
    /// The numbers of nodes for posts.
    #[arg(long, value_delimiter = ',', default_value = "1,3,8")]
    sizes: Vec<usize>,
    /// The number of killed nodes of each kind.
    #[arg(long, default_value_t = 5)]
    deaths: usize,
    /// Cargo sets this option when it runs a benchmark.
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
        // `cargo test` starts this program too, but without a network.
        return Ok(());
    }
    // This call comes first, because it starts the program again in namespaces.
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
