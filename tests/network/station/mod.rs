//! One daemon and what surrounds it on its machine.

mod interface;
mod news;
mod surroundings;

use ring_segment::Test;

pub fn tests() -> Vec<Test> {
    [surroundings::tests(), interface::tests(), news::tests()].concat()
}
