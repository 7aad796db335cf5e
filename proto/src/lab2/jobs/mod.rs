pub(crate) mod job;
pub(crate) mod once;
pub(crate) mod stamps;
pub(crate) mod telling;
