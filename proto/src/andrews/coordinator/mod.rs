//! What a node does as coordinator.

mod office;

pub(crate) use office::{Office, Petition};
