//! Messages to clients after their requests: grants, losses, pauses, runs of jobs.

use ring_codec::MacAddr;
use ring_control::lab2::{LockRequest, LossReason, RefusalReason};
use ring_control::{Grant, Loss, Refusal, Renewal, Reply};
use ring_host::{HeldLock, Server, lease_clock};
use ring_process::{Client, ClientId};
use ring_proto::lab2::{Command, Event, Lab2};
use ring_proto::time::{Now, nanos};
use ring_text::format_duration;
use ring_text::hex;
use tracing::{info, warn};

use super::super::history::{History, LockLabel};
use super::super::locks::{MachineState, Notice};
use super::super::pausing::PauseStep;
use super::super::runs::{describe_run, log_end};
use super::{RequestEffect, Service, fencing, refusal, token_json};
use crate::system::lab2::observe::{PauseNews, PauseText};
use crate::system::lab2::{events, grades};

impl Service {
    /// Serves all clients. Returns the next command for the machine. The caller executes the command, and calls this
    /// function again.
    pub(crate) fn serve_clients(
        &mut self,
        now: Now,
        server: &mut Server,
        machine: &Lab2,
        history: &mut History,
        session_events: &mut Vec<Event>,
    ) -> Option<Command> {
        while let Some(client) = server.take_gone() {
            self.backstops.end(client);
            if let Some((_, request)) = self.locks.on_client_gone(now.monotonic, client) {
                self.on_holder_gone(now, client, &request, machine, history);
            }
            self.on_named_client_gone(now, client, machine, history);
            self.watchers.forget(client);
            self.pausing.forget(client);
            self.forget_survey_of(client);
        }
        self.end_pause_in_time(now);
        if let Some((client, reply)) = self.recordings.take_reply() {
            server.send(now.monotonic, client, &reply);
            let lasting = self.watchers.contains(client) || self.involves(client);
            self.changed_clients.push((client, lasting));
        }
        for (label, lock) in self.released_labels.drain(..) {
            let label = &label;
            history.add_lock_release(now, LockLabel { label, lock });
        }
        for (client, lasting) in self.changed_clients.drain(..) {
            server.set_lasting(now.monotonic, client, lasting);
        }
        let not_yet = machine.reliable_from().filter(|&at| at > now.monotonic);
        self.grants_from = not_yet.filter(|_| !self.locks.is_idle());
        let command = if self.locks.is_idle() {
            None
        } else {
            let pending_notices = &mut self.pending_notices;
            let mut tell = |client, request: &LockRequest, notice: Notice| {
                let lasting = matches!(notice, Notice::Renewed { .. });
                let request = if lasting { None } else { Some(request.clone()) };
                pending_notices.push((client, request.unwrap_or_default(), notice));
            };
            self.locks
                .refuse_finished_jobs(|once| machine.find_sufficient_run(once), &mut tell);
            self.locks.update(
                now.monotonic,
                &machine_state(now, machine, history),
                &mut tell,
            )
        };
        let command = command
            .or_else(|| self.serve_named_clients(now, server, machine, history, session_events));
        let (locks, named) = (&self.locks, &self.named);
        self.backstops
            .end_unless(|client| locks.holds(client) || named.holds(client));
        let mut pending_notices = std::mem::take(&mut self.pending_notices);
        for (client, request, notice) in pending_notices.drain(..) {
            self.count.count_notice(&notice);
            let label = &request.label;
            let reply = self.reply(now, &request, &notice, machine);
            let receiver = server.client(client).unwrap_or(Client::gone(client));
            // The log looks up the name of the program's user, so the program gets its lock first.
            server.send(now.monotonic, client, &reply);
            match (&notice, &reply) {
                (Notice::Granted { token, .. }, _) => {
                    let lock = HeldLock {
                        name: None,
                        client: receiver,
                        label: request.label.clone(),
                        job: self.locks.job(client).map(|job| job.name.to_string()),
                        token: fencing(*token).to_string(),
                        since: now.monotonic,
                    };
                    self.lock_log.on_granted(now.monotonic, lock);
                    history.add_lock_answer(now, LockLabel::of_token(label), None);
                }
                (Notice::Lost { why, .. }, Reply::Lost(loss)) => {
                    let reason = (why.name(), loss.text.as_str());
                    self.lock_log
                        .on_lost(now.monotonic, client, reason, is_wrong(*why));
                    history.add_lock_loss(now, LockLabel::of_token(label), why.name());
                }
                (Notice::Refused(why), _) => {
                    history.add_lock_answer(now, LockLabel::of_token(label), Some(why.name()));
                }
                (Notice::Ran { .. }, _) => {
                    history.add_lock_answer(
                        now,
                        LockLabel::of_token(label),
                        Some(RefusalReason::AlreadyRan.name()),
                    );
                }
                _ => {}
            }
        }
        // Putting the vector back keeps its memory for the next call.
        self.pending_notices = pending_notices;
        self.lock_log.log_long_locks(now.monotonic);
        let command = command.or_else(|| self.announce(now));
        if command.is_none() {
            self.report_steps(now, machine, history);
            self.reply_to_pausing(now, server, machine);
            self.reply_to_surveys(now, server, machine);
            let recent = history.recent();
            self.watchers
                .send_events(now.monotonic, server, recent, |entry, number| {
                    Reply::Event(entry.message(number))
                });
        }
        command
    }

    /// Handles a holder that disconnected but did not release the token.
    fn on_holder_gone(
        &mut self,
        now: Now,
        client: ClientId,
        request: &LockRequest,
        machine: &Lab2,
        history: &mut History,
    ) {
        let why = LossReason::Gone;
        let notice = Notice::Lost {
            why,
            until: now.monotonic,
        };
        self.count.count_notice(&notice);
        if let Reply::Lost(loss) = self.reply(now, request, &notice, machine) {
            let reason = (why.name(), loss.text.as_str());
            self.lock_log
                .on_lost(now.monotonic, client, reason, is_wrong(why));
            history.add_lock_loss(now, LockLabel::of_token(&request.label), why.name());
        }
    }

    fn reply(&self, now: Now, request: &LockRequest, notice: &Notice, machine: &Lab2) -> Reply {
        match *notice {
            Notice::Granted { token, until } => Reply::Granted(Grant {
                token: Some(token_json(token)),
                fencing: fencing(token).to_string(),
                grade: Some(machine.grade().name().to_owned()),
                data: hex::encode(machine.data()),
                until_ns: until.as_nanos(),
                clock: lease_clock(),
            }),
            Notice::Renewed { until } => Reply::Renewed(Renewal {
                until_ns: until.as_nanos(),
            }),
            Notice::Refused(why) => {
                refusal(why, self.text_inputs(now, machine).refusal(why, request))
            }
            Notice::Ran { run, left } => {
                let lost = self.is_lost(now.monotonic, &run, machine);
                let (text, left) = (describe_run(&run, lost), format_duration(left));
                Reply::Refused(Refusal {
                    why: RefusalReason::AlreadyRan.name().to_owned(),
                    text: format!("{text}; its period ends in {left}"),
                    lost,
                })
            }
            Notice::Lost { why, until } => Reply::Lost(Loss {
                why: why.name().to_owned(),
                text: self.text_inputs(now, machine).loss(why, request),
                until_ns: until.as_nanos(),
            }),
        }
    }

    /// Logs steps of a pause and ends of runs, and passes them to watchers.
    fn report_steps(&mut self, now: Now, machine: &Lab2, history: &mut History) {
        let own = || machine.members().find(|member| machine.is_own(member.mac));
        for effect in self.effects.drain(..) {
            match effect {
                RequestEffect::Resumed => {
                    history.add_pause_event(now, "resumed", None, None);
                }
                RequestEffect::Ran(name, end) => {
                    let event = log_end(name, end);
                    let runner = own().map_or(MacAddr::default(), |own| own.mac);
                    history.add_run_event(now, event, (name, runner), None);
                }
            }
        }
        let mut pausing = std::mem::take(&mut self.pausing);
        match pausing.next_step(|| self.progress(machine)) {
            Some(PauseStep::Pending(by, why)) => {
                let (Client { pid, uid, .. }, reason, text) = (by, why.name(), why.text());
                info!(
                    event = events::PAUSING,
                    pid, uid, reason, "pause requested by {by}; pending: {text}"
                );
                history.add_pause_event(now, "pausing", Some(reason), pausing.pause());
            }
            Some(PauseStep::Complete(by)) => {
                let (pid, uid) = by.map_or((None, None), |by| (by.pid, by.uid));
                let by = by.map_or_else(String::new, |by| format!(" by {by}"));
                let pause = pausing.pause().copied().unwrap_or_default();
                let end = PauseText(PauseNews::new(&pause, now.monotonic));
                info!(
                    event = events::PAUSED,
                    pid, uid, "paused{by}: owns nothing {end}"
                );
                history.add_pause_event(now, "paused", None, pausing.pause());
            }
            None => {}
        }
        self.pausing = pausing;
        if let Some(run) = self.lost_runs.find_lost(now.monotonic, machine) {
            let (name, runner, text) = (run.stamp.name, run.stamp.runner, describe_run(&run, true));
            let age_ns = nanos(run.age);
            warn!(
                event = events::RUN_LOST, %name, %runner, age_ns,
                "{text}; ringctl once --retry runs it again"
            );
            history.add_run_event(now, "run_lost", (name, runner), Some(&text));
        }
    }

    fn reply_to_pausing(&mut self, now: Now, server: &mut Server, machine: &Lab2) {
        let mut pausing = std::mem::take(&mut self.pausing);
        pausing.reply_to_waiting(
            now.monotonic,
            || self.progress(machine),
            |client, reply| {
                server.send(now.monotonic, client, reply);
                let lasting = self.watchers.contains(client) || self.involves(client);
                server.set_lasting(now.monotonic, client, lasting);
            },
        );
        self.pausing = pausing;
    }
}

fn machine_state(now: Now, machine: &Lab2, history: &History) -> MachineState {
    MachineState {
        token: machine.grantable_token(now.monotonic),
        first: machine.tenure_began_with(),
        lease_until: machine.lease_until().unwrap_or(now.monotonic),
        grade: grades::of_machine(machine.grade()),
        grade_until: machine.grade_until().unwrap_or(now.monotonic),
        waiter_timeout: machine.shortest_waiter_timeout(),
        take_timeout: machine.constants().take_timeout,
        asking_lasts: machine.job_delay_max(),
        others_want: machine.is_wanted(),
        is_turn_over: machine.is_hold_over(now.monotonic),
        state: machine.state(),
        last_loss: history.last_loss(),
        link_up: machine.is_link_up(),
        once: machine.once_progress(),
    }
}

/// Whether a lock ended although no client requested its end.
pub(super) const fn is_wrong(why: LossReason) -> bool {
    match why {
        LossReason::StrongerToken
        | LossReason::Lease
        | LossReason::NotStored
        | LossReason::NobodyTakes
        | LossReason::Apart
        | LossReason::Link
        | LossReason::Grade
        | LossReason::Removed => true,
        LossReason::Yield
        | LossReason::MaxHold
        | LossReason::Shutdown
        | LossReason::Paused
        | LossReason::Gone => false,
    }
}
