//! A node's surroundings, looked at about once a second and only when the loop is awake anyway: what the kernel drops, and the
//! rate of the clock.

use ring_runtime::clock;
use tracing::{info, warn};

use super::{ClockRate, Program};

/// Logs what goes wrong with the link and the clock.
#[derive(Debug)]
pub struct NodeHealth {
    program: Program,
    messages: &'static str,
    kernel_drops: u64,
    clock: ClockRate,
}

impl NodeHealth {
    /// Nothing logged yet, in this program. `messages` is what the link carries.
    pub const fn new(program: Program, messages: &'static str) -> Self {
        Self {
            program,
            messages,
            kernel_drops: 0,
            clock: ClockRate::new(),
        }
    }

    /// Looks at how many messages the kernel has `dropped`, all told.
    pub fn look_at_drops(&mut self, dropped: u64) {
        let count = dropped.saturating_sub(self.kernel_drops);
        self.kernel_drops = dropped;
        let (program, messages) = (self.program, self.messages);
        if count > 0 {
            warn!(
                event = "kernel_dropped",
                count,
                "the kernel dropped {count} {messages}: they came faster than {program} reads"
            );
        }
    }

    /// Checks the rate of the clock. When that has become wrong, and when it is right again, logs it and `tell`s watchers:
    /// the event's name, and a sentence.
    pub fn look_at_clock(&mut self, tell: impl FnOnce(&'static str, String)) {
        let Some((clock, counter)) = clock::rates() else {
            return;
        };
        if !self.clock.look(clock, counter) {
            return;
        }
        let (event, text) = if let Some(text) = self.clock.trouble() {
            let event = "clock_rate";
            warn!(event, "{text}");
            (event, text)
        } else {
            let event = "clock_rate_right";
            let text = "this machine's clock runs at its right rate again".to_owned();
            info!(event, "{text}");
            (event, text)
        };
        tell(event, text);
    }

    /// What is wrong with the rate of the clock, and what to do; `None`: nothing.
    pub fn clock_trouble(&self) -> Option<String> {
        self.clock.trouble()
    }
}
