//! Tests one daemon between two peers that send the test's frames. The tests cover behavior that appears only with a
//! real process and a real kernel. `tests/peer` tests the state machine with exact times.

mod frames;
mod processes;
mod wiring;

use ring_segment::Test;

pub(crate) fn tests() -> Vec<Test> {
    [wiring::tests(), frames::tests(), processes::tests()].concat()
}
