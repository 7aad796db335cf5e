//! The token service on real segments: servers, each on a node of its own.

mod servers;
mod service;
mod stand;

use ring_segment::Test;

pub fn tests() -> Vec<Test> {
    [servers::tests(), service::tests()].concat()
}
