//! A server's condition in a few words. The service manager shows the condition in these words.

use std::fmt;

use ring_proto::ftn::server::{RoleKind, ServerSummary};

use crate::system::ftn::observe::state_name;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Condition {
    NoLink,
    Up(ServerSummary),
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::Up(standing) = self else {
            return f.write_str("waiting for its address");
        };
        match (standing.role, standing.leader) {
            (RoleKind::Leader, _) => f.write_str("leads")?,
            (RoleKind::Follower, Some(leader)) => write!(f, "follows server {leader}")?,
            (RoleKind::Follower | RoleKind::Electing, _) => f.write_str("looking for a leader")?,
        }
        write!(f, ", {}", state_name(standing.state))
    }
}

#[cfg(test)]
mod tests {
    use ring_codec::ftn::ServerState;
    use ring_proto::ftn::server::{RoleKind, ServerSummary};

    use super::Condition;

    #[test]
    fn it_names_the_leader() {
        let up = |role, leader, state| {
            let standing = ServerSummary {
                role,
                leader,
                state,
            };
            Condition::Up(standing).to_string()
        };
        let shown = [
            up(RoleKind::Leader, Some(0), ServerState::Ready),
            up(RoleKind::Follower, Some(2), ServerState::Booting),
            up(RoleKind::Electing, None, ServerState::Down),
        ];
        let expected = [
            "leads, READY",
            "follows server 2, BOOTING",
            "looking for a leader, DOWN",
        ];
        assert_eq!(shown, expected);
    }
}
