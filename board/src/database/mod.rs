//! The database: the transactions of `docs/board.md`, section 7, each with its guard, on SQLite or PostgreSQL. Start
//! with `worker.rs`. This module decides nothing: it carries out the jobs of the state machine.
//!
//! | files | contents |
//! |---|---|
//! | `url`, `session`, `sqlite`, `postgresql`, `value` | the place of the database, and statements there |
//! | `password`, `tls` | the node's password, and the server's certificate |
//! | `schema` | the tables and their versions, and their preparation at the start |
//! | `topology`, `visit` | the transactions |
//! | `worker`, `current_fault`, `file` | the thread for jobs, its fault, and the check that the file is still the same |

mod current_fault;
mod file;
mod password;
mod postgresql;
mod schema;
mod session;
mod sqlite;
mod tls;
mod topology;
mod url;
mod value;
mod visit;
mod worker;

pub use current_fault::CurrentFault;
pub use schema::{ListedNodes, VERSION};
pub use session::{Fault, Session, TransactionKind, transaction};
pub use url::{Url, UrlError};
pub use value::{Row, Value};
pub use worker::{Worker, WorkerOptions};

use ring_proto::andrews::{Outcome, Work};

use crate::posts::{PendingRequests, PostFeed};
use visit::Visit;

/// The parts of a node that a transaction on posts uses.
#[derive(Debug, Clone, Copy)]
pub struct VisitContext<'a> {
    /// The requests of clients, by the ids that the state machine knows.
    pub pending: &'a PendingRequests,
    /// The clients that listen for new posts.
    pub feed: &'a dyn PostFeed,
}

/// Carries out a job's transaction for a node.
///
/// # Errors
/// Returns an error if the transaction failed, or if it is unknown whether it was committed. The session is then
/// useless.
pub fn run(
    session: &mut dyn Session,
    nodes: &ListedNodes<'_>,
    context: VisitContext<'_>,
    work: &Work,
) -> Result<Outcome, Fault> {
    match work {
        Work::Prepare { drop } => schema::prepare(session, nodes, *drop).map(|()| Outcome::Done),
        Work::ReadRing => topology::read_rows(session).map(Outcome::Rows),
        Work::Write(write) => topology::write(session, nodes.own, *write),
        Work::Serve {
            sequence,
            requests,
            feed,
        } => {
            let visit = Visit {
                sequence: *sequence,
                requests,
                reads_for_listeners: *feed,
            };
            visit::serve(session, nodes.own, visit, context)
        }
    }
}
