//! The keys of a node, in its status.

use serde::{Deserialize, Serialize};

/// The keys of a node.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrustStatus {
    /// The ids of the keys, in the order of the key file. The node signs with the first key. The list is
    /// empty if the node has no key file.
    pub keys: Vec<u32>,
    /// Whether the node accepts messages without a valid signature. A node without keys accepts them.
    pub accepts_unsigned: bool,
}
