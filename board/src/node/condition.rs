//! The condition of a node in a few words. The service manager shows this text.

use std::fmt;

use ring_proto::andrews::{NodeSummary, State};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Condition {
    state: State,
    coordinator: Option<u32>,
    is_coordinator: bool,
    has_address: bool,
}

impl Condition {
    /// Returns the condition. The condition does not name the node with the token, because the token moves too often.
    pub(super) const fn of(standing: NodeSummary, has_address: bool) -> Self {
        Self {
            state: standing.state,
            coordinator: standing.coordinator,
            is_coordinator: standing.is_coordinator,
            has_address,
        }
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.state.name())?;
        match self.coordinator {
            Some(_) if self.is_coordinator => f.write_str(", coordinator")?,
            Some(id) => write!(f, ", node {id} is coordinator")?,
            None => f.write_str(", no coordinator")?,
        }
        if self.has_address {
            return Ok(());
        }
        f.write_str(", waiting for its address")
    }
}

#[cfg(test)]
mod tests {
    use ring_proto::andrews::{NodeSummary, State};

    use super::Condition;

    #[test]
    fn it_shows_the_coordinator_and_not_the_token() {
        let of = |coordinator, is_coordinator, may_use| {
            let standing = NodeSummary {
                state: State::Member,
                coordinator,
                is_coordinator,
                may_use,
            };
            Condition::of(standing, true)
        };
        assert_eq!(of(Some(2), true, false).to_string(), "MEMBER, coordinator");
        assert_eq!(of(Some(2), true, true), of(Some(2), true, false));
        assert_eq!(
            of(Some(3), false, false).to_string(),
            "MEMBER, node 3 is coordinator"
        );
        assert_eq!(of(None, false, false).to_string(), "MEMBER, no coordinator");
        let without = Condition {
            has_address: false,
            ..of(Some(2), true, false)
        };
        assert_eq!(
            without.to_string(),
            "MEMBER, coordinator, waiting for its address"
        );
    }
}
