//! Whole rings of daemons, judged by their frames.

mod faults;
mod formation;
mod loss;

use ring_segment::Test;

pub(crate) fn tests() -> Vec<Test> {
    [formation::tests(), faults::tests(), loss::tests()].concat()
}
