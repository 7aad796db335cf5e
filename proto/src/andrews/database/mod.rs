//! What is known of the database: whether it answers, the jobs that it has, and the rows as they were read last.

mod jobs;
mod view;
mod watch;

pub(crate) use jobs::{Answered, Database, InHand, Try};
pub(crate) use view::View;
pub(crate) use watch::Watch;
