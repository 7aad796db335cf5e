//! The keeper's event loop.

mod backstop_setup;
mod loss;

use std::io;
use std::path::Path;
use std::time::Duration;

use nix::unistd::Pid;
use ring_proto::time::Instant;
use ring_runtime::clock;
use ring_runtime::wait::{Alarm, Interest, Poller};

use super::super::kill_timer::KillTimer;
use super::backstop::Backstop;
use super::binding::BoundProcess;
use super::termination::Termination;
use super::{
    Assignment, Binding, Granter, JobReports, NotAcquired, Note, Order, Tree, survivor_text,
};
use ring_client::held_lock::{HeldLock, LockMessage};
use ring_client::lines::Lines;

// Keys of the poller. The event loop handles ready sources in the order of these keys.
const DAEMON: u64 = 0;
const CALLER: u64 = 1;
const BOUND: u64 = 2;
const REGISTRATION: u64 = 3;
const CONNECTION: u64 = 4;
const ALARM: u64 = 5;

pub(super) struct EventLoop {
    grace: Duration,
    caller: Lines,
    granter: Granter,
    /// The lock, according to the messages of the granter.
    lock: HeldLock,
    poller: Poller,
    alarm: Alarm,
    tree: Tree,
    bound: Option<BoundProcess>,
    /// The parent, if the kernel must kill it too when the keeper is killed.
    tied_parent: Option<Pid>,
    stands_alone: bool,
    /// The connection of a `ringctl unlock` that waits for the release.
    unlocker: Option<Lines>,
    token: String,
    termination: Option<Termination>,
    /// The time until which the keeper waits for the daemon's reason of a loss. The keeper has already begun to end the
    /// work.
    reason_due: Option<Instant>,
    /// The kernel timer that kills the keeper at the end of the lease. The timer is armed while there is work that must
    /// end, or must get a signal, before the end of the lease.
    kill_timer: Option<KillTimer>,
    backstop: Option<Backstop>,
    /// The note that the keeper sends after the daemon accepts or refuses the backstop.
    note_after_backstop: Option<Note>,
    command_ended: bool,
    exit_code: Option<u8>,
    survivor_reported: bool,
    job: JobState,
    reports: Option<JobReports>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum JobState {
    NotBegun,
    /// The job began, and has not ended under the lock.
    Begun,
    /// The job ended under the lock. `done` shows whether the job succeeded.
    Ended {
        done: bool,
    },
}

#[derive(PartialEq, Eq)]
enum Flow {
    Continue,
    Stop,
}

impl EventLoop {
    /// Creates the event loop of an assignment. The lock was already requested.
    pub(super) fn new(
        assignment: &Assignment,
        caller: Lines,
        lock: HeldLock,
        bound: Option<BoundProcess>,
    ) -> io::Result<Self> {
        let poller = Poller::new()?;
        let alarm = Alarm::new()?;
        poller.add(&lock, DAEMON, Interest::Read)?;
        poller.add(&caller, CALLER, Interest::Read)?;
        poller.add(&alarm, ALARM, Interest::Read)?;
        if let Some(bound) = &bound {
            poller.add(bound, BOUND, Interest::Read)?;
            poller.add(&bound.registration, REGISTRATION, Interest::Read)?;
        }
        let tree = match &assignment.binding {
            Binding::Command => Tree::in_cgroup("ringctl"),
            Binding::Units { cgroup, .. } => Tree::with_units(cgroup.clone()),
            Binding::Process { .. } => Tree::default(),
        };
        let kill_timer = match assignment.binding {
            Binding::Process { kill: false, .. } => None,
            _ => Some(KillTimer::new()?),
        };
        let tied_parent = match assignment.binding {
            Binding::Units { parent, .. } => Some(Pid::from_raw(parent)),
            _ => None,
        };
        Ok(Self {
            grace: Duration::from_millis(assignment.grace_ms),
            caller,
            granter: assignment.granter.clone(),
            lock,
            poller,
            alarm,
            tree,
            bound,
            tied_parent,
            stands_alone: false,
            unlocker: None,
            token: String::new(),
            termination: None,
            reason_due: None,
            kill_timer,
            backstop: None,
            note_after_backstop: None,
            command_ended: false,
            exit_code: None,
            survivor_reported: false,
            job: JobState::NotBegun,
            reports: assignment.reports.clone(),
        })
    }

    pub(super) fn run(mut self) -> io::Result<()> {
        loop {
            let now = clock::now().monotonic;
            if self.is_overdue(now) && self.read_late_messages(now)? == Flow::Stop {
                return Ok(());
            }
            if self.check_deadlines(now) == Flow::Stop {
                return self.release();
            }
            self.alarm.set_deadline(self.deadline(now))?;
            self.poller.wait(None)?;
            let mut ready: Vec<u64> = self.poller.ready().map(|ready| ready.key).collect();
            // Handle the daemon before the alarm. So a renewal counts even if the keeper reads it late.
            ready.sort_unstable();
            for key in ready {
                let next = match key {
                    DAEMON => self.on_daemon_readable(),
                    CALLER => self.on_caller_readable()?,
                    BOUND => self.on_bound_process_ended()?,
                    REGISTRATION => {
                        self.accept_connection();
                        Flow::Continue
                    }
                    CONNECTION => {
                        self.on_registration_order();
                        Flow::Continue
                    }
                    _ => self.on_alarm(),
                };
                if next == Flow::Stop {
                    return Ok(());
                }
            }
        }
    }

    fn deadline(&self, now: Instant) -> Option<Instant> {
        match &self.termination {
            Some(termination) => {
                let check = termination.next_check(now);
                Some(self.reason_due.map_or(check, |due| due.min(check)))
            }
            None => self.lock.deadline(),
        }
    }

    fn on_alarm(&mut self) -> Flow {
        self.alarm.on_went_off();
        if !self.lock.is_unanswered(clock::now().monotonic) {
            return Flow::Continue;
        }
        self.report_not_acquired(NotAcquired::NoDaemon(self.granter.no_answer_text()))
    }

    fn check_deadlines(&mut self, now: Instant) -> Flow {
        let Some(lease) = self.lock.lease() else {
            return Flow::Continue;
        };
        if self.is_overdue(now) {
            self.on_overdue(now);
        }
        self.report_unknown_reason(now);
        let Some(termination) = &mut self.termination else {
            return Flow::Continue;
        };
        let is_complete = termination.kill_when_due(&self.tree, &lease, self.grace, now);
        if is_complete || termination.is_killed() {
            self.kill_timer = None;
        }
        let survivor = termination.survivor().filter(|_| !self.survivor_reported);
        if let Some(survivor) = survivor {
            self.survivor_reported = true;
            self.send_note(&Note::Outlived(survivor_text(survivor)));
        }
        // Do not release the lock before the reason has arrived. If the release reached the daemon first, the daemon
        // would not send the reason of the loss.
        if is_complete && self.reason_due.is_none() {
            Flow::Stop
        } else {
            Flow::Continue
        }
    }

    /// Whether the lease was not renewed in time, according to the messages so far.
    fn is_overdue(&self, now: Instant) -> bool {
        self.termination.is_none() && self.lock.is_overdue(now)
    }

    /// Reads once more before the lock counts as lost, because a renewal may have arrived. On a busy machine, the
    /// keeper may wait for a processor while the renewal waits in the socket.
    fn read_late_messages(&mut self, now: Instant) -> io::Result<Flow> {
        if self.lock.fill_by(Some(now))? {
            return Ok(self.handle_daemon_messages());
        }
        Ok(Flow::Continue)
    }

    fn on_daemon_readable(&mut self) -> Flow {
        self.lock.fill();
        self.handle_daemon_messages()
    }

    fn handle_daemon_messages(&mut self) -> Flow {
        while let Some(message) = self.lock.next_message() {
            self.arm_kill_timer();
            let why = match message {
                LockMessage::Granted(grant) => {
                    self.token.clone_from(&grant.fencing);
                    self.warn_if_freezable();
                    let cgroup = self.tree.cgroup().map(Path::to_owned);
                    self.set_up_bound_backstop(Note::Granted { grant, cgroup });
                    continue;
                }
                LockMessage::Done => {
                    self.on_backstop_confirmed();
                    continue;
                }
                LockMessage::Failed(why) => {
                    self.on_backstop_missing(&why);
                    continue;
                }
                LockMessage::Renewed => continue,
                LockMessage::Lost(loss) => {
                    self.on_lock_lost(loss.text);
                    continue;
                }
                LockMessage::Refused(refusal) => NotAcquired::Refused(refusal),
                LockMessage::Error(text) => NotAcquired::Error(text),
            };
            return self.report_not_acquired(why);
        }
        if self.lock.has_ended() {
            return self.on_daemon_ended();
        }
        Flow::Continue
    }

    fn on_daemon_ended(&mut self) -> Flow {
        if self.lock.lease().is_none() {
            return self.report_not_acquired(NotAcquired::NoDaemon(self.granter.hung_up_text()));
        }
        // Remove the closed connection from the poller: it stays readable, so the poller would report it again and
        // again.
        let _ = self.poller.remove(&self.lock);
        self.on_lock_lost(self.granter.ended_text());
        Flow::Continue
    }

    fn on_caller_readable(&mut self) -> io::Result<Flow> {
        self.caller.fill();
        while let Some(order) = self.caller.next_message() {
            match order {
                Order::Started { pid } => {
                    let leader = Pid::from_raw(pid);
                    self.tree.adopt(leader);
                    if self.termination.is_some() {
                        self.kill_unstarted();
                    } else {
                        self.set_up_command_backstop(leader);
                    }
                }
                Order::Ran { done: None } => self.job = JobState::NotBegun,
                // A job may exit with 0 even if the loss of the lock interrupted it. So ignore the outcome of the job
                // after a loss.
                Order::Ran { done: Some(done) } if self.termination.is_none() => {
                    self.job = JobState::Ended { done };
                }
                Order::Exited { code } => {
                    self.exit_code = Some(code);
                    self.on_command_ended();
                }
                Order::StandAlone => {
                    self.stands_alone = true;
                    self.send_note(&Note::Held(self.token.clone()));
                }
                Order::Begin(_) | Order::Check | Order::Ended | Order::Ran { .. } => {}
            }
        }
        if !self.caller.has_ended() {
            return Ok(Flow::Continue);
        }
        self.poller.remove(&self.caller)?;
        if self.lock.lease().is_none() {
            return Ok(Flow::Stop);
        }
        if !self.stands_alone {
            self.begin_termination();
        }
        Ok(Flow::Continue)
    }

    /// Handles the end of the command. If the whole machine was stalled for a while, another machine may have got the
    /// lock before the command ended.
    fn on_command_ended(&mut self) {
        let now = clock::now().monotonic;
        let is_over = self.lock.lease().is_some_and(|lease| lease.is_over(now));
        if self.termination.is_none() && is_over {
            self.on_lock_lost("the lease ended before the command ended".to_owned());
            if let JobState::Ended { .. } = self.job {
                self.job = JobState::Begun;
            }
        }
        self.command_ended = true;
        self.begin_termination();
    }

    fn on_bound_process_ended(&mut self) -> io::Result<Flow> {
        if let Some(bound) = &self.bound {
            self.poller.remove(bound)?;
        }
        if self.lock.lease().is_none() {
            return Ok(Flow::Stop);
        }
        self.begin_termination();
        Ok(Flow::Continue)
    }

    fn accept_connection(&mut self) {
        if let Some(bound) = &mut self.bound {
            bound.registration.accept(&self.poller, CONNECTION);
        }
    }

    fn on_registration_order(&mut self) {
        while let Some((order, mut connection)) = self
            .bound
            .as_mut()
            .and_then(|bound| bound.registration.next_order())
        {
            let is_held = self.lock.lease().is_some() && self.termination.is_none();
            match order {
                Order::Check if is_held => {
                    // Sending fails only if the client no longer waits for the answer.
                    let _ = connection.send(&Note::Held(self.token.clone()));
                }
                Order::Ended if is_held => {
                    self.unlocker = Some(connection);
                    self.begin_termination();
                }
                _ => {}
            }
        }
    }

    fn report_not_acquired(&mut self, why: NotAcquired) -> Flow {
        self.send_note(&Note::NotAcquired(why));
        Flow::Stop
    }

    /// Starts to end the command and all processes that the command has left behind.
    fn begin_termination(&mut self) {
        if self.termination.is_none() {
            let now = clock::now().monotonic;
            self.termination = Some(Termination::begin(&self.tree, now));
            self.stop_waiting_for_backstop();
        }
    }

    /// Releases the lock. Then informs the caller, and a `ringctl unlock` if one waits for the release.
    fn release(mut self) -> io::Result<()> {
        if let Some(backstop) = self.backstop.take() {
            // Processes that a script of `ringctl lock` has started may still work. A killed process may still hang in
            // the kernel.
            backstop.disarm(self.bound.is_none() && self.tree.is_empty());
        }
        let report = self.reports.as_ref().and_then(|reports| match self.job {
            JobState::NotBegun => Some(&reports.not_begun),
            JobState::Begun => None,
            JobState::Ended { done: true } => Some(&reports.done),
            JobState::Ended { done: false } => Some(&reports.failed),
        });
        self.lock.release(report, self.exit_code)?;
        self.send_note(&Note::Released);
        if let Some(mut connection) = self.unlocker {
            let _ = connection.send(&Note::Released);
        }
        Ok(())
    }

    /// Sends the caller a note. Ignores errors, because an ended caller needs no note.
    fn send_note(&mut self, note: &Note) {
        let _ = self.caller.send(note);
    }
}

#[cfg(test)]
mod tests;
