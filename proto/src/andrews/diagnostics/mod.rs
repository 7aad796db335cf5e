//! Values that people read. The state machine decides nothing on them.

mod status;
mod unlisted_nodes;

pub use status::{ElectionStatus, NodeSummary, Snapshot, TokenStatus};
pub(crate) use unlisted_nodes::UnlistedNodes;
