//! The metrics of a node of a Jitterbug ring.

use std::fmt;
use std::time::Duration;

use ring_control::NodeStatus;
use ring_control::jitterbug::{LEADER, ORPHAN, Status, WAITER};

use super::metric::{Source, Writer, metrics};

metrics! {
    METRICS:
    STATE Gauge "ringd_jitterbug_state" ["state"]
        "1 for the present state of the node, and 0 for the other states.";
    NODES Gauge "ringd_jitterbug_nodes" []
        "The nodes of the list, including this node.";
    TO_ADD Gauge "ringd_jitterbug_nodes_to_add" []
        "The nodes that a leader will add to the list.";
    DATA Bytes "ringd_jitterbug_data" []
        "The length of the token's data.";
    LEASE Seconds "ringd_jitterbug_lease" []
        "The lease that the node uses.";
}

/// A node of a Jitterbug ring.
#[derive(Debug)]
pub(super) struct JitterbugNode(Status);

impl JitterbugNode {
    pub(super) fn new(status: &NodeStatus) -> serde_json::Result<Self> {
        status.json().decode().map(Self)
    }
}

impl Source for JitterbugNode {
    fn write(&self, to: &mut Writer<'_>) -> fmt::Result {
        let Self(it) = self;
        let states = [LEADER, ORPHAN, WAITER];
        to.write(&STATE, states.map(|state| ([state], state == it.state)))?;
        to.write_one(&NODES, it.nodes.len())?;
        to.write_one(&TO_ADD, it.to_add.len())?;
        to.write_one(&DATA, it.data_len)?;
        to.write_one(&LEASE, Duration::from_millis(it.lease_ms))
    }
}
