//! Messages and time of the elections of the coordinated ring, by method and by the number of nodes, beside what the
//! textbooks count. The machines that ship, in the simulator's kernel: the figures are the same on every machine.
//!
//! The table in `docs/board.md` and the curves in `docs/images` are made from them.
//!
//! ```text
//! cargo bench --bench elections
//! ```

#[path = "../support/chart.rs"]
mod chart;
mod curves;
mod measure;
#[path = "../support/page.rs"]
mod page;
#[path = "../support/quiet.rs"]
mod quiet;
mod ring;
mod table;
mod textbook;

use std::path::PathBuf;

use anyhow::Result;
use clap::Parser;

/// Compares methods of election.
#[derive(Debug, Parser)]
struct Options {
    /// How many nodes the rings have.
    #[arg(long, value_delimiter = ',', default_value = "3,5,10,30,60,100")]
    sizes: Vec<usize>,
    /// Where the figures are written and drawn.
    #[arg(long, default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/docs"))]
    docs: PathBuf,
    /// Cargo says that this is a benchmark.
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() -> Result<()> {
    let options = Options::parse();
    if !options.bench {
        // Under `cargo test`: it works, and nothing is written.
        println!("{}", table::table(&measure::all(3)?));
        return Ok(());
    }
    let mut all = Vec::new();
    for nodes in options.sizes {
        eprintln!("{nodes} nodes …");
        all.append(&mut measure::all(nodes)?);
    }
    curves::draw(&all, &options.docs.join("images"))?;
    let tables = table::table(&all);
    page::update(&tables, "elections", &options.docs.join("board.md"))?;
    println!("{tables}");
    Ok(())
}
