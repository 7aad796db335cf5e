//! Serves clients of the control socket: locks, the token's data, and watching.

use std::os::fd::OwnedFd;

use ring_control::jitterbug::{JitterbugRequest, LockRequest, LossReason, RefusalReason};
use ring_control::{
    Grant, LABEL_LEN_MAX, Loss, RawJson, Refusal, Renewal, Reply, Request, TokenData,
};
use ring_host::{HeldLock, HistoryEntry, LockLog, Reaction, Server, Watchers, lease_clock};
use ring_process::Backstops;
use ring_process::{Client, ClientId};
use ring_proto::jitterbug::{Command, Jitterbug, State};
use ring_proto::time::{Instant, Now};
use ring_text::hex;

use super::history::{History, HistoryKeys};
use super::locks::{Locks, MachineState, Notice};

/// Maximum number of bytes of data in a grant, so that the data fit into an environment variable.
const GRANT_DATA_MAX: usize = 1024;
const RENEWALS_PER_LEASE: u32 = 8;

/// All clients that requested more than the status.
#[derive(Debug)]
pub(super) struct Service {
    interface: String,
    locks: Locks,
    lock_log: LockLog,
    /// Labels of released locks that watchers do not know yet.
    released_labels: Vec<String>,
    backstops: Backstops,
    watchers: Watchers,
    /// Clients whose state changed. The `bool` is true if the client may stay silent from this time on.
    changed_clients: Vec<(ClientId, bool)>,
}

impl Service {
    pub(super) fn new(interface: &str) -> Self {
        Self {
            interface: interface.to_owned(),
            locks: Locks::default(),
            lock_log: LockLog::default(),
            released_labels: Vec::new(),
            backstops: Backstops::new(),
            watchers: Watchers::default(),
            changed_clients: Vec::new(),
        }
    }

    /// Returns the latest time for the next call of [`serve_clients`](Self::serve_clients).
    pub(super) fn deadline(&self) -> Option<Instant> {
        let deadlines = [self.locks.deadline(), self.lock_log.deadline()];
        deadlines.into_iter().flatten().min()
    }

    /// Stops granting the token, because the daemon shuts down.
    pub(super) const fn leave(&mut self) {
        self.locks.stop_granting();
    }

    pub(super) const fn is_held(&self) -> bool {
        self.locks.is_held()
    }

    /// Returns the kind of answer to a request. Takes the descriptors that the service keeps.
    pub(super) fn answer(
        &mut self,
        now: Now,
        peer: Client,
        request: Request<JitterbugRequest>,
        descriptors: &mut Vec<OwnedFd>,
        machine: &Jitterbug,
        history: &History,
    ) -> Reaction<Command> {
        let client = peer.id;
        match request {
            Request::Version => Reaction::version(Some(&self.interface)),
            Request::Status => Reaction::Status,
            Request::Lock(request) => self.lock(now, peer, request, machine),
            Request::Bind if !self.locks.holds(client) => {
                Reaction::error("this connection has no lock")
            }
            Request::Bind => match self.backstops.store(peer, descriptors) {
                Ok(()) => Reaction::Reply(Reply::Done {}),
                Err(why) => Reaction::error(why),
            },
            Request::Unlock { exit } => {
                self.backstops.cancel(client);
                let released = self.lock_log.on_released(now.monotonic, client, exit);
                self.released_labels.extend(released.map(|lock| lock.label));
                if self.locks.release(client) {
                    self.changed_clients
                        .push((client, self.watchers.contains(client)));
                }
                Reaction::Reply(Reply::Unlocked {})
            }
            Request::DataGet => Reaction::Reply(Reply::Data(TokenData {
                hex: hex::encode(machine.data()),
                token: Some(RawJson::encode(&machine.summary().token_id)),
            })),
            Request::DataSet { .. } => Reaction::error(
                "cannot set the data: in Jitterbug, the leader computes the data; see ringd jitterbug --compute",
            ),
            Request::Watch { from, turns } => {
                self.changed_clients.push((client, true));
                self.watchers.add(client, from, turns, history.recent())
            }
            Request::System(request) => self.answer_own_request(&request, machine),
        }
    }

    /// Handles a request that exists only in some systems, and returns the kind of answer.
    fn answer_own_request(
        &mut self,
        request: &JitterbugRequest,
        machine: &Jitterbug,
    ) -> Reaction<Command> {
        match request {
            JitterbugRequest::Yield { to: None } => self.yield_token(machine),
            JitterbugRequest::Yield { to: Some(_) } => Reaction::error(
                "cannot choose the node: the token of Jitterbug goes to the next node of the list; use ringctl yield \
                 without a node",
            ),
            JitterbugRequest::NamedLock {} | JitterbugRequest::Locks => Reaction::error(
                "there are no named locks: a Jitterbug ring has only one lock; use ringctl run without --name, or the \
                 ring (ringd IFACE)",
            ),
            JitterbugRequest::Survey | JitterbugRequest::Measure {} => Reaction::error(
                "cannot survey the ring: nodes of Jitterbug send no reports; run ringctl status on each machine",
            ),
            JitterbugRequest::Once {} => Reaction::error(
                "cannot run a job once: Jitterbug remembers no runs; use ringctl run, or the ring (ringd IFACE)",
            ),
            JitterbugRequest::Pause {} | JitterbugRequest::Resume => Reaction::error(
                "cannot pause a node of Jitterbug: every node in the list gets the token; stop its ringd instead",
            ),
            JitterbugRequest::Forget {} => Reaction::error(
                "cannot remove a node: the list of Jitterbug keeps every node that has answered; an absent node is \
                 asked less and less often, so it costs no time",
            ),
        }
    }

    fn lock(
        &mut self,
        now: Now,
        peer: Client,
        request: LockRequest,
        machine: &Jitterbug,
    ) -> Reaction<Command> {
        if self.locks.involves(peer.id) {
            return Reaction::error("this connection already holds a lock or waits for one");
        }
        if request.label.len() > LABEL_LEN_MAX {
            return Reaction::error(&format!("a label has at most {LABEL_LEN_MAX} bytes"));
        }
        if let Some(grade) = &request.require {
            return Reaction::error(&format!(
                "cannot require grade '{}': locks of Jitterbug have no grade; use the ring (ringd IFACE)",
                grade.escape_debug()
            ));
        }
        let under = request.under.as_deref();
        let is_nested = under.is_some() && self.fencing(machine).as_deref() == under;
        let options = machine.options();
        let fetch_timeout = options.renew_timeout + options.restore_duration();
        let label = request.label.clone();
        let accepted = if is_nested {
            Err(RefusalReason::AlreadyHeld)
        } else {
            self.locks
                .request(now.monotonic, peer, request, fetch_timeout)
        };
        match accepted {
            Ok(()) => {
                self.changed_clients.push((peer.id, true));
                Reaction::Later
            }
            Err(why) => Reaction::Reply(self.refusal(why, &label, machine)),
        }
    }

    /// Returns the fencing text of the current lock.
    fn fencing(&self, machine: &Jitterbug) -> Option<String> {
        Some(fencing(self.locks.held_grant()?, machine))
    }

    fn yield_token(&mut self, machine: &Jitterbug) -> Reaction<Command> {
        if !machine.may_use_token() {
            return Reaction::error("this node does not have the token");
        }
        if machine.is_alone() {
            return Reaction::error("there is no other node to hand the token over to");
        }
        self.locks.yield_token();
        Reaction::Reply(Reply::Done {})
    }

    /// Serves all clients. Returns the next command for the machine. The caller executes the command, and calls this
    /// function again.
    pub(super) fn serve_clients(
        &mut self,
        now: Now,
        server: &mut Server,
        (machine, ends): (&Jitterbug, u64),
        history: &mut History,
    ) -> Option<Command> {
        while let Some(client) = server.take_gone() {
            self.backstops.end(client);
            if let Some((_, label)) = self.locks.on_client_gone(now.monotonic, client) {
                self.log_loss(now.monotonic, client, LossReason::Gone);
                history.add_lock_event(now, "lock_lost", &label, Some(LossReason::Gone.name()));
            }
            self.watchers.forget(client);
        }
        for label in self.released_labels.drain(..) {
            history.add_lock_event(now, "lock_released", &label, None);
        }
        for (client, lasting) in self.changed_clients.drain(..) {
            server.set_lasting(now.monotonic, client, lasting);
        }
        let mut notices = Vec::new();
        let command = if self.locks.is_idle() {
            None
        } else {
            let mut tell = |client, request: &LockRequest, notice| {
                notices.push((client, request.label.clone(), notice));
            };
            let state = machine_state(now.monotonic, machine, ends);
            self.locks.update(now.monotonic, &state, &mut tell)
        };
        self.backstops.end_unless(|client| self.locks.holds(client));
        for (client, label, notice) in notices {
            match notice {
                Notice::Granted(number, _) => {
                    let lock = HeldLock {
                        name: None,
                        client: server.client(client).unwrap_or(Client::gone(client)),
                        label: label.clone(),
                        job: None,
                        token: fencing(number, machine),
                        since: now.monotonic,
                    };
                    self.lock_log.on_granted(now.monotonic, lock);
                    history.add_lock_event(now, "lock_granted", &label, None);
                }
                Notice::Refused(why) => {
                    history.add_lock_event(now, "lock_refused", &label, Some(why.name()));
                }
                Notice::Lost(why, _) => {
                    self.log_loss(now.monotonic, client, why);
                    history.add_lock_event(now, "lock_lost", &label, Some(why.name()));
                }
                Notice::Renewed(_) => {}
            }
            let reply = self.reply(notice, &label, machine);
            server.send(now.monotonic, client, &reply);
        }
        self.lock_log.log_long_locks(now.monotonic);
        if command.is_none() {
            let message =
                |entry: &HistoryEntry<HistoryKeys>, number| Reply::Event(entry.message(number));
            let recent = history.recent();
            self.watchers
                .send_events(now.monotonic, server, recent, message);
        }
        command
    }

    fn log_loss(&mut self, now: Instant, client: ClientId, why: LossReason) {
        let is_wrong = matches!(
            why,
            LossReason::StrongerToken | LossReason::Lease | LossReason::Link
        );
        let reason = (why.name(), loss(why));
        self.lock_log.on_lost(now, client, reason, is_wrong);
    }

    fn reply(&self, notice: Notice, label: &str, machine: &Jitterbug) -> Reply {
        match notice {
            Notice::Granted(number, until) => {
                let data = Some(machine.data()).filter(|data| data.len() <= GRANT_DATA_MAX);
                Reply::Granted(Grant {
                    token: None,
                    fencing: fencing(number, machine),
                    grade: None,
                    data: hex::encode(data.unwrap_or_default()),
                    until_ns: until.as_nanos(),
                    clock: lease_clock(),
                })
            }
            Notice::Renewed(until) => Reply::Renewed(Renewal {
                until_ns: until.as_nanos(),
            }),
            Notice::Refused(why) => self.refusal(why, label, machine),
            Notice::Lost(why, until) => Reply::Lost(Loss {
                why: why.name().to_owned(),
                text: loss(why).to_owned(),
                until_ns: until.as_nanos(),
            }),
        }
    }

    fn refusal(&self, why: RefusalReason, label: &str, machine: &Jitterbug) -> Reply {
        let text = match why {
            RefusalReason::Timeout => match (self.locks.label(), machine.summary().state) {
                (Some(holder), _) => format!("{holder:?} holds the token on this machine"),
                (None, _) if machine.is_outranked() => {
                    "a ring with a different --compute or --decide has the stronger token of this segment".to_owned()
                }
                (None, State::Orphan) => "this node has no ring and looks for a leader".to_owned(),
                (None, _) => "the token did not come to this machine in time".to_owned(),
            },
            RefusalReason::Busy => {
                "a program of this machine holds the token or waits for it".to_owned()
            }
            RefusalReason::QueueFull => {
                "too many programs of this machine wait for the token".to_owned()
            }
            RefusalReason::AlreadyHeld => {
                format!("{label:?} runs under the lock that it requests, and would wait for its own end")
            }
            RefusalReason::Leaving => "ringd is shutting down".to_owned(),
        };
        Reply::Refused(Refusal {
            why: why.name().to_owned(),
            text,
            lost: false,
        })
    }
}

/// Returns the name of a lock: the token's id, the node and the number of the grant. The name identifies a lock, but
/// does not show which of two locks is newer.
fn fencing(number: u64, machine: &Jitterbug) -> String {
    let id = machine.summary().token_id;
    match machine.address() {
        Some(address) => format!("{id}-{address}-{number}"),
        None => format!("{id}--{number}"),
    }
}

fn machine_state(now: Instant, machine: &Jitterbug, ends: u64) -> MachineState {
    let may_use = machine.may_use_token();
    let lease = machine.lease();
    MachineState {
        may_use,
        turn: machine.turn(),
        ends,
        loss: match machine.summary().state {
            _ if machine.address().is_none() => LossReason::Link,
            _ if machine.is_outranked() => LossReason::StrongerToken,
            State::Orphan => LossReason::Lease,
            State::Waiter | State::Leader => LossReason::StrongerToken,
        },
        // The limit is the ring's shortest lease: unless the loop stalls for longer, it answers each node that asks for
        // a leader within this time.
        lease_until: if may_use { now + lease } else { now },
        step: lease / RENEWALS_PER_LEASE,
    }
}

const fn loss(why: LossReason) -> &'static str {
    match why {
        LossReason::Yield => "ringctl yield handed it over",
        LossReason::MaxHold => "it was held for the maximum time of --max-hold",
        LossReason::Shutdown => "ringd is shutting down",
        LossReason::StrongerToken => "another leader has a stronger token",
        LossReason::Lease => "ringd was stalled for too long: another node may lead",
        LossReason::Link => "the interface has no address",
        LossReason::Gone => "its client has disconnected without releasing it",
    }
}
