//! This node's view of the database: whether it answers, its jobs, and the rows that the node read last.

mod jobs;
mod row_watch;
mod view;

pub(crate) use jobs::{Database, DatabaseAttempt, RunningJob, Timeliness};
pub(crate) use row_watch::RowWatch;
pub(crate) use view::View;
