//! What the service manager is told; nothing if there is none.

use std::env;
use std::time::Duration;

use sd_notify::NotifyState;

use crate::observe::RateLimit;
use crate::proto::lab2::{Lab2, State};
use crate::proto::time::Instant;

/// How the daemon is, so far as the service manager cares: no more than changes with a real
/// change, so that the rotation of the token tells it nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Condition {
    NoLink,
    Member { members: usize },
    Looking,
    Electing,
}

/// Tells the service manager.
#[derive(Debug)]
pub struct Notifier {
    /// Whether anybody listens.
    wanted: bool,
    told: Option<Condition>,
    limit: RateLimit,
}

impl Notifier {
    /// Finds out whether there is a service manager that wants to be told.
    #[must_use]
    pub fn new() -> Self {
        Self {
            wanted: env::var_os("NOTIFY_SOCKET").is_some(),
            told: None,
            limit: RateLimit::new(1, Duration::from_secs(1)),
        }
    }

    /// The daemon is up.
    pub fn ready(&self) {
        self.tell(NotifyState::Ready);
    }

    /// The daemon is shutting down.
    pub fn stopping(&self) {
        self.tell(NotifyState::Stopping);
        self.tell(NotifyState::Status("handing the token over"));
    }

    /// Tells a change of condition, at most once a second.
    pub fn update(&mut self, now: Instant, machine: &Lab2, link_up: bool) {
        if !self.wanted {
            return;
        }
        let condition = match machine.state() {
            _ if !link_up => Condition::NoLink,
            State::Owner | State::Waiter => Condition::Member {
                members: machine.members().len(),
            },
            State::Looser => Condition::Looking,
            State::Generating => Condition::Electing,
        };
        if self.told == Some(condition) || !self.limit.allow(now) {
            return;
        }
        self.told = Some(condition);
        let text = match condition {
            Condition::NoLink => "waiting for the interface".to_owned(),
            Condition::Member { members: 1 } => "in a ring of its own".to_owned(),
            Condition::Member { members } => format!("in a ring, {members} members known"),
            Condition::Looking => "looking for a token".to_owned(),
            Condition::Electing => "electing an owner".to_owned(),
        };
        self.tell(NotifyState::Status(&text));
    }

    fn tell(&self, state: NotifyState<'_>) {
        if self.wanted
            && let Err(error) = sd_notify::notify(&[state])
        {
            tracing::debug!(event = "notify_failed", "cannot notify systemd: {error}");
        }
    }
}
