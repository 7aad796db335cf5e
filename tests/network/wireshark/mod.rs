//! Tests the dissectors of Wireshark in the folder `wireshark`. The project's codec decodes the same messages, and the
//! results must be equal.

mod board;
mod corpora;
mod expected;
mod live;
mod packets;
mod page;
mod signature;
mod tshark;

use ring_segment::Test;

pub(crate) use live::{check_jitterbug, check_token_service};

pub(crate) fn tests() -> Vec<Test> {
    // A stall would only change the recorded messages.
    let tests = [
        corpora::tests(),
        live::tests(),
        board::tests(),
        page::tests(),
        signature::tests(),
    ]
    .concat();
    tests.into_iter().map(Test::without_stalls).collect()
}
