//! Scripts for one state machine, and their clock. Any bytes are a valid script.

use arbitrary::{Arbitrary, Unstructured};
use ring_proto::time::{Instant, Now};

/// Reads the options of a state machine and the steps of its script. The script ends when the remaining bytes are too
/// few for a step.
pub(crate) fn read<'a, N, S>(data: &'a [u8]) -> Option<(N, impl Iterator<Item = S>)>
where
    N: Arbitrary<'a>,
    S: Arbitrary<'a>,
{
    let mut data = Unstructured::new(data);
    let nature = data.arbitrary().ok()?;
    let steps = std::iter::from_fn(move || {
        let left = !data.is_empty();
        left.then(|| data.arbitrary().ok()).flatten()
    });
    Some((nature, steps))
}

/// The clocks of a process.
pub(crate) struct Clock(pub Now);

impl Clock {
    pub(crate) fn new() -> Self {
        Self(Now {
            monotonic: Instant::from_nanos(1_000_000_000),
            wall: 1_800_000_000_000_000_000,
        })
    }

    pub(crate) fn advance_to(&mut self, to: Instant) {
        let by = to.since(self.0.monotonic);
        self.0.wall += u64::try_from(by.as_nanos()).expect("a short time");
        self.0.monotonic = self.0.monotonic.max(to);
    }
}
