//! The machine's surroundings: an interface, a state file, and observers.

use ring_proto::lab2::{Event, Lab2};
use ring_proto::time::Now;
use tracing::{info, warn};

use super::attachment::Attachment;
use super::history::History;
use super::service::Service;
use super::state_file::StateFile;
use super::status::status;
use crate::control::lab2::Status;
use crate::driver::{Environment, Observe};
use crate::host::Pace;
use crate::observe::lab2::Observers;
use crate::sys::{PacketSocket, clock};

/// The machine's surroundings.
#[derive(Debug)]
pub struct Surroundings {
    /// When the daemon was started.
    pub started: Now,
    pub attachment: Attachment,
    pub store: StateFile,
    pub audience: Audience,
    pub pace: Pace,
}

impl Surroundings {
    /// What `ringctl status` shows.
    pub fn status(&mut self, now: Now, machine: &Lab2, service: &Service) -> Status {
        let mut status = status(
            self.started,
            now.monotonic,
            machine,
            &mut self.attachment,
            &self.audience.observers.tally,
            service,
        );
        status.troubles.extend(self.pace.trouble());
        status
    }

    /// Checks the rate of the clock, and tells watchers if that becomes wrong, or right again.
    pub fn look_at_pace(&mut self, now: Now) {
        let Some((clock, counter)) = clock::rates() else {
            return;
        };
        if !self.pace.look(clock, counter) {
            return;
        }
        let history = &mut self.audience.history;
        if let Some(trouble) = self.pace.trouble() {
            warn!(event = "clock_rate", "{trouble}");
            history.trouble(now, "clock_rate", trouble);
        } else {
            let text = "this machine's clock runs at its right rate again";
            info!(event = "clock_rate_right", "{text}");
            history.trouble(now, "clock_rate_right", text.to_owned());
        }
    }

    /// Lends the driver what it works with.
    pub fn environment(&mut self) -> Environment<'_, PacketSocket, StateFile, Audience> {
        Environment {
            link: self.attachment.socket(),
            store: &mut self.store,
            observer: &mut self.audience,
        }
    }
}

/// All observers of events.
#[derive(Debug)]
pub struct Audience {
    pub observers: Observers,
    pub history: History,
}

impl Observe<Event> for Audience {
    fn observe(&mut self, now: Now, event: &Event) {
        self.observers.observe(now, event);
        self.history.observe(now, event);
    }
}
