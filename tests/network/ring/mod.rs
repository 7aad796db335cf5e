//! Whole rings of daemons. The tests judge the frames of the rings.

mod faults;
mod formation;
mod guardian;
mod guardian_programs;
mod loss;
mod polling;

use ring_segment::Test;

pub(crate) fn tests() -> Vec<Test> {
    [
        formation::tests(),
        faults::tests(),
        guardian::tests(),
        guardian_programs::tests(),
        loss::tests(),
        polling::tests(),
    ]
    .concat()
}
