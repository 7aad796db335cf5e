//! The token service: real servers and `ringctl token`.

mod client;
mod client_crashes;
mod client_page;
mod client_stand;
mod client_waits;

use ring_segment::Test;

pub use client_stand::run_if_asked;

pub fn tests() -> Vec<Test> {
    let mut tests = client::tests();
    tests.extend(client_waits::tests());
    tests.extend(client_crashes::tests());
    tests.extend(client_page::tests());
    // Their servers are killed and stopped by the tests themselves.
    tests.into_iter().map(Test::without_stalls).collect()
}
