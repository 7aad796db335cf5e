//! One daemon between two peers that say what a test wants: what only a real process and a real
//! kernel show. How the machine behaves beside them, and exactly when, is in `tests/peer`.

mod frames;
mod processes;
mod wiring;

use ring_segment::Test;

pub(crate) fn tests() -> Vec<Test> {
    [wiring::tests(), frames::tests(), processes::tests()].concat()
}
