//! The token service on real segments, with one server per node and `ringctl token` as the client.
//!
//! `conformance` checks a server that may be another implementation. `stand.rs` starts servers on a segment, and
//! `judge.rs` checks their recorded messages. `client_stand.rs` starts servers on the loopback interface for tests of
//! clients.

mod client;
mod client_crashes;
mod client_page;
mod client_stand;
mod client_waits;
mod conformance;
mod fragments;
mod judge;
mod load;
mod operation;
mod recording;
mod servers;
mod service;
mod stand;
mod trust;
mod wire;

use ring_segment::Test;

pub(crate) fn tests() -> Vec<Test> {
    // These tests kill and stop their servers themselves.
    let clients = [
        client::tests(),
        client_waits::tests(),
        client_crashes::tests(),
        client_page::tests(),
        load::tests(),
        judge::tests(),
        conformance::tests(),
        fragments::tests(),
        recording::tests(),
        trust::tests(),
    ];
    let clients = clients.into_iter().flatten().map(Test::without_stalls);
    clients
        .chain(operation::tests())
        .chain(servers::tests())
        .chain(service::tests())
        .collect()
}
