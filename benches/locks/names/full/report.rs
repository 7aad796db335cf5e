//! The table of all figures.

use std::time::Duration;

use super::super::latency::Times;
use super::LOCKS;
use super::idle::Idle;

/// The cells of one column of the table, each with the question that its row answers.
pub(super) type Rows = Vec<(&'static str, String)>;

/// Prints the table. The columns are the grades `alone` and `quorum`.
pub(super) fn print(machines: usize, columns: &[Rows]) {
    println!("| {machines} machines, {LOCKS} locks | `alone` | `quorum` |");
    println!("|---|---|---|");
    for ((question, alone), (_, quorum)) in columns[0].iter().zip(&columns[1]) {
        println!("| {question} | {alone} | {quorum} |");
    }
}

/// Compares the ring without locks and the ring with locks.
pub(super) fn compare(empty: &(Idle, Times, Times), full: &(Idle, Times, Times), rows: &mut Rows) {
    let (from, to) = (&empty.0, &full.0);
    let ratio = |from: f64, to: f64, digits: usize| {
        format!("{from:.digits$}, {to:.digits$} ({:.2})", to / from)
    };
    rows.push((
        "frames per second of the idle ring",
        ratio(from.frames, to.frames, 0),
    ));
    rows.push(("bytes per second", ratio(from.bytes, to.bytes, 0)));
    rows.push(("CPU of one daemon, % of a core", ratio(from.cpu, to.cpu, 2)));
    rows.push((
        "memory of one daemon, MiB",
        ratio(from.memory, to.memory, 2),
    ));
    for (name, from, to) in [
        ("one more take, ms", &empty.1, &full.1),
        ("handover, 3 nodes contend, ms", &empty.2, &full.2),
    ] {
        let text = format!(
            "{}, {} ({:.2})",
            millis(from),
            millis(to),
            to.p50 / from.p50
        );
        rows.push((name, text));
    }
}

pub(super) fn millis(times: &Times) -> String {
    format!("{:.2} [{:.2}]", times.p50 / 1e6, times.p99 / 1e6)
}

pub(super) fn seconds(time: Duration) -> String {
    format!("{:.3} s", time.as_secs_f64())
}
