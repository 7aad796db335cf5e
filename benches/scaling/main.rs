//! Benchmark of the cost of a ring of each size. The benchmark measures the frames and the time to form a ring, to join
//! a ring, to replace its owner and to merge two halves. The benchmark also counts the frames of an idle ring. The
//! state machines run in the simulator, so the figures are the same on every machine.
//!
//! `docs/appendix/benchmarks/scaling.tsv` keeps the figures. The benchmark makes the curves in `docs/images` and the
//! table in `docs/appendix/benchmarks/scaling.md` from this file.
//!
//! ```text
//! cargo bench --bench scaling                       # all sizes; 10,000 takes long
//! cargo bench --bench scaling -- --sizes 3,10,100   # other sizes keep their figures
//! cargo bench --bench scaling -- --sizes ''         # only draw the kept figures
//! ```

#[path = "../support/chart.rs"]
mod chart;
mod cost;
mod curves;
mod measure;
#[path = "../support/page.rs"]
mod page;
mod table;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use clap::Parser;

use cost::Costs;

/// Measure how the cost of a ring grows with its size.
#[derive(Debug, Parser)]
struct Options {
    /// Numbers of members of the rings.
    #[arg(long, value_delimiter = ',', default_value = "3,10,100,1000,10000")]
    sizes: Vec<String>,
    /// Folder for the figures and curves.
    #[arg(long, default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/docs"))]
    docs: PathBuf,
    /// Cargo passes this option to benchmarks.
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() -> Result<()> {
    let options = Options::parse();
    let benchmarks = options.docs.join("appendix/benchmarks");
    let (file, page) = (
        benchmarks.join("scaling.tsv"),
        benchmarks.join("scaling.md"),
    );
    if !options.bench {
        return check(&file, &page);
    }
    let mut costs = Costs::read(&file)?;
    for size in options.sizes.iter().filter(|size| !size.is_empty()) {
        let nodes = size.parse()?;
        eprintln!("{nodes} members …");
        costs.replace(nodes, measure::all(nodes));
        costs.write(&file)?;
    }
    curves::draw(&costs, &options.docs.join("images"))?;
    let tables = table::table(&costs);
    page::update(&tables, "scaling", &page)?;
    println!("{tables}");
    Ok(())
}

/// Checks that the kept figures of the smallest ring are the figures of this build, and that the page shows the kept
/// figures. `cargo test` calls this check. It writes no files.
fn check(file: &Path, page: &Path) -> Result<()> {
    let kept = Costs::read(file)?;
    let smallest = kept.0.iter().filter(|cost| cost.nodes == 3);
    ensure!(
        smallest.eq(&measure::all(3)),
        "the figures of {} are those of another build: run cargo bench --bench scaling",
        file.display()
    );
    ensure!(
        page::with_tables(&table::table(&kept), "scaling", page)? == fs::read_to_string(page)?,
        "{} does not have the figures of {}: run cargo bench --bench scaling -- --sizes ''",
        page.display(),
        file.display()
    );
    Ok(())
}
