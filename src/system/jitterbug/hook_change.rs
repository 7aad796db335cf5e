//! The changes for which hooks run.

use ring_host::hooks::{self, Head};

/// A change, and the state after it. The type is small, because each turn of the token causes two changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Change {
    pub number: u64,
    /// The time of the event, in milliseconds since 1970.
    pub time_ms: u64,
    /// The event's name: one of the names in [`hooks::event`].
    pub event: &'static str,
    /// The state before the change; `None` if the daemon did not run.
    pub from: Option<&'static str>,
    /// The state after the change; `None` if the daemon no longer runs.
    pub state: Option<&'static str>,
    /// The absolute `token_id` after the change.
    pub token_id: u32,
    /// Number of earlier changes that are merged into this change.
    pub merged: u64,
}

impl hooks::Change for Change {
    fn head(&self) -> Head {
        Head {
            number: self.number,
            time_ms: self.time_ms,
            event: self.event,
            from: self.from,
            state: self.state,
            merged: self.merged,
        }
    }

    fn after(self, earlier: Self) -> Self {
        Self {
            from: earlier.from,
            merged: earlier.merged + self.merged + 1,
            ..self
        }
    }

    fn system_variables(&self) -> impl IntoIterator<Item = (&'static str, String)> {
        let token_id = match self.token_id {
            0 => String::new(),
            id => id.to_string(),
        };
        [("RINGD_TOKEN_ID", token_id)]
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::Change;
    use ring_host::hooks::{Change as _, event};

    #[test]
    fn two_changes_become_one_from_the_first_state_to_the_last() {
        let change = |number, from, state| Change {
            number,
            time_ms: number,
            event: event::STATE,
            from: Some(from),
            state: Some(state),
            token_id: 7,
            merged: 0,
        };
        let first = change(1, "orphan", "waiter");
        let second = change(2, "waiter", "leader");
        let variables: BTreeMap<_, _> = second.after(first).variables().collect();
        for (name, value) in [
            ("RINGD_OLD_STATE", "orphan"),
            ("RINGD_STATE", "leader"),
            ("RINGD_MERGED", "1"),
            ("RINGD_EVENT_NUMBER", "2"),
            ("RINGD_TOKEN_ID", "7"),
        ] {
            assert_eq!(
                variables.get(name).map(String::as_str),
                Some(value),
                "{name}"
            );
        }
    }
}
