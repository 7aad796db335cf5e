//! The metrics of a server of the token service.

use std::collections::BTreeMap;
use std::fmt;

use ring_control::NodeStatus;
use ring_control::ftn::Status;

use super::metric::{Source, Writer, metrics};
use crate::signers::Signers;

metrics! {
    METRICS:
    SERVING Gauge "ringd_ftn_serving" []
        "1 if the server serves its tokens to clients, and 0 if it does not.";
    LEADER Gauge "ringd_ftn_leader" []
        "1 if the server leads, and 0 if it does not.";
    SERVERS Gauge "ringd_ftn_servers" ["state"]
        "The servers of the list, by their state.";
    SESSIONS Gauge "ringd_ftn_sessions" []
        "The sessions of clients. The status lists a limited number of sessions.";
    SESSIONS_BY_KEY Gauge "ringd_ftn_sessions_by_key" ["key"]
        "The number of sessions in the leader's status, by the id of the client's key, or none. Absent without keys.";
    TOKENS Gauge "ringd_ftn_tokens" []
        "The known tokens.";
    HELD Gauge "ringd_ftn_tokens_held" []
        "The held tokens.";
    WAITING Gauge "ringd_ftn_requests_waiting" []
        "The requests that wait for a token.";
    MEMORY Bytes "ringd_ftn_memory" []
        "The memory that the tokens use.";
    MEMORY_MAX Bytes "ringd_ftn_memory_max" []
        "The memory that the tokens may use.";
}

/// A server of the token service.
#[derive(Debug)]
pub(super) struct Server {
    status: Status,
    signers: Option<Signers>,
}

impl Server {
    pub(super) fn new(status: &NodeStatus) -> serde_json::Result<Self> {
        Ok(Self {
            status: status.json().decode()?,
            signers: Signers::of(status),
        })
    }
}

impl Source for Server {
    fn write(&self, to: &mut Writer<'_>) -> fmt::Result {
        let it = &self.status;
        to.write_one(&SERVING, it.is_serving())?;
        to.write_one(&LEADER, it.role == "leader")?;
        let states = ["DOWN", "BOOTING", "READY"];
        let mut counts: BTreeMap<&str, usize> = states.map(|state| (state, 0)).into();
        for server in &it.servers {
            *counts.entry(&server.state).or_default() += 1;
        }
        let counts = counts.into_iter();
        to.write(&SERVERS, counts.map(|(state, count)| ([state], count)))?;
        to.write_one(&SESSIONS, it.sessions.len())?;
        if let Some(signers) = &self.signers {
            to.write_counts(&SESSIONS_BY_KEY, &signers.clients_by_key())?;
        }
        to.write_one(&TOKENS, it.tokens)?;
        to.write_one(&HELD, it.held)?;
        to.write_one(&WAITING, it.waiting)?;
        to.write_one(&MEMORY, it.memory_bytes)?;
        to.write_one(&MEMORY_MAX, it.max_memory_bytes)
    }
}
