//! Checks for two problems of a node: messages that the kernel drops, and a clock with a wrong rate. The checks run
//! about once per second, but only while the loop is awake.

use ring_runtime::clock;
use tracing::{info, warn};

use super::{ClockRate, Program};
use crate::observe::events;

/// A log of problems of the link and the clock.
#[derive(Debug)]
pub struct NodeHealth {
    program: Program,
    messages: &'static str,
    kernel_drops: u64,
    clock: ClockRate,
}

impl NodeHealth {
    /// Creates the checks of `program`. `messages` names the messages of its link: frames or datagrams.
    pub const fn new(program: Program, messages: &'static str) -> Self {
        Self {
            program,
            messages,
            kernel_drops: 0,
            clock: ClockRate::new(),
        }
    }

    /// Logs new drops. `dropped` is the total number of messages that the kernel has dropped.
    pub fn update_drops(&mut self, dropped: u64) {
        let count = dropped.saturating_sub(self.kernel_drops);
        self.kernel_drops = dropped;
        let (program, messages) = (self.program, self.messages);
        if count > 0 {
            warn!(
                event = events::KERNEL_DROPPED,
                count,
                "the kernel dropped {count} {messages}: they arrived faster than {program} reads"
            );
        }
    }

    /// Checks the rate of the clock. If the rate became wrong or right, logs the change. For watchers, also calls
    /// `tell` with the name of the event and a text.
    pub fn check_clock(&mut self, tell: impl FnOnce(&'static str, String)) {
        let Some((clock, counter)) = clock::read_rates() else {
            return;
        };
        if !self.clock.update(clock, counter) {
            return;
        }
        let (event, text) = if let Some(text) = self.clock.problem() {
            let event = events::CLOCK_RATE;
            warn!(event, "{text}");
            (event, text)
        } else {
            let event = events::CLOCK_RATE_RIGHT;
            let text = "this machine's clock runs at the right rate again".to_owned();
            info!(event, "{text}");
            (event, text)
        };
        tell(event, text);
    }

    /// Returns a text about a wrong rate of the clock and a remedy; `None` if the rate is right.
    pub fn clock_problem(&self) -> Option<String> {
        self.clock.problem()
    }
}
