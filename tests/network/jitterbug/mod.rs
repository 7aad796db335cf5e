//! Jitterbug on real segments: one node per network namespace, judged by its messages.

mod big;
mod control;
mod crashes;
mod example;
mod health;
mod judge;
mod merging;
mod peer;
mod rings;
mod service;
mod stand;
mod strangers;
mod wire;

use ring_segment::Test;

pub(crate) fn tests() -> Vec<Test> {
    let parts = [
        crashes::tests(),
        merging::tests(),
        example::tests(),
        rings::tests(),
        big::tests(),
        strangers::tests(),
        control::tests(),
        health::tests(),
        service::tests(),
        judge::tests(),
    ];
    parts.into_iter().flatten().collect()
}
