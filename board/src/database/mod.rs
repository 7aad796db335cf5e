//! The database. This module contains the transactions of `docs/board/protocol/database.md`, rules D, and the guard of
//! each transaction, for SQLite and PostgreSQL. The module makes no decisions. It only carries out the jobs of the
//! state machine. Start with `worker.rs`.
//!
//! | files | contents |
//! |---|---|
//! | `url`, `session`, `sqlite`, `postgresql`, `value` | the location of the database, and its statements |
//! | `password`, `tls` | the node's password, and the server's certificate |
//! | `schema` | the tables and their versions, and their preparation at the start |
//! | `topology`, `visit` | the transactions |
//! | `worker`, `current_fault`, `file` | the thread for jobs, the database's current fault, and a check of its file |

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

/// The parts of a node that transactions on posts use.
#[derive(Debug, Clone, Copy)]
pub struct VisitContext<'a> {
    /// The requests of clients. The key of each request is its id in the state machine.
    pub pending: &'a PendingRequests,
    /// The clients that listen for new posts.
    pub feed: &'a dyn PostFeed,
}

/// Carries out a job's transaction for a node.
///
/// # Errors
/// Returns an error if the transaction failed, or if it is unknown whether the transaction was committed. After an
/// error, the caller must not use the session again.
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
