//! Checks that the manual pages and `--help` agree, and that the reference of metrics agrees with the code. Both are
//! generated from declarations in the code.

#[path = "../../../tests/man/pages.rs"]
mod pages;

use std::env;
use std::fs;
use std::path::Path;

use pages::{check, check_help, check_reference, pages};

/// The command that writes the pages.
const REWRITE_COMMAND: &str = "cargo test -p ringctl --test man";

const METRICS_HEAD: &str = "\
# Metrics

This page lists the metrics of `ringctl metrics` and `ringctl exporter`, for operators who write queries. This command
writes the page: `RINGD_WRITE_DOCS=1 cargo test -p ringctl --test man`. [Monitor with
Prometheus](../how-to/prometheus.md) shows how to collect the metrics.

- Each metric also has the label `daemon`, the name for `ringctl -i`. If no daemon was found, the label is absent.
- Counters begin at 0 when the daemon starts. Times are in seconds.
- [The status](status.md#counters) lists `kind`, `change` and most values of `reason`. [The control
  protocol](control.md#locks) lists the reasons of locks.
- The status pages of [the token service](../token-service/status.md), [Jitterbug](../jitterbug/status.md) and [the
  board](../board/status.md) list the values of `event`.
";

#[test]
fn the_reference_lists_all_metrics() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/metrics.md");
    let page = METRICS_HEAD.to_owned() + &ringctl::metric_tables();
    if env::var_os("RINGD_WRITE_DOCS").is_some() {
        fs::write(&file, &page).expect("a page can be written");
    }
    let written = fs::read_to_string(&file).unwrap_or_default();
    assert!(
        written == page,
        "{} differs from the code; run RINGD_WRITE_DOCS=1 {REWRITE_COMMAND}",
        file.display()
    );
}

#[test]
fn manual_pages_say_what_help_says() {
    let made = pages(ringctl::command());
    let is_own = |name: &str| name.starts_with("ringctl");
    check(&made, is_own, REWRITE_COMMAND);
    let names_aliases = made["ringctl-run.1"].contains(r"\-\-timeout]");
    assert!(names_aliases, "--wait has another name");
}

#[test]
fn the_reference_says_what_help_says() {
    check_reference(ringctl::command(), REWRITE_COMMAND);
}

#[test]
fn help_has_short_summaries_and_no_line_that_a_terminal_breaks() {
    check_help(&ringctl::command());
}
