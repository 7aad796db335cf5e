//! The metrics of a node of the board.

use std::fmt;

use ring_control::NodeStatus;
use ring_proto::andrews::{DatabaseState, State};
use serde::Deserialize;

use super::metric::{Source, Writer, metrics};

metrics! {
    METRICS:
    STATE Gauge "ringd_board_state" ["state"]
        "1 for the present state of the node, and 0 for the other states.";
    MEMBERS Gauge "ringd_board_members" []
        "The members of the ring that the node knows.";
    TOKEN Gauge "ringd_board_token_held" []
        "1 if the node has the token, and 0 if it does not have the token.";
    DATABASE Gauge "ringd_board_database" ["state"]
        "1 for the present state of the database, and 0 for the other states.";
    NEIGHBORS Gauge "ringd_board_neighbor_connections" ["protection"]
        "The connections to the neighbors in the ring: encrypted or plain.";
    WAITING Gauge "ringd_board_requests_waiting" []
        "The requests that wait for the token or the database.";
}

/// The keys of the status that have metrics.
#[derive(Debug, Deserialize)]
pub(super) struct BoardNode {
    state: String,
    members: Vec<u32>,
    token: Token,
    database: String,
    #[serde(default)]
    neighbors: Vec<Neighbor>,
    waiting: usize,
}

#[derive(Debug, Deserialize)]
struct Token {
    held: bool,
}

#[derive(Debug, Deserialize)]
struct Neighbor {
    key: Option<u32>,
}

impl BoardNode {
    pub(super) fn new(status: &NodeStatus) -> serde_json::Result<Self> {
        status.json().decode()
    }
}

impl Source for BoardNode {
    fn write(&self, to: &mut Writer<'_>) -> fmt::Result {
        let states = [
            State::Starting,
            State::Joining,
            State::Member,
            State::Recovering,
        ];
        let states = states.map(State::name);
        to.write(&STATE, states.map(|it| ([it], it == self.state)))?;
        to.write_one(&MEMBERS, self.members.len())?;
        to.write_one(&TOKEN, self.token.held)?;
        let states = [DatabaseState::Up, DatabaseState::Slow, DatabaseState::Gone];
        let states = states.map(DatabaseState::name);
        to.write(&DATABASE, states.map(|it| ([it], it == self.database)))?;
        let encrypted = self.neighbors.iter().filter(|it| it.key.is_some()).count();
        let plain = self.neighbors.len() - encrypted;
        let counts = [("encrypted", encrypted), ("plain", plain)];
        to.write(&NEIGHBORS, counts.map(|(name, count)| ([name], count)))?;
        to.write_one(&WAITING, self.waiting)
    }
}
