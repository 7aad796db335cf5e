//! Serves clients of the control socket beyond the status: locks, the token's data, and watching.

use std::os::fd::OwnedFd;

use ring_control::jitterbug::{JitterbugRequest, LockRequest, LossReason, RefusalReason};
use ring_control::{Grant, Loss, MAX_LABEL, OwnJson, Refusal, Renewal, Reply, Request, TokenData};
use ring_host::{Entry, HeldLock, LockLog, Reaction, Server, Watchers, lease_clock};
use ring_process::Backstops;
use ring_process::{Client, ClientId};
use ring_proto::jitterbug::{Command, Jitterbug, State};
use ring_proto::time::{Instant, Now};
use ring_text::hex;

use super::history::{History, Keys};
use super::locks::{Locks, MachineState, Notice};

/// The most data that a holder is told with its grant: an environment has no room for more.
const DATA_OF_GRANT: usize = 1024;
/// A lease is renewed when it has grown by this share of its length.
const STEPS: u32 = 8;

/// All clients that want more than the status.
#[derive(Debug)]
pub(super) struct Service {
    interface: String,
    locks: Locks,
    lock_log: LockLog,
    /// Labels of those that have given the token back, of which watchers are not told yet.
    released: Vec<String>,
    backstops: Backstops,
    watchers: Watchers,
    /// Clients whose state has changed, and whether they may be silent now.
    changed: Vec<(ClientId, bool)>,
}

impl Service {
    /// No clients yet.
    pub(super) fn new(interface: &str) -> Self {
        Self {
            interface: interface.to_owned(),
            locks: Locks::default(),
            lock_log: LockLog::default(),
            released: Vec::new(),
            backstops: Backstops::new(),
            watchers: Watchers::default(),
            changed: Vec::new(),
        }
    }

    /// When to call [`serve_clients`](Self::serve_clients) at the latest.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let deadlines = [self.locks.deadline(), self.lock_log.deadline()];
        deadlines.into_iter().flatten().min()
    }

    /// The daemon shuts down: nobody is granted the token from now on.
    pub(super) const fn leave(&mut self) {
        self.locks.leave();
    }

    /// Whether a client of this machine holds the token.
    pub(super) const fn is_held(&self) -> bool {
        self.locks.is_held()
    }

    /// Returns how to answer a request. Takes those of its descriptors that it keeps.
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
            Request::Bind => match self.backstops.set(peer, descriptors) {
                Ok(()) => Reaction::Reply(Reply::Done {}),
                Err(why) => Reaction::error(why),
            },
            Request::Unlock { exit } => {
                self.backstops.cancel(client);
                let released = self.lock_log.released(now.monotonic, client, exit);
                self.released.extend(released.map(|lock| lock.label));
                if self.locks.release(client) {
                    self.changed.push((client, self.watchers.include(client)));
                }
                Reaction::Reply(Reply::Unlocked {})
            }
            Request::DataGet => Reaction::Reply(Reply::Data(TokenData {
                hex: hex::encode(machine.data()),
                token: Some(OwnJson::of(&machine.standing().token_id)),
            })),
            Request::DataSet { .. } => Reaction::error(
                "the data of Jitterbug is computed by its leader (ringd jitterbug --compute), and cannot be set",
            ),
            Request::Watch { from, turns } => {
                self.changed.push((client, true));
                self.watchers.add(client, from, turns, history.recent())
            }
            Request::Own(request) => self.answer_own(&request, machine),
        }
    }

    /// Returns how to answer a request that not every system knows.
    fn answer_own(&mut self, request: &JitterbugRequest, machine: &Jitterbug) -> Reaction<Command> {
        match request {
            JitterbugRequest::Yield { to: None } => self.yield_token(machine),
            JitterbugRequest::Yield { to: Some(_) } => Reaction::error(
                "the token of Jitterbug goes to the next node of the list that can take it, and to no other: ringctl yield \
                 alone",
            ),
            JitterbugRequest::Once {} => Reaction::error(
                "Jitterbug remembers no runs, so there is no job that it could run once: ringctl run, or Lab2",
            ),
            JitterbugRequest::Pause {} | JitterbugRequest::Resume => Reaction::error(
                "a node of Jitterbug cannot be paused: whoever is in the list is given the token; stop its ringd",
            ),
            JitterbugRequest::Forget {} => Reaction::error(
                "no node that has answered leaves a list of Jitterbug: one that is gone is asked ever less often, and costs no time",
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
        if self.locks.concerns(peer.id) {
            return Reaction::error("this connection holds a lock, or waits for one, already");
        }
        if request.label.len() > MAX_LABEL {
            return Reaction::error(&format!("a label has at most {MAX_LABEL} bytes"));
        }
        if let Some(grade) = &request.require {
            return Reaction::error(&format!(
                "a lock of Jitterbug has no grade, '{}' or other: nobody confirms a leader; use Lab2 for that",
                grade.escape_debug()
            ));
        }
        let under = request.under.as_deref();
        let is_nested = under.is_some() && self.fencing(machine).as_deref() == under;
        let options = machine.options();
        let way = options.renew_timeout + options.restore();
        let label = request.label.clone();
        let asked = if is_nested {
            Err(RefusalReason::Nested)
        } else {
            self.locks.request(now.monotonic, peer, request, way)
        };
        match asked {
            Ok(()) => {
                self.changed.push((peer.id, true));
                Reaction::Later
            }
            Err(why) => Reaction::Reply(self.refused(why, &label, machine)),
        }
    }

    /// The fencing text of the lock that is held now.
    fn fencing(&self, machine: &Jitterbug) -> Option<String> {
        Some(fencing(self.locks.held()?, machine))
    }

    fn yield_token(&mut self, machine: &Jitterbug) -> Reaction<Command> {
        if !machine.may_use_token() {
            return Reaction::error("this node does not have the token");
        }
        if machine.is_alone() {
            return Reaction::error("there is nobody to hand the token over to");
        }
        self.locks.yield_token();
        Reaction::Reply(Reply::Done {})
    }

    /// Serves all clients. Returns the next command for the machine; the caller calls again after it.
    pub(super) fn serve_clients(
        &mut self,
        now: Now,
        server: &mut Server,
        (machine, ends): (&Jitterbug, u64),
        history: &mut History,
    ) -> Option<Command> {
        while let Some(client) = server.take_gone() {
            self.backstops.end(client);
            if let Some((_, label)) = self.locks.leave_behind(now.monotonic, client) {
                self.say_loss(now.monotonic, client, LossReason::Gone);
                history.lock(now, "lock_lost", &label, Some(LossReason::Gone.name()));
            }
            self.watchers.forget(client);
        }
        for label in self.released.drain(..) {
            history.lock(now, "lock_released", &label, None);
        }
        for (client, lasting) in self.changed.drain(..) {
            server.set_lasting(now.monotonic, client, lasting);
        }
        let mut told = Vec::new();
        let command = if self.locks.is_idle() {
            None
        } else {
            let mut tell = |client, request: &LockRequest, notice| {
                told.push((client, request.label.clone(), notice));
            };
            let state = machine_state(now.monotonic, machine, ends);
            self.locks.update(now.monotonic, &state, &mut tell)
        };
        self.backstops.end_unless(|client| self.locks.holds(client));
        for (client, label, notice) in told {
            match notice {
                Notice::Granted(number, _) => {
                    let lock = HeldLock {
                        client: server.client(client).unwrap_or(Client::gone(client)),
                        label: label.clone(),
                        job: None,
                        token: fencing(number, machine),
                        since: now.monotonic,
                    };
                    self.lock_log.granted(now.monotonic, lock);
                    history.lock(now, "lock_granted", &label, None);
                }
                Notice::Refused(why) => history.lock(now, "lock_refused", &label, Some(why.name())),
                Notice::Lost(why, _) => {
                    self.say_loss(now.monotonic, client, why);
                    history.lock(now, "lock_lost", &label, Some(why.name()));
                }
                Notice::Renewed(_) => {}
            }
            let reply = self.reply(notice, &label, machine);
            server.tell(now.monotonic, client, &reply);
        }
        self.lock_log.look(now.monotonic);
        if command.is_none() {
            let message = |entry: &Entry<Keys>, number| Reply::Event(entry.message(number));
            let recent = history.recent();
            self.watchers.tell(now.monotonic, server, recent, message);
        }
        command
    }

    /// Logs whose work was ended, and why.
    fn say_loss(&mut self, now: Instant, client: ClientId, why: LossReason) {
        let is_wrong = matches!(
            why,
            LossReason::StrongerToken | LossReason::Lease | LossReason::Link
        );
        let reason = (why.name(), loss(why));
        self.lock_log.lost(now, client, reason, is_wrong);
    }

    fn reply(&self, notice: Notice, label: &str, machine: &Jitterbug) -> Reply {
        match notice {
            Notice::Granted(number, until) => {
                let data = Some(machine.data()).filter(|data| data.len() <= DATA_OF_GRANT);
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
            Notice::Refused(why) => self.refused(why, label, machine),
            Notice::Lost(why, until) => Reply::Lost(Loss {
                why: why.name().to_owned(),
                text: loss(why).to_owned(),
                until_ns: until.as_nanos(),
            }),
        }
    }

    fn refused(&self, why: RefusalReason, label: &str, machine: &Jitterbug) -> Reply {
        let text = match why {
            RefusalReason::Timeout => match (self.locks.label(), machine.standing().state) {
                (Some(holder), _) => format!("{holder:?} has the token on this machine"),
                (None, _) if machine.is_outranked() => {
                    "a ring with another --compute or --decide has the stronger token of this segment".to_owned()
                }
                (None, State::Orphan) => "this node has no ring: it looks for a leader".to_owned(),
                (None, _) => "the token did not come here in time".to_owned(),
            },
            RefusalReason::Busy => {
                "a program of this machine has the token, or waits for it".to_owned()
            }
            RefusalReason::Crowded => {
                "too many programs of this machine wait for the token".to_owned()
            }
            RefusalReason::Nested => {
                format!("{label:?} runs under the lock that it asks for, and would wait for itself")
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

/// What a lock is called: the token's id, the node and the number of its grants. It tells one lock from another, and says
/// nothing of which is the newer.
fn fencing(number: u64, machine: &Jitterbug) -> String {
    let id = machine.standing().token_id;
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
        loss: match machine.standing().state {
            _ if machine.address().is_none() => LossReason::Link,
            _ if machine.is_outranked() => LossReason::StrongerToken,
            State::Orphan => LossReason::Lease,
            State::Waiter | State::Leader => LossReason::StrongerToken,
        },
        // A loop that does not stand still for longer answers whoever asks for a leader, by the shortest times of the ring.
        lease_until: if may_use { now + lease } else { now },
        step: lease / STEPS,
    }
}

const fn loss(why: LossReason) -> &'static str {
    match why {
        LossReason::Yield => "ringctl yield has handed it over",
        LossReason::MaxHold => "it was held for as long as --max-hold allows",
        LossReason::Shutdown => "ringd is shutting down",
        LossReason::StrongerToken => "another leader has a stronger token",
        LossReason::Lease => "ringd stood still for so long that another node may lead",
        LossReason::Link => "the interface has no address",
        LossReason::Gone => "its client is gone, and has not given it back",
    }
}
