//! How the cost of a ring grows with its size: frames and time to form it, to join it, to replace
//! its owner, to merge two halves; and what it costs when it is idle. The machines that ship, in
//! the simulated world: the figures are the same on every machine.
//!
//! They are kept in `docs/scaling.tsv`; the curves in `docs/images` and the table in
//! `docs/scaling.md` are made from that.
//!
//! ```text
//! cargo bench --bench scaling                       # all sizes; 10,000 takes long
//! cargo bench --bench scaling -- --sizes 3,10,100   # the other sizes stay as they are
//! cargo bench --bench scaling -- --sizes ''         # only draw what is there
//! ```

#[path = "../support/chart.rs"]
mod chart;
mod cost;
mod curves;
mod measure;
#[path = "../support/page.rs"]
mod page;
mod table;

use std::path::PathBuf;

use anyhow::Result;
use clap::Parser;

use cost::Costs;

/// Measures how the cost of a ring grows with its size.
#[derive(Debug, Parser)]
struct Options {
    /// How many members the rings have.
    #[arg(long, value_delimiter = ',', default_value = "3,10,100,1000,10000")]
    sizes: Vec<String>,
    /// Where the figures are kept, and drawn.
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
        let costs = Costs(measure::all(3));
        println!("{}", table::table(&costs));
        return Ok(());
    }
    let file = options.docs.join("scaling.tsv");
    let mut costs = Costs::read(&file)?;
    for size in options.sizes.iter().filter(|size| !size.is_empty()) {
        let nodes = size.parse()?;
        eprintln!("{nodes} members …");
        costs.replace(nodes, measure::all(nodes));
        costs.write(&file)?;
    }
    curves::draw(&costs, &options.docs.join("images"))?;
    let tables = table::table(&costs);
    page::update(&tables, "scaling", &options.docs.join("scaling.md"))?;
    println!("{tables}");
    Ok(())
}
