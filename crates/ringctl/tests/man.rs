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

const FINDINGS_HEAD: &str = "\
# Findings

This page lists the kinds of findings of `ringctl doctor`, for programs that read its JSON and for operators. This
command writes the page: `RINGD_WRITE_DOCS=1 cargo test -p ringctl --test man`. [Examine a
ring](../how-to/examine-a-ring.md) shows how to use the command.

`ringctl doctor --json` prints one object with these keys. Times are in nanoseconds.

| key | content |
|---|---|
| `findings` | a list of findings, the worst first |
| `shortest_heartbeat` | `shortest_ns`, `current_ns` and `reason`; `null` if the members measured nothing |
| `survey` | the measurement, as in [the control protocol](control.md); `null` if there is none |

A finding is an object:

| key | content |
|---|---|
| `severity` | `error`, `warning` or `note`. Only errors and warnings change the exit code |
| `kind` | the kind, from the table below |
| `text` | the problem |
| `evidence` | the observation; `null` if the text contains it |
| `remedy` | the remedy; `null` if the text contains it |

Names of kinds do not change. New versions may add kinds. The table shows the usual severity of a kind.
";

#[test]
fn the_reference_lists_all_metrics() {
    check_generated("metrics.md", METRICS_HEAD, &ringctl::metric_tables());
}

#[test]
fn the_reference_lists_all_findings() {
    check_generated("findings.md", FINDINGS_HEAD, &ringctl::finding_table());
}

/// Compares a page of the reference with the file. If `RINGD_WRITE_DOCS` is set, writes the file instead.
fn check_generated(name: &str, head: &str, tables: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference");
    let (file, page) = (folder.join(name), head.to_owned() + tables);
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
