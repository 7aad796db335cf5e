//! The database: the transactions of `docs/board.md`, section 7, each with its guard, on SQLite or PostgreSQL.
//!
//! | files | what |
//! |---|---|
//! | `url`, `session`, `sqlite`, `postgresql`, `value` | where it is, and how statements are run there |
//! | `password`, `tls` | who a node is to a server, and a server to a node |
//! | `schema` | the tables, their versions, and what a node does with them at its start |
//! | `topology`, `serving` | the transactions |
//! | `worker`, `complaint`, `file` | does the machine's jobs, says what is wrong, and looks whether the file is still in its place |

mod complaint;
mod file;
mod password;
mod postgresql;
mod schema;
mod serving;
mod session;
mod sqlite;
mod tls;
mod topology;
mod url;
mod value;
mod worker;

pub use complaint::Complaint;
pub use schema::{Nodes, VERSION};
pub use session::{Fault, Kind, Session, transaction};
pub use url::{Url, UrlError};
pub use value::{Row, Value};
pub use worker::{Setting, Worker};

use ring_proto::andrews::{Outcome, Work};

use crate::posts::{Desk, Feed};
use serving::Visit;

/// Where requests come from, and who is told of posts.
#[derive(Debug, Clone, Copy)]
pub struct Around<'a> {
    /// What requests stand for, and what has come of them.
    pub desk: &'a Desk,
    /// Those who listen to new posts.
    pub feed: &'a dyn Feed,
}

/// Runs a job's transaction for a node.
///
/// # Errors
/// Something failed, or nobody knows what became of the commit; the session is of no use any longer.
pub fn run(
    session: &mut dyn Session,
    nodes: &Nodes<'_>,
    around: Around<'_>,
    work: &Work,
) -> Result<Outcome, Fault> {
    match work {
        Work::Prepare { drop } => schema::prepare(session, nodes, *drop).map(|()| Outcome::Done),
        Work::Look => topology::look(session).map(Outcome::Rows),
        Work::Write(write) => topology::write(session, nodes.own, *write),
        Work::Serve {
            sequence,
            requests,
            feed,
        } => {
            let visit = Visit {
                sequence: *sequence,
                requests,
                feeds: *feed,
            };
            serving::serve(session, nodes.own, visit, around)
        }
    }
}
