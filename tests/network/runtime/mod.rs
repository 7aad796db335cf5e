//! Tests of `ring-runtime` on a real link: its packet filter, its wake-ups, lost interfaces, and the lock of a daemon.

mod datagrams;
mod errors;
mod helpers;
mod interfaces;
mod locks;
mod packets;
mod streams;

use ring_segment::Test;

pub(crate) use helpers::run_as_child;

pub(crate) fn tests() -> Vec<Test> {
    // These tests have no daemons that the runner could stall.
    [
        packets::tests(),
        errors::tests(),
        datagrams::tests(),
        streams::tests(),
        interfaces::tests(),
        locks::tests(),
    ]
    .concat()
    .into_iter()
    .map(Test::without_stalls)
    .collect()
}
