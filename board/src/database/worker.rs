//! Does the machine's jobs, one at a time, in a thread of its own.

use std::sync::Arc;
use std::time::Duration;

use ring_host::Task;
use ring_proto::andrews::{Command, Job, Outcome, Work};
use ring_runtime::worker::Bell;
use tracing::{info, warn};

use super::file::Anchor;
use super::{Around, Complaint, Fault, Nodes, Session, Url, run};
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
    /// What is wrong, for the node's status.
    pub complaint: Arc<Complaint>,
}

/// The database, as one node uses it. It connects when there is something to do, and again after a fault.
pub struct Worker {
    setting: Setting,
    session: Option<Box<dyn Session>>,
    file: Anchor,
}

impl Worker {
    /// A worker that has not connected yet.
    pub fn new(setting: Setting) -> Self {
        Self {
            setting,
            session: None,
            file: Anchor::default(),
        }
    }

    fn attempt(&mut self, work: &Work) -> Result<Outcome, Fault> {
        // The session stays: to end it would end what another file has beside it under the same name.
        self.check_file().map_err(Fault::Failed)?;
        let done = self.carry_on(work);
        if let Err(fault) = &done {
            // What it was about ends with the connection.
            self.session = None;
            return Err(fault.clone());
        }
        self.check_file().map_err(Fault::Unknown)?;
        done
    }

    /// Looks whether the file that is open is the one that nodes which start now open.
    fn check_file(&self) -> Result<(), String> {
        match &self.setting.url {
            Url::Sqlite(path) => self.file.check(path),
            Url::PostgreSql(_) => Ok(()),
        }
    }

    fn carry_on(&mut self, work: &Work) -> Result<Outcome, Fault> {
        let Setting {
            url,
            timeout,
            own,
            lines,
            desk,
            feed,
            complaint: _,
        } = &self.setting;
        let session = match &mut self.session {
            Some(session) => session,
            none => {
                let session = none.insert(url.open(*timeout)?);
                if let Url::Sqlite(path) = url {
                    self.file.keep(path);
                }
                session
            }
        };
        let (nodes, feed) = (Nodes { own: *own, lines }, &**feed);
        run(session.as_mut(), &nodes, Around { desk, feed }, work)
    }

    /// A fault that goes on is logged once.
    fn complain(&self, text: &str, is_of_write: bool) {
        let Setting { url, complaint, .. } = &self.setting;
        if complaint.raise(text, is_of_write) {
            warn!(
                event = "database_failed",
                "{url}: {text}; trying again every --poll"
            );
        }
    }
}

impl Task for Worker {
    type Job = Job;
    type Answer = Command;

    fn carry_out(&mut self, job: Job, _: &Bell) -> Command {
        let is_of_write = !matches!(job.work, Work::Look);
        let outcome = match self.attempt(&job.work) {
            Ok(outcome) => {
                let has_done = outcome != Outcome::Refused;
                if has_done && self.setting.complaint.settle(is_of_write) {
                    info!(
                        event = "database_back",
                        "{} answers again", self.setting.url
                    );
                }
                outcome
            }
            Err(fault) => {
                self.complain(&fault.to_string(), is_of_write);
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
