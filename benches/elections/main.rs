//! Benchmark of the board's elections. The benchmark measures messages and time for each method and number of nodes,
//! and compares the messages with the textbooks' counts. The state machines run in the simulator's kernel, so the
//! figures are the same on every machine.
//!
//! The benchmark writes the table in `docs/board/performance.md` and the curves in `docs/images`.
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

/// Compare methods of election.
#[derive(Debug, Parser)]
struct Options {
    /// Numbers of nodes of the rings.
    #[arg(long, value_delimiter = ',', default_value = "3,5,10,30,60,100")]
    sizes: Vec<usize>,
    /// Folder for the figures and curves.
    #[arg(long, default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/docs"))]
    docs: PathBuf,
    /// Cargo passes this option to benchmarks.
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() -> Result<()> {
    let options = Options::parse();
    if !options.bench {
        // Under `cargo test` this run only shows that the benchmark works, and writes no files.
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
    page::update(
        &tables,
        "elections",
        &options.docs.join("board/performance.md"),
    )?;
    println!("{tables}");
    Ok(())
}
