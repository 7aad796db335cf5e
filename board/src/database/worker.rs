//! Does the machine's jobs, one at a time, in a thread of its own.

use std::sync::Arc;
use std::time::Duration;

use ring_proto::andrews::{Command, Job, Outcome, Work};
use ringd::host::Task;
use ringd::host::worker::Bell;
use tracing::{info, warn};

use super::{Around, Fault, Nodes, Session, Url, run};
use crate::list::Line;
use crate::posts::{Desk, Feed};

/// What a worker is told once.
#[derive(Debug)]
pub struct Setting {
    /// Where the database is.
    pub url: Url,
    /// The machine's patience with it.
    pub timeout: Duration,
    /// This node.
    pub own: u32,
    /// The list.
    pub lines: Vec<Line>,
    /// What requests stand for.
    pub desk: Arc<Desk>,
    /// Those who listen.
    pub feed: Arc<dyn Feed>,
}

/// The database, as one node uses it. It connects when there is something to do, and again after a fault.
pub struct Worker {
    setting: Setting,
    session: Option<Box<dyn Session>>,
    /// The fault logged last: one that goes on is logged once.
    complaint: Option<String>,
}

impl Worker {
    /// A worker that has not connected yet.
    #[must_use]
    pub fn new(setting: Setting) -> Self {
        Self {
            setting,
            session: None,
            complaint: None,
        }
    }

    fn attempt(&mut self, work: &Work) -> Result<Outcome, Fault> {
        let Setting {
            url,
            timeout,
            own,
            lines,
            desk,
            feed,
        } = &self.setting;
        let session = match &mut self.session {
            Some(session) => session,
            none => none.insert(url.open(*timeout)?),
        };
        let (nodes, feed) = (Nodes { own: *own, lines }, &**feed);
        run(session.as_mut(), &nodes, Around { desk, feed }, work)
    }

    fn complain(&mut self, text: String) {
        if self.complaint.as_ref() != Some(&text) {
            let url = &self.setting.url;
            warn!(
                event = "database_failed",
                "{url}: {text}; trying again every --poll"
            );
            self.complaint = Some(text);
        }
    }
}

impl Task for Worker {
    type Job = Job;
    type Answer = Command;

    fn carry_out(&mut self, job: Job, _: &Bell) -> Command {
        let outcome = match self.attempt(&job.work) {
            Ok(outcome) => {
                if self.complaint.take().is_some() {
                    info!(
                        event = "database_back",
                        "{} answers again", self.setting.url
                    );
                }
                outcome
            }
            Err(fault) => {
                // What it was about ends with the connection.
                self.session = None;
                self.complain(fault.to_string());
                match fault {
                    Fault::Failed(_) => Outcome::Failed,
                    Fault::Unknown(_) => Outcome::Unknown,
                }
            }
        };
        let job = job.id;
        Command::Done { job, outcome }
    }
}
