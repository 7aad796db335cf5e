//! A socket on which the server accepts clients: the control socket or the monitor socket.

use std::fmt;
use std::path::Path;

use nix::unistd::{Gid, Group};
use ring_control::{MONITOR_GROUP, Right};
use ring_proto::time::Instant;
use ring_runtime::wait::{Interest, Poller};
use tracing::warn;

use super::super::Error;
use super::super::endpoint::Endpoint;
use super::super::last_failure::LastFailure;
use crate::observe::events;

/// A listening socket, and the right of clients that connect to it.
#[derive(Debug)]
pub(super) struct Socket {
    endpoint: Endpoint,
    right: Right,
    /// The listener's key in the poller.
    key: u64,
    /// Maximum number of clients of this socket.
    clients_max: usize,
    /// The group that may use the socket, in addition to the group of the process.
    group: Option<Gid>,
    /// The reason why the group may not use the socket. The reason is not logged yet.
    group_failure: Option<String>,
    /// End of a pause in which the server accepts no clients of this socket. `None` without a pause.
    accepts_at: Option<Instant>,
    /// Last logged reason why the socket cannot be made again.
    missing: LastFailure,
}

impl Socket {
    pub(super) fn control(path: &Path, key: u64, clients_max: usize) -> Result<Self, Error> {
        Ok(Self {
            endpoint: Endpoint::bind(path)?,
            right: Right::Act,
            key,
            clients_max,
            group: None,
            group_failure: None,
            accepts_at: None,
            missing: LastFailure::default(),
        })
    }

    /// Makes the monitor socket. If the group of monitors exists, lets its members use the socket.
    pub(super) fn monitor(path: &Path, key: u64, clients_max: usize) -> Result<Self, Error> {
        // The search for the group may take long, so the daemon searches for it only at its start.
        let group = Group::from_name(MONITOR_GROUP).ok().flatten();
        let mut this = Self {
            right: Right::Read,
            group: group.map(|group| group.gid),
            ..Self::control(path, key, clients_max)?
        };
        this.admit_group();
        Ok(this)
    }

    pub(super) const fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    pub(super) const fn right(&self) -> Right {
        self.right
    }

    pub(super) const fn key(&self) -> u64 {
        self.key
    }

    pub(super) const fn clients_max(&self) -> usize {
        self.clients_max
    }

    fn admit_group(&mut self) {
        if let Some(Err(error)) = self.group.map(|group| self.endpoint.admit_group(group)) {
            self.group_failure = Some(error.to_string());
        }
    }

    pub(super) fn add_to(&self, poller: &Poller) -> Result<(), Error> {
        poller
            .add(self.endpoint.listener(), self.key, self.interest())
            .map_err(Error::system("wait for clients"))
    }

    /// Returns the end of the pause in which the server accepts no clients of this socket. Returns `None` without a
    /// pause.
    pub(super) const fn accepts_at(&self) -> Option<Instant> {
        self.accepts_at
    }

    /// Accepts no clients of this socket before the time `until`. Otherwise, the listener would stay ready, and the
    /// loop would never sleep.
    pub(super) fn pause(&mut self, poller: &Poller, until: Instant) {
        self.accepts_at = Some(until);
        self.update_interest(poller);
    }

    /// Accepts clients again if the pause is over.
    pub(super) fn resume(&mut self, poller: &Poller, now: Instant) {
        if self.accepts_at.take_if(|at| *at <= now).is_some() {
            self.update_interest(poller);
        }
    }

    const fn interest(&self) -> Interest {
        if self.accepts_at.is_some() {
            Interest::Nothing
        } else {
            Interest::Read
        }
    }

    fn update_interest(&self, poller: &Poller) {
        // The listener was added to the poller, so this cannot fail.
        let _ = poller.modify(self.endpoint.listener(), self.key, self.interest());
    }

    /// Checks that clients can find the socket. If the socket was removed or replaced, makes it again.
    pub(super) fn check(&mut self, poller: &Poller) {
        if let Some(reason) = self.group_failure.take() {
            warn!(
                event = events::MONITOR_GROUP_DENIED,
                "cannot let the group {MONITOR_GROUP} use {self}: {reason}; install the unit of this ringd version \
                 (PrivateUsers=yes hides the group), or put the socket on a file system with access control lists"
            );
        }
        if self.endpoint.is_in_place() {
            return;
        }
        match self.listen_again(poller) {
            Ok(()) => {
                self.missing.clear();
                warn!(
                    event = events::CONTROL_SOCKET_RECREATED,
                    "{self} was removed or replaced, and the daemon has made it again; find out which program removed \
                     it"
                );
            }
            Err(error) => {
                let text = format!(
                    "{self} was removed or replaced, and new clients cannot connect: {error}"
                );
                if self.missing.record(&text) {
                    warn!(event = events::CONTROL_SOCKET_MISSING, "{text}");
                }
            }
        }
    }

    fn listen_again(&mut self, poller: &Poller) -> Result<(), Error> {
        let endpoint = Endpoint::bind(self.endpoint.path())?;
        poller
            .add(endpoint.listener(), self.key, self.interest())
            .map_err(Error::system("wait for clients"))?;
        // The listener was added before, so this cannot fail. The removal is necessary, because other processes may
        // have copies of the descriptor.
        let _ = poller.remove(self.endpoint.listener());
        self.endpoint = endpoint;
        self.admit_group();
        Ok(())
    }
}

impl fmt::Display for Socket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.right {
            Right::Act => "control",
            Right::Read => "monitor",
        };
        write!(f, "the {name} socket {}", self.endpoint.path().display())
    }
}
