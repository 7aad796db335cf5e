//! `ringctl metrics` and `ringctl exporter`: the status of a daemon as OpenMetrics text.
//!
//! `metric.rs` has the descriptions of metrics, from which the output and the reference page are made. Each other file
//! with a table of metrics makes the samples of these metrics from the status. Start with [`Snapshot`].

mod board;
mod common;
mod counters;
mod exporter;
mod ftn;
mod help;
mod jitterbug;
mod lab2;
mod metric;
mod snapshot;

use std::fmt::Write as _;
use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::Context;

pub(crate) use exporter::{ExporterOptions, serve};
pub(crate) use help::METRICS;

use crate::Error;
use metric::Metric;
use snapshot::Snapshot;

/// The tables of all metrics, with their titles in the reference page.
const TABLES: [(&str, &[&Metric]); 6] = [
    ("All daemons", common::METRICS),
    ("The ring", lab2::METRICS),
    ("The token service", ftn::METRICS),
    ("Jitterbug", jitterbug::METRICS),
    ("The board", board::METRICS),
    (
        "The token service, Jitterbug and the board",
        counters::METRICS,
    ),
];

/// Prints the metrics of a daemon. If the daemon does not answer, prints `ringd_up 0`, and the reason on standard
/// error.
///
/// # Errors
/// Fails if several daemons run and the user did not choose one, or if `output` cannot be written.
pub(super) fn print(socket: Result<PathBuf, Error>, output: &mut impl Write) -> anyhow::Result<()> {
    if let Err(error @ Error::Several { .. }) = socket {
        return Err(error.into());
    }
    let Snapshot { text, error } = Snapshot::take(socket);
    let written = output.write_all(text.as_bytes());
    written
        .and_then(|()| output.flush())
        .context("cannot write the metrics")?;
    if let Some(error) = error {
        // If the error cannot be printed, the output still shows the failure.
        let _ = writeln!(io::stderr(), "ringctl: {error}");
    }
    Ok(())
}

/// Returns the tables of the reference page of metrics, as Markdown.
pub(super) fn reference_tables() -> String {
    let mut page = String::new();
    for (title, metrics) in TABLES {
        let head = "| metric | type | labels | meaning |\n|---|---|---|---|";
        // Writing to a string never fails.
        let _ = write!(page, "\n## {title}\n\n{head}\n");
        for metric in metrics {
            let labels: Vec<_> = metric.labels.iter().map(|it| format!("`{it}`")).collect();
            let _ = writeln!(
                page,
                "| `{}` | {} | {} | {} |",
                metric.sample_name(),
                metric.kind.type_name(),
                labels.join(", "),
                metric.help
            );
        }
    }
    page
}
