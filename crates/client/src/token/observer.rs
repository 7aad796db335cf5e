//! The observer of a session's state machine. The observer stores the events that concern the program.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::Duration;

use ring_proto::ftn::client::{Event, LoginFailure, Loss};
use ring_proto::time::Now;
use ring_runtime::driver::Observe;

/// A queue of the events that the program has not taken. The other fields contain data of events that are not in the
/// queue.
#[derive(Debug, Default)]
pub(super) struct SessionObserver {
    pub events: VecDeque<Event>,
    /// Whether the state machine needs a new socket.
    pub needs_socket: bool,
    /// The last reason why a session could not start. `None` after a session became live.
    pub trouble: Option<LoginFailure>,
    /// The last server whose list of servers differs from the program's list, and the signature of the server's list.
    pub other_list: Option<(SocketAddr, i32)>,
    /// The last server whose client timeout is too short for a session. The first value is the server's index, and the
    /// second value is this timeout.
    pub short_timeout: Option<(usize, Duration)>,
}

impl Observe<Event> for SessionObserver {
    fn observe(&mut self, _: Now, event: &Event) {
        match event {
            Event::NewSocket => self.needs_socket = true,
            Event::LoginFailed { failure: trouble } => self.trouble = Some(*trouble),
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
            // This session was never live, so the program does not know of it.
            Event::Lost {
                loss: Loss::NotProven,
                ..
            } => self.trouble = Some(LoginFailure::NoLeader),
            Event::Lost { .. } => {
                self.drop_grants();
                self.events.push_back(event.clone());
            }
            _ => self.events.push_back(event.clone()),
        }
    }
}

impl SessionObserver {
    /// Drops the grants of a lost session. If these grants stayed in the queue, the program would take them for grants
    /// of the next session.
    pub(super) fn drop_grants(&mut self) {
        let is_of_session = |event: &Event| {
            matches!(
                event,
                Event::Granted { .. } | Event::Revoked { .. } | Event::UpgradeRevoked { .. }
            )
        };
        self.events.retain(|event| !is_of_session(event));
    }
}

#[cfg(test)]
mod tests {
    use ring_codec::ftn::Access;
    use ring_proto::ftn::client::{Event, LoginFailure, Loss};

    use super::SessionObserver;
    use ring_runtime::clock;
    use ring_runtime::driver::Observe;

    #[test]
    fn a_grant_of_a_lost_session_is_dropped() {
        let mut observer = SessionObserver::default();
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
            observer.observe(clock::now(), event);
        }
        assert!(observer.needs_socket);
        assert_eq!(observer.events, [lost]);
    }

    #[test]
    fn a_session_that_was_never_live_is_not_reported_as_lost() {
        let mut observer = SessionObserver::default();
        let lost = Event::Lost {
            session: 1 << 20,
            loss: Loss::NotProven,
        };
        observer.observe(clock::now(), &lost);
        assert!(observer.events.is_empty());
        assert_eq!(observer.trouble, Some(LoginFailure::NoLeader));
    }
}
