//! Requests and later messages about named locks.

use ring_codec::lab2::LockMode;
use ring_control::lab2::{LossReason, NamedLockRequest, NamedLockStatus};
use ring_control::{Grant, LABEL_LEN_MAX, Loss, RawJson, Renewal, Reply};
use ring_host::{HeldLock, Reaction, Server, announced_host_name, lease_clock};
use ring_process::{Client, ClientId};
use ring_proto::lab2::{Command, Event, Lab2, LockName, LockView};
use ring_proto::time::{Instant, Now, nanos};

use super::super::grades;
use super::super::history::{History, LockLabel};
use super::super::locks::Notice;
use super::super::named_locks::texts::BAD_NAME_TEXT;
use super::super::named_locks::{Availability, NamedNotice, PollTimes, WantedLock, mode_name};
use super::outcomes::is_wrong;
use super::{Service, fencing, refusal, token_json};

/// A client of a named lock that is not waited for gets its answer within this number of WAITER_TIMEOUTs. After an
/// election, the owner grants locks after one WAITER_TIMEOUT.
const ANSWER_PERIODS: u32 = 3;

impl Service {
    pub(super) fn request_named_lock(
        &mut self,
        now: Now,
        peer: Client,
        request: NamedLockRequest,
        machine: &Lab2,
    ) -> Reaction<Command> {
        if self.involves(peer.id) {
            return Reaction::error("this connection already holds a lock or waits for one");
        }
        let NamedLockRequest {
            name,
            shared,
            mut lock,
        } = request;
        let Some(name) = LockName::new(&name) else {
            return Reaction::error(BAD_NAME_TEXT);
        };
        if lock.label.len() > LABEL_LEN_MAX {
            return Reaction::error(&format!("a label has at most {LABEL_LEN_MAX} bytes"));
        }
        let mode = if shared {
            LockMode::Shared
        } else {
            LockMode::Exclusive
        };
        let times = PollTimes {
            answer: machine.shortest_waiter_timeout() * ANSWER_PERIODS,
            kept: machine.constants().take_timeout,
        };
        let wanted = WantedLock { name, mode };
        let limits = (times, self.availability());
        let accepted = self.apply_rule(&mut lock).and_then(|()| {
            let lock = lock.clone();
            (self.named).request(now.monotonic, peer, wanted, lock, limits)
        });
        if let Err(why) = accepted {
            self.count.count_refusal(why);
            let text = self
                .text_inputs(now, machine)
                .named_refusal(why, &lock, name);
            return Reaction::Reply(refusal(why, text));
        }
        self.changed_clients.push((peer.id, true));
        Reaction::Later
    }

    /// Serves the clients of named locks. Returns the next command for the machine.
    pub(super) fn serve_named_clients(
        &mut self,
        now: Now,
        server: &mut Server,
        machine: &Lab2,
        history: &mut History,
        events: &mut Vec<Event>,
    ) -> Option<Command> {
        if self.named.is_idle() {
            events.clear();
            return None;
        }
        let mut notices = std::mem::take(&mut self.named_notices);
        let (availability, events) = (self.availability(), events.drain(..));
        let command =
            (self.named).update(now.monotonic, availability, events, machine, &mut notices);
        for notice in notices.drain(..) {
            self.report_named(now, server, machine, history, &notice);
        }
        // Putting the vector back keeps its memory for the next call.
        self.named_notices = notices;
        self.named_log.log_long_locks(now.monotonic);
        command
    }

    /// Counts and logs a notice about a named lock, and sends it to its client.
    fn report_named(
        &mut self,
        now: Now,
        server: &mut Server,
        machine: &Lab2,
        history: &mut History,
        notice: &NamedNotice,
    ) {
        let NamedNotice {
            client,
            lock,
            ref request,
            ref notice,
        } = *notice;
        self.count.count_notice(notice);
        let label = LockLabel {
            label: &request.label,
            lock: Some(lock),
        };
        let mut granted = None;
        let reply = match *notice {
            Notice::Granted { token, until } => {
                granted = Some(HeldLock {
                    client: server.client(client).unwrap_or(Client::gone(client)),
                    name: Some(lock.name.to_string()),
                    label: request.label.clone(),
                    job: None,
                    token: fencing(token).to_string(),
                    since: now.monotonic,
                });
                Reply::Granted(Grant {
                    token: Some(token_json(token)),
                    fencing: fencing(token).to_string(),
                    grade: Some(lock.grade.name().to_owned()),
                    data: String::new(),
                    until_ns: until.as_nanos(),
                    clock: lease_clock(),
                })
            }
            Notice::Renewed { until } => Reply::Renewed(Renewal {
                until_ns: until.as_nanos(),
            }),
            Notice::Refused(why) => {
                history.add_lock_answer(now, label, Some(why.name()));
                let texts = self.text_inputs(now, machine);
                refusal(why, texts.named_refusal(why, request, lock.name))
            }
            Notice::Lost { why, until } => {
                let text = self.text_inputs(now, machine).named_loss(why, request);
                self.log_named_loss(now, client, (why, &text), label, history);
                Reply::Lost(Loss {
                    why: why.name().to_owned(),
                    text,
                    until_ns: until.as_nanos(),
                })
            }
            // Only the token's lock has jobs.
            Notice::Ran { .. } => return,
        };
        server.send(now.monotonic, client, &reply);
        // The log looks up the name of the program's user, so the program gets its lock first.
        if let Some(held) = granted {
            self.named_log.on_granted(now.monotonic, held);
            history.add_lock_answer(now, label, None);
        }
    }

    fn log_named_loss(
        &mut self,
        now: Now,
        client: ClientId,
        (why, text): (LossReason, &str),
        label: LockLabel<'_>,
        history: &mut History,
    ) {
        let reason = (why.name(), text);
        (self.named_log).on_lost(now.monotonic, client, reason, is_wrong(why));
        history.add_lock_loss(now, label, why.name());
    }

    /// Handles a client that disconnected.
    pub(super) fn on_named_client_gone(
        &mut self,
        now: Now,
        client: ClientId,
        machine: &Lab2,
        history: &mut History,
    ) {
        let Some((lock, request)) = self.named.on_client_gone(now.monotonic, client) else {
            return;
        };
        let why = LossReason::Gone;
        let until = now.monotonic;
        self.count.count_notice(&Notice::Lost { why, until });
        let text = self.text_inputs(now, machine).named_loss(why, &request);
        let label = LockLabel {
            label: &request.label,
            lock: Some(lock),
        };
        self.log_named_loss(now, client, (why, &text), label, history);
    }

    fn availability(&self) -> Availability {
        if self.locks.is_leaving() {
            Availability::Leaving
        } else if self.locks.is_paused() {
            let is_draining = self.locks.is_draining();
            Availability::Paused { is_draining }
        } else {
            Availability::Open
        }
    }

    /// Returns the time at which the clients of named locks next need service.
    pub(super) fn named_deadline(&self) -> Option<Instant> {
        let deadlines = [self.named.deadline(), self.named_log.deadline()];
        deadlines.into_iter().flatten().min()
    }
}

/// Returns all named locks of the ring, sorted by name. For each name, the holders come first, and then the waiting
/// programs in their order.
pub(super) fn locks_reply(machine: &Lab2) -> Reply {
    let mut views = machine.locks().collect::<Vec<_>>();
    views.sort_by_key(|it| (it.name, !it.is_held, it.place, it.member));
    let (mut name, mut waiting) = (None, 0);
    let locks = views.iter().map(|view| {
        if name.replace(view.name) != Some(view.name) {
            waiting = 0;
        }
        waiting += usize::from(!view.is_held);
        RawJson::encode(&lock_status(machine, view, waiting))
    });
    Reply::Locks(locks.collect())
}

fn lock_status(machine: &Lab2, view: &LockView, place: usize) -> NamedLockStatus {
    NamedLockStatus {
        name: view.name.to_string(),
        member: view.member.to_string(),
        member_name: announced_host_name(view.member.0),
        is_here: machine.is_own(view.member),
        mode: mode_name(view.mode),
        grade: grades::of_machine(view.grade),
        held: view.is_held,
        place: (!view.is_held).then_some(place),
        since_ns: nanos(view.age),
        fencing: view.is_held.then(|| fencing(view.fence).to_string()),
        session: format!("{:016x}", view.session),
        program: view.program.as_str().to_owned(),
    }
}
