//! One daemon and what surrounds it on its machine.

mod interface;
mod surroundings;

use ring_segment::Test;

pub fn tests() -> Vec<Test> {
    [surroundings::tests(), interface::tests()].concat()
}
