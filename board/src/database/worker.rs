//! The thread that carries out the state machine's jobs, one at a time.

use std::sync::Arc;
use std::time::Duration;

use ring_host::Task;
use ring_proto::andrews::{Command, Job, Outcome, Work};
use ring_runtime::worker::WakeUp;
use tracing::{info, warn};

use super::file::OpenedFile;
use super::{CurrentFault, Fault, ListedNodes, Session, Url, VisitContext, run};
use crate::events;
use crate::list::ListedNode;
use crate::posts::{PendingRequests, PostFeed};

/// The options of a worker.
#[derive(Debug)]
pub struct WorkerOptions {
    /// The place of the database.
    pub url: Url,
    /// The value of --database-timeout.
    pub timeout: Duration,
    /// This node.
    pub own: u32,
    /// The lines of the list.
    pub lines: Vec<ListedNode>,
    /// The requests of clients.
    pub pending: Arc<PendingRequests>,
    /// The clients that listen for new posts.
    pub feed: Arc<dyn PostFeed>,
    /// The current fault of the database, for the node's status.
    pub current_fault: Arc<CurrentFault>,
}

/// The worker of one node. The worker connects to the database when a job needs a connection. After a fault, the worker
/// opens a new connection.
pub struct Worker {
    options: WorkerOptions,
    session: Option<Box<dyn Session>>,
    file: OpenedFile,
}

impl Worker {
    /// Creates a worker that has no connection.
    pub fn new(options: WorkerOptions) -> Self {
        Self {
            options,
            session: None,
            file: OpenedFile::default(),
        }
    }

    fn run_checked(&mut self, work: &Work) -> Result<Outcome, Fault> {
        // The session stays open. Closing the session would remove the WAL files, which another file with this name may
        // use.
        self.check_file().map_err(Fault::Failed)?;
        let done = self.run_on_session(work);
        if let Err(fault) = &done {
            // The database rolls the transaction back when the connection ends.
            self.session = None;
            return Err(fault.clone());
        }
        self.check_file().map_err(Fault::Unknown)?;
        done
    }

    /// Checks that the path still leads to the file that this worker opened. If the path led to a different file, nodes
    /// that start later would open that file.
    fn check_file(&self) -> Result<(), String> {
        match &self.options.url {
            Url::Sqlite(path) => self.file.check(path),
            Url::PostgreSql(_) => Ok(()),
        }
    }

    fn run_on_session(&mut self, work: &Work) -> Result<Outcome, Fault> {
        let WorkerOptions {
            url,
            timeout,
            own,
            lines,
            pending,
            feed,
            current_fault: _,
        } = &self.options;
        let session = match &mut self.session {
            Some(session) => session,
            none => {
                let session = none.insert(url.open(*timeout)?);
                if let Url::Sqlite(path) = url {
                    self.file.remember(path);
                }
                session
            }
        };
        let (nodes, feed) = (ListedNodes { own: *own, lines }, &**feed);
        run(
            session.as_mut(),
            &nodes,
            VisitContext { pending, feed },
            work,
        )
    }

    /// Logs a fault. While the fault lasts, logs it only once.
    fn report_fault(&self, text: &str, is_of_write: bool) {
        let WorkerOptions {
            url, current_fault, ..
        } = &self.options;
        if current_fault.note_failure(text, is_of_write) {
            warn!(
                event = events::DATABASE_FAILED,
                "{url}: {text}; trying again every --poll"
            );
        }
    }
}

impl Task for Worker {
    type Job = Job;
    type Answer = Command;

    fn run_job(&mut self, job: Job, _: &WakeUp) -> Command {
        let is_of_write = !matches!(job.work, Work::ReadRing);
        let outcome = match self.run_checked(&job.work) {
            Ok(outcome) => {
                let has_done = outcome != Outcome::Refused;
                if has_done && self.options.current_fault.note_success(is_of_write) {
                    info!(
                        event = events::DATABASE_BACK,
                        "{} answers again", self.options.url
                    );
                }
                outcome
            }
            Err(fault) => {
                self.report_fault(&fault.to_string(), is_of_write);
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
