mod duties;

pub(crate) use duties::{CoordinatorDuties, MemberRequest};
