//! The connections of a node, from the point of view of its driver.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use ring_proto::StreamId;
use ring_proto::time::Instant;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConnectionState {
    Open,
    /// The node closed its side.
    Finished,
    Closed,
    Reset,
    /// The peer or the kernel closed the connection.
    Gone,
}

#[expect(
    clippy::struct_excessive_bools,
    reason = "the flags are independent of each other"
)]
#[derive(Debug)]
pub(super) struct Connection {
    pub peer: SocketAddr,
    /// Whether the connection comes from a giver. If the value is false, the connection goes to a candidate.
    pub is_inbound: bool,
    /// The time at which the node accepted or requested the connection.
    pub since: Instant,
    pub state: ConnectionState,
    /// Whether the connection to a candidate is established.
    pub is_connected: bool,
    /// All bytes that the peer sent and that arrived.
    pub brought: Vec<u8>,
    /// The number of received bytes that the node has used.
    pub used: usize,
    pub has_ended: bool,
    pub written: Vec<u8>,
    /// Whether the node waits until the connection accepts more bytes.
    pub wants_to_write: bool,
}

impl Connection {
    pub(super) fn is_open(&self) -> bool {
        matches!(
            self.state,
            ConnectionState::Open | ConnectionState::Finished
        )
    }
}

#[derive(Default)]
pub(super) struct Connections {
    all: BTreeMap<StreamId, Connection>,
    made: u16,
}

impl Connections {
    pub(super) fn next_id(&self) -> StreamId {
        StreamId {
            slot: self.made,
            generation: 1,
        }
    }

    pub(super) fn add(&mut self, peer: SocketAddr, is_inbound: bool, since: Instant) -> StreamId {
        let id = self.next_id();
        self.made += 1;
        let connection = Connection {
            peer,
            is_inbound,
            since,
            state: ConnectionState::Open,
            is_connected: is_inbound,
            brought: Vec::new(),
            used: 0,
            has_ended: false,
            written: Vec::new(),
            wants_to_write: false,
        };
        self.all.insert(id, connection);
        id
    }

    /// Removes the closed connections.
    pub(super) fn clear(&mut self) {
        self.all.retain(|_, connection| connection.is_open());
    }

    pub(super) fn get_mut(&mut self, id: StreamId) -> Option<&mut Connection> {
        self.all.get_mut(&id)
    }

    pub(super) fn open(&self) -> impl Iterator<Item = (StreamId, &Connection)> {
        let all = self.all.iter().filter(|(_, it)| it.is_open());
        all.map(|(id, it)| (*id, it))
    }

    pub(super) fn inbound(&self) -> impl Iterator<Item = &Connection> {
        self.open().map(|(_, it)| it).filter(|it| it.is_inbound)
    }

    /// Returns one of the open connections, selected by a number.
    pub(super) fn pick(&self, number: u8) -> Option<StreamId> {
        let count = self.open().count();
        let at = usize::from(number).checked_rem(count)?;
        self.open().nth(at).map(|(id, _)| id)
    }

    /// Returns the connection of the current pass.
    pub(super) fn candidate(&self) -> Option<StreamId> {
        self.open()
            .find_map(|(id, it)| (!it.is_inbound).then_some(id))
    }
}
