//! The conformance checks of `docs/jitterbug/protocol/conformance.md`, with one module per level. The environment
//! variable `CONFORM` selects the program under test. Without this variable, the program is `ringd jitterbug`.
//!
//! In most checks, the program and a scripted node are the only nodes of a segment (`probe.rs`, `exchange.rs`). A check
//! uses only the messages of the program. Its failure message names the rules that it checks.

mod basic;
mod exchange;
mod full;
mod probe;
mod uniform;

use ring_segment::Test;

pub(super) fn tests() -> Vec<Test> {
    let parts = [uniform::tests(), basic::tests(), full::tests()];
    // The checks kill and stop the program themselves.
    let all = parts.into_iter().flatten();
    all.map(Test::without_stalls).collect()
}
