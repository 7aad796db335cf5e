//! What a node does as coordinator.

mod duties;

pub(crate) use duties::{Duties, MemberRequest};
