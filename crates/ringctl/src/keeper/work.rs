//! What the keeper does.

mod backing;

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
use super::ending::Ending;
use super::{
    Assignment, Binding, Granter, JobReports, NotAcquired, Note, Order, Tree, out_of_reach,
};
use ring_client::held::{HeldLock, Said};
use ring_client::lines::Lines;

// In the order in which they are heard.
const DAEMON: u64 = 0;
const CALLER: u64 = 1;
const BOUND: u64 = 2;
const REGISTRATION: u64 = 3;
const CONNECTION: u64 = 4;
const ALARM: u64 = 5;

/// A keeper at work.
pub(super) struct Work {
    grace: Duration,
    caller: Lines,
    granter: Granter,
    /// What the granter has said of the lock.
    lock: HeldLock,
    poller: Poller,
    alarm: Alarm,
    tree: Tree,
    bound: Option<BoundProcess>,
    stands_alone: bool,
    /// Who has come to end the lock, and waits for that.
    connection: Option<Lines>,
    token: String,
    ending: Option<Ending>,
    /// Burns while there is work that must have ended, or been told to, with the lease.
    kill_timer: Option<KillTimer>,
    /// Signals the work if this process is killed.
    backstop: Option<Backstop>,
    /// What the caller is told once the daemon has answered whether it has what ends the work.
    told_when_backed: Option<Note>,
    /// The command has ended by itself, while the lock was held.
    has_ended: bool,
    /// The command's exit code, once it has ended.
    exit: Option<u8>,
    /// The caller was told that something works on all the same.
    is_outlived: bool,
    /// What has become of the command, if the lock is for a job.
    job: Job,
    reports: Option<JobReports>,
}

/// What has become of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Job {
    /// It was not begun.
    NotBegun,
    /// It was begun, and has not ended, or the loss of the lock has interrupted it.
    Begun,
    /// It has ended under the lock, with success or not.
    Ended { done: bool },
}

/// Whether there is more to do.
#[derive(PartialEq, Eq)]
enum Next {
    GoOn,
    Done,
}

impl Work {
    /// For this assignment, with all that it speaks to. The lock was asked for already.
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
        let (tree, kill_timer) = match assignment.binding {
            Binding::Command => (Tree::in_cgroup("ringctl"), Some(KillTimer::new()?)),
            Binding::Process { kill: true, .. } => (Tree::default(), Some(KillTimer::new()?)),
            Binding::Process { kill: false, .. } => (Tree::default(), None),
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
            stands_alone: false,
            connection: None,
            token: String::new(),
            ending: None,
            kill_timer,
            backstop: None,
            told_when_backed: None,
            has_ended: false,
            exit: None,
            is_outlived: false,
            job: Job::NotBegun,
            reports: assignment.reports.clone(),
        })
    }

    /// Does it all.
    pub(super) fn run(mut self) -> io::Result<()> {
        loop {
            let now = clock::now().monotonic;
            if self.is_overdue(now) && self.hear_what_has_come(now)? == Next::Done {
                return Ok(());
            }
            if self.on_time(now) == Next::Done {
                return self.release();
            }
            self.alarm.by(self.deadline(now))?;
            self.poller.wait(None)?;
            let mut ready: Vec<u64> = self.poller.ready().map(|ready| ready.key).collect();
            // What was said in time counts, be it heard late.
            ready.sort_unstable();
            for key in ready {
                let next = match key {
                    DAEMON => self.hear_daemon(),
                    CALLER => self.hear_caller()?,
                    BOUND => self.bound_has_gone()?,
                    REGISTRATION => {
                        self.accept_connection();
                        Next::GoOn
                    }
                    CONNECTION => {
                        self.hear_connections();
                        Next::GoOn
                    }
                    _ => self.alarm_went_off(),
                };
                if next == Next::Done {
                    return Ok(());
                }
            }
        }
    }

    fn deadline(&self, now: Instant) -> Option<Instant> {
        match &self.ending {
            Some(ending) => Some(ending.next(now)),
            None => self.lock.deadline(),
        }
    }

    fn alarm_went_off(&mut self) -> Next {
        self.alarm.went_off();
        if !self.lock.is_unanswered(clock::now().monotonic) {
            return Next::GoOn;
        }
        self.not_acquired(NotAcquired::NoDaemon(self.granter.silent()))
    }

    fn on_time(&mut self, now: Instant) -> Next {
        let Some(lease) = self.lock.lease() else {
            return Next::GoOn;
        };
        if self.is_overdue(now) {
            self.lose(self.granter.overdue());
        }
        let Some(ending) = &mut self.ending else {
            return Next::GoOn;
        };
        let is_over = ending.go_on(&self.tree, &lease, self.grace, now);
        if is_over || ending.is_dead() {
            self.kill_timer = None;
        }
        let outlived_by = ending.outlived_by().filter(|_| !self.is_outlived);
        if let Some(survivor) = outlived_by {
            self.is_outlived = true;
            self.note(&Note::Outlived(out_of_reach(survivor)));
        }
        if is_over { Next::Done } else { Next::GoOn }
    }

    /// Whether the lease has not been renewed in time, as far as is known.
    fn is_overdue(&self, now: Instant) -> bool {
        self.ending.is_none() && self.lock.is_overdue(now)
    }

    /// On a busy machine this process may have waited for a processor while the renewal lay in its
    /// socket.
    fn hear_what_has_come(&mut self, now: Instant) -> io::Result<Next> {
        if self.lock.fill_by(Some(now))? {
            return Ok(self.heed_daemon());
        }
        Ok(Next::GoOn)
    }

    fn hear_daemon(&mut self) -> Next {
        self.lock.fill();
        self.heed_daemon()
    }

    fn heed_daemon(&mut self) -> Next {
        while let Some(said) = self.lock.next_said() {
            self.arm_kill_timer();
            let why = match said {
                Said::Granted(grant) => {
                    self.token.clone_from(&grant.fencing);
                    self.warn_if_freezable();
                    let cgroup = self.tree.cgroup().map(Path::to_owned);
                    self.back_up_bound(Note::Granted { grant, cgroup });
                    continue;
                }
                Said::Done => {
                    self.is_backed_up();
                    continue;
                }
                Said::Failed(why) => {
                    self.is_exposed(&why);
                    continue;
                }
                Said::Renewed => continue,
                Said::Lost(loss) => {
                    self.lose(loss.text);
                    continue;
                }
                Said::Refused(refusal) => NotAcquired::Refused(refusal),
                Said::Error(text) => NotAcquired::Error(text),
            };
            return self.not_acquired(why);
        }
        if self.lock.has_ended() {
            return self.daemon_has_gone();
        }
        Next::GoOn
    }

    fn daemon_has_gone(&mut self) -> Next {
        if self.lock.lease().is_none() {
            return self.not_acquired(NotAcquired::NoDaemon(self.granter.hung_up()));
        }
        // It would be reported for ever.
        let _ = self.poller.remove(&self.lock);
        self.lose(self.granter.gone());
        Next::GoOn
    }

    fn hear_caller(&mut self) -> io::Result<Next> {
        self.caller.fill();
        while let Some(order) = self.caller.next_message() {
            match order {
                Order::Started { pid } => {
                    let leader = Pid::from_raw(pid);
                    self.tree.adopt(leader);
                    if self.ending.is_some() {
                        self.kill_unbegun();
                    } else {
                        self.back_up_command(leader);
                    }
                }
                Order::Ran { done: None } => self.job = Job::NotBegun,
                // What the loss of the lock has interrupted may look as if it had ended well.
                Order::Ran { done: Some(done) } if self.ending.is_none() => {
                    self.job = Job::Ended { done };
                }
                Order::Exited { code } => {
                    self.exit = Some(code);
                    self.has_ended();
                }
                Order::StandAlone => {
                    self.stands_alone = true;
                    self.note(&Note::Held(self.token.clone()));
                }
                Order::Begin(_) | Order::Check | Order::Ended | Order::Ran { .. } => {}
            }
        }
        if !self.caller.has_ended() {
            return Ok(Next::GoOn);
        }
        self.poller.remove(&self.caller)?;
        if self.lock.lease().is_none() {
            return Ok(Next::Done);
        }
        if !self.stands_alone {
            self.end();
        }
        Ok(Next::GoOn)
    }

    /// The command has ended. If all were stopped meanwhile, perhaps after somebody else was granted
    /// the lock.
    fn has_ended(&mut self) {
        let now = clock::now().monotonic;
        let is_over = self.lock.lease().is_some_and(|lease| lease.is_over(now));
        if self.ending.is_none() && is_over {
            self.lose("the lease ended before the command did".to_owned());
            if let Job::Ended { .. } = self.job {
                self.job = Job::Begun;
            }
        }
        self.has_ended = true;
        self.end();
    }

    fn bound_has_gone(&mut self) -> io::Result<Next> {
        if let Some(bound) = &self.bound {
            self.poller.remove(bound)?;
        }
        if self.lock.lease().is_none() {
            return Ok(Next::Done);
        }
        self.end();
        Ok(Next::GoOn)
    }

    fn accept_connection(&mut self) {
        if let Some(bound) = &mut self.bound {
            bound.registration.admit(&self.poller, CONNECTION);
        }
    }

    fn hear_connections(&mut self) {
        while let Some((order, mut connection)) = self
            .bound
            .as_mut()
            .and_then(|bound| bound.registration.hear())
        {
            let is_held = self.lock.lease().is_some() && self.ending.is_none();
            match order {
                Order::Check if is_held => {
                    // One who does not wait for the answer needs none.
                    let _ = connection.send(&Note::Held(self.token.clone()));
                }
                Order::Ended if is_held => {
                    self.connection = Some(connection);
                    self.end();
                }
                _ => {}
            }
        }
    }

    /// The lock is not to be had, which is all that there is to say.
    fn not_acquired(&mut self, why: NotAcquired) -> Next {
        self.note(&Note::NotAcquired(why));
        Next::Done
    }

    fn lose(&mut self, text: String) {
        if let Some(bound) = self.bound.as_ref().filter(|_| self.ending.is_none()) {
            bound.lose();
        }
        self.wait_for_no_backing();
        if !self.has_ended || self.is_outlived {
            self.note(&Note::Lost(text));
        }
        self.end();
    }

    /// Ends the command, or what is left of it.
    fn end(&mut self) {
        if self.ending.is_none() {
            let now = clock::now().monotonic;
            self.ending = Some(Ending::begin(&self.tree, now));
            self.wait_for_no_backing();
        }
    }

    /// Gives the lock back, and says so when it is done.
    fn release(mut self) -> io::Result<()> {
        if let Some(backstop) = self.backstop.take() {
            backstop.lift();
        }
        let report = self.reports.as_ref().and_then(|reports| match self.job {
            Job::NotBegun => Some(&reports.not_begun),
            Job::Begun => None,
            Job::Ended { done: true } => Some(&reports.done),
            Job::Ended { done: false } => Some(&reports.failed),
        });
        self.lock.give_back(report, self.exit)?;
        self.note(&Note::Released);
        if let Some(mut connection) = self.connection {
            let _ = connection.send(&Note::Released);
        }
        Ok(())
    }

    /// Says something to the caller. One who is gone needs no note.
    fn note(&mut self, note: &Note) {
        let _ = self.caller.send(note);
    }
}

#[cfg(test)]
mod tests;
