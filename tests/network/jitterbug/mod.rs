//! Jitterbug on real segments, with one node per network namespace. The tests judge the messages of the nodes.
//!
//! `stand.rs` starts the nodes and records their messages, `wire.rs` decodes the messages, and `judge.rs` checks the
//! rules.

mod conformance;
mod control;
mod crashes;
mod example;
mod health;
mod hostile_peers;
mod judge;
mod limits;
mod merging;
mod peer;
mod recording;
mod rings;
mod service;
mod stand;
mod terms;
mod trust;
mod wire;

use ring_segment::Test;

pub(crate) fn tests() -> Vec<Test> {
    let parts = [
        conformance::tests(),
        crashes::tests(),
        merging::tests(),
        example::tests(),
        rings::tests(),
        limits::tests(),
        hostile_peers::tests(),
        control::tests(),
        health::tests(),
        service::tests(),
        judge::tests(),
        recording::tests(),
        trust::tests(),
    ];
    parts.into_iter().flatten().collect()
}
