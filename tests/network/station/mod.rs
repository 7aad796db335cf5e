//! One daemon and its environment on its machine.

mod asking;
mod descriptors;
mod files;
mod interface;
mod news;
mod rings;
mod signals;
mod surroundings;

use ring_segment::Test;

pub(crate) fn tests() -> Vec<Test> {
    let parts = [
        surroundings::tests(),
        files::tests(),
        asking::tests(),
        interface::tests(),
        news::tests(),
        rings::tests(),
        signals::tests(),
        descriptors::tests(),
    ];
    parts.concat()
}
