//! One daemon between two peers that say what a test wants: how it behaves on the wire.

mod addresses;
mod election;
mod frames;
mod members;
mod owner;
mod passing;
mod waiter;

use ring_segment::Test;

pub fn tests() -> Vec<Test> {
    [
        frames::tests(),
        owner::tests(),
        passing::tests(),
        waiter::tests(),
        election::tests(),
        addresses::tests(),
        members::tests(),
    ]
    .concat()
}
