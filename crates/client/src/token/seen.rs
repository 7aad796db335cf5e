//! What a session's machine has told, as far as programs are concerned.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::Duration;

use ring_proto::ftn::client::{Event, Loss, Trouble};
use ring_proto::time::Now;
use ring_runtime::driver::Observe;

/// Events that the program has not taken yet, and what the others have shown.
#[derive(Debug, Default)]
pub(super) struct Seen {
    pub events: VecDeque<Event>,
    /// The machine needs another socket.
    pub needs_socket: bool,
    /// What was last in the way of a session; `None`: there was one since.
    pub trouble: Option<Trouble>,
    /// Who was heard last that has another list, and its signature.
    pub other_list: Option<(SocketAddr, i32)>,
    /// The server, by index, that announced last a client timeout that no session outlasts.
    pub short_timeout: Option<(usize, Duration)>,
}

impl Observe<Event> for Seen {
    fn observe(&mut self, _: Now, event: &Event) {
        match event {
            Event::NewSocket => self.needs_socket = true,
            Event::LoginFailed { trouble } => self.trouble = Some(*trouble),
            Event::OtherList { from, ssig } => self.other_list = Some((*from, *ssig)),
            Event::ShortTimeout { server, timeout } => {
                self.short_timeout = Some((*server, *timeout));
            }
            Event::Proving { .. }
            | Event::Adopted { .. }
            | Event::Declined { .. }
            | Event::Dropped { .. }
            | Event::SendFailed => {}
            Event::Live { .. } => {
                self.trouble = None;
                self.short_timeout = None;
                self.events.push_back(event.clone());
            }
            // It was never live, so the program has never heard of it.
            Event::Lost {
                loss: Loss::NotProven,
                ..
            } => self.trouble = Some(Trouble::NoLeader),
            Event::Lost { .. } => {
                self.lose();
                self.events.push_back(event.clone());
            }
            _ => self.events.push_back(event.clone()),
        }
    }
}

impl Seen {
    /// The session is over: what it has granted must not be taken for held when another session is live.
    pub(super) fn lose(&mut self) {
        let is_over = |event: &Event| {
            matches!(
                event,
                Event::Granted { .. } | Event::Revoked { .. } | Event::UpgradeRevoked { .. }
            )
        };
        self.events.retain(|event| !is_over(event));
    }
}

#[cfg(test)]
mod tests {
    use ring_codec::ftn::Access;
    use ring_proto::ftn::client::{Event, Loss, Trouble};

    use super::Seen;
    use ring_runtime::clock;
    use ring_runtime::driver::Observe;

    #[test]
    fn a_grant_of_a_lost_session_is_never_taken() {
        let mut seen = Seen::default();
        let granted = Event::Granted {
            name: b"t"[..].into(),
            access: Access::Shared,
            fence: None,
            data: Box::default(),
        };
        let lost = Event::Lost {
            session: 1 << 20,
            loss: Loss::LeaseOver,
        };
        for event in [&granted, &lost, &Event::NewSocket] {
            seen.observe(clock::now(), event);
        }
        assert!(seen.needs_socket);
        assert_eq!(seen.events, [lost]);
    }

    #[test]
    fn a_session_that_was_never_live_is_not_told_as_lost() {
        let mut seen = Seen::default();
        let lost = Event::Lost {
            session: 1 << 20,
            loss: Loss::NotProven,
        };
        seen.observe(clock::now(), &lost);
        assert!(seen.events.is_empty());
        assert_eq!(seen.trouble, Some(Trouble::NoLeader));
    }
}
