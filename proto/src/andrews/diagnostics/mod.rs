//! Values that people read. The state machine bases no decision on these values.

mod status;
mod unlisted_nodes;

pub use status::{ElectionStatus, Neighbor, NodeSummary, Snapshot, TokenStatus};
pub(crate) use unlisted_nodes::UnlistedNodes;
