//! The reaction of a system to a client's request. If the reply contains the status of the node, the status is added
//! later.

use ring_control::{NodeStatus, PROTOCOL_VERSION, Reply, Snapshot, Version};

use super::Answer;

/// The way in which the host answers a request.
#[derive(Debug)]
pub enum Reaction<C> {
    /// Send this reply.
    Reply(Reply),
    /// The reply follows later.
    Later,
    /// The host gives this command to the machine, and then sends this reply.
    Command(C, Reply),
    /// Reply with the status.
    Status,
    /// Reply with a snapshot: the status, and the number of the latest event.
    Snapshot,
}

impl<C> Reaction<C> {
    /// Replies with an error.
    pub fn error(text: &str) -> Self {
        Self::Reply(Reply::Error(text.to_owned()))
    }

    /// Replies with the version of the protocol, the version of this program, and the interface of the node, if it has
    /// one.
    pub fn version(interface: Option<&str>) -> Self {
        Self::Reply(Reply::Version(Version {
            protocol: PROTOCOL_VERSION,
            ringd: env!("CARGO_PKG_VERSION").to_owned(),
            interface: interface.map(str::to_owned),
        }))
    }

    /// Converts the reaction into the host's answer. `latest` is the number of the latest event. `status` makes the
    /// node's status.
    pub fn answer(self, latest: u64, status: impl FnOnce() -> NodeStatus) -> Answer<C> {
        Answer::Reply(match self {
            Self::Reply(reply) => reply,
            Self::Later => return Answer::Later,
            Self::Command(command, reply) => return Answer::Command(command, reply),
            Self::Status => Reply::Status(status()),
            Self::Snapshot => Reply::Snapshot(Box::new(Snapshot {
                number: latest,
                status: status(),
            })),
        })
    }
}
