//! The database's delays and answers. A process has one session, which runs one transaction after the other.

use ring_proto::JobRequest;
use ring_proto::andrews::{Command, DatabaseState, Job, Outcome, Work};
use ring_runtime::driver::Driver;

use super::node::HostInput;
use super::outcome::Rule;
use super::schedule::DatabaseBehavior;
use super::settings::FaultKind;
use super::system::{AndrewsEvent, World};
use crate::kernel::queue::Event;

const US: u64 = 1_000;
const MS: u64 = 1_000 * US;
/// The time after which a session gives up, in multiples of database-timeout.
pub(super) const SESSION_TIMEOUT_FACTOR: u64 = 4;

#[derive(Debug, Clone, Copy)]
pub(super) struct TransactionFate {
    is_done: bool,
    /// The answer that the node gets instead of the real answer.
    told: Option<ForgedAnswer>,
    /// The time from the transaction to the answer, in nanoseconds.
    answer: u64,
    is_told_twice: bool,
    /// Whether the database refuses writes.
    is_read_only: bool,
}

#[derive(Debug, Clone, Copy)]
enum ForgedAnswer {
    Failed,
    Unknown,
}

impl World {
    /// Takes the jobs of a node's state machine for the database.
    pub(super) fn take_jobs(&mut self, at: usize) {
        while let Some(wanted) = self.nodes[at].driver.as_mut().and_then(Driver::next_job) {
            // The state machine never cancels a job.
            if let JobRequest::Start(job) = wanted {
                self.check_job(at, &job);
                self.nodes[at].own.process.worker.waiting.push_back(job);
            }
        }
        self.begin_transaction(at);
    }

    /// Begins the next transaction of a running process that is not busy.
    pub(super) fn begin_transaction(&mut self, at: usize) {
        if !self.nodes[at].is_running() {
            return;
        }
        let own = &mut self.nodes[at].own;
        if own.process.worker.is_busy {
            if own.process.worker.is_in_trouble {
                own.process.troubled_at = Some(self.now);
            }
            return;
        }
        let Some(job) = own.process.worker.waiting.pop_front() else {
            return;
        };
        own.process.worker.is_busy = true;
        let behavior = own.behavior;
        own.process.worker.is_in_trouble = behavior != DatabaseBehavior::Quick;
        if own.process.worker.is_in_trouble {
            own.process.troubled_at = Some(self.now);
            self.system.count_fault(kind_of(behavior));
        }
        let (takes, fate) = self.draw_transaction_fate(behavior);
        let due = AndrewsEvent::Transaction {
            node: at,
            life: self.nodes[at].life,
            job,
            fate,
        };
        self.later(self.now + takes, due);
    }

    fn draw_transaction_fate(&mut self, behavior: DatabaseBehavior) -> (u64, TransactionFate) {
        let timeout = self.system.database_timeout;
        let quick = self.rng.between(100 * US, 2 * MS);
        let mut fate = TransactionFate {
            is_done: true,
            told: None,
            answer: self.rng.between(50 * US, MS),
            is_told_twice: false,
            is_read_only: behavior == DatabaseBehavior::ReadOnly,
        };
        match behavior {
            DatabaseBehavior::Quick | DatabaseBehavior::ReadOnly => (quick, fate),
            DatabaseBehavior::Late => {
                // Most delays of answers are about as long as the timeouts of the state machine.
                let most = self
                    .rng
                    .pick(&[timeout, 2 * timeout, SESSION_TIMEOUT_FACTOR * timeout]);
                let takes = self.rng.between(timeout / 4, most);
                let done = self.rng.between(0, takes);
                fate.answer = takes - done;
                (done, fate)
            }
            DatabaseBehavior::Gone => {
                fate.is_done = false;
                fate.told = Some(ForgedAnswer::Failed);
                fate.answer = self.rng.pick(&[MS, timeout / 2, timeout]);
                (quick, fate)
            }
            DatabaseBehavior::Unknown | DatabaseBehavior::Silent => {
                fate.is_done = self.rng.chance(500);
                fate.told = Some(ForgedAnswer::Unknown);
                if behavior == DatabaseBehavior::Unknown {
                    return (quick, fate);
                }
                let done = self.rng.between(0, SESSION_TIMEOUT_FACTOR * timeout);
                fate.answer = SESSION_TIMEOUT_FACTOR * timeout - done;
                (done, fate)
            }
            DatabaseBehavior::Twice => {
                fate.is_told_twice = true;
                (quick, fate)
            }
        }
    }

    /// Runs a transaction, or makes it fail.
    pub(super) fn run_transaction(
        &mut self,
        at: usize,
        life: u32,
        job: &Job,
        fate: TransactionFate,
    ) {
        let TransactionFate {
            mut is_done,
            told,
            answer,
            is_told_twice,
            is_read_only,
        } = fate;
        if is_read_only && !matches!(job.work, Work::ReadRing) {
            is_done = false;
            self.nodes[at].own.process.refused = Some(job.id);
        }
        if self.nodes[at].life != life || self.nodes[at].driver.is_none() {
            // The process of the transaction is dead. The database may or may not have got the whole transaction.
            is_done &= self.rng.chance(500);
        }
        let outcome = if is_done {
            self.commit(at, &job.work)
        } else {
            Outcome::Failed
        };
        let outcome = match told {
            Some(ForgedAnswer::Failed) => Outcome::Failed,
            // A transaction that only reads fails.
            Some(ForgedAnswer::Unknown) if matches!(job.work, Work::ReadRing) => Outcome::Failed,
            Some(ForgedAnswer::Unknown) => Outcome::Unknown,
            None => outcome,
        };
        let answer = self.now + answer;
        let mut say = |due, is_last| {
            let told = AndrewsEvent::Answer {
                node: at,
                life,
                job: job.id,
                outcome: outcome.clone(),
                is_last,
            };
            self.queue.push(due, Event::System(told));
        };
        say(answer, true);
        if is_told_twice {
            say(answer + self.system.database_timeout / 2, false);
        }
    }

    fn commit(&mut self, at: usize, work: &Work) -> Outcome {
        let own = self.nodes[at].own.id;
        let (tables, clients) = (&mut self.system.tables, &self.system.clients);
        let posts = tables.posts.len();
        let before = (tables.topology.seat, tables.topology.beat);
        let outcome = tables.carry_out(own, work, |request| clients.key(request));
        let now = self.now;
        let counters = &mut self.system.stats.counters;
        match outcome {
            Outcome::Refused => counters.jobs_refused += 1,
            Outcome::Failed => counters.jobs_failed += 1,
            _ => counters.jobs_done += 1,
        }
        if !matches!(work, Work::ReadRing) {
            self.system.trace.note(now, || {
                format!("database: {outcome:?}, for n{at}: {work:?}")
            });
        }
        self.check_tables(at, posts);
        if outcome == Outcome::Done {
            self.check_claim(at, work);
        }
        let topology = &self.system.tables.topology;
        if (topology.seat, topology.beat) != before {
            self.on_beat();
        }
        outcome
    }

    pub(super) fn answer(&mut self, at: usize, job: u64, outcome: Outcome, is_last: bool) {
        let own = &mut self.nodes[at].own;
        if own.process.worker.is_in_trouble {
            own.process.troubled_at = Some(self.now);
        }
        self.note_refusal(at, job, &outcome);
        self.give_input(at, HostInput::Command(Command::Done { job, outcome }));
        self.check_refusal(at);
        if is_last {
            self.nodes[at].own.process.worker.is_busy = false;
            self.begin_transaction(at);
        }
    }

    /// Records whether a read-only database has refused a write with this answer.
    fn note_refusal(&mut self, at: usize, job: u64, outcome: &Outcome) {
        let own = &mut self.nodes[at].own;
        match outcome {
            Outcome::Failed => own.process.is_refused = own.process.refused == Some(job),
            Outcome::Done => own.process.is_refused = false,
            _ => {}
        }
    }

    /// Checks that a node knows that the database refuses its writes, even if its reads succeed.
    fn check_refusal(&mut self, at: usize) {
        let own = &self.nodes[at].own;
        let is_refused = own.process.is_refused && own.behavior == DatabaseBehavior::ReadOnly;
        // A busy process has not read the answer yet.
        let node = &self.nodes[at];
        let is_told = node.is_running() && node.busy_until <= self.now;
        let snapshot = self.machine(at).filter(|_| is_refused && is_told);
        if snapshot.is_some_and(|it| it.snapshot().database == DatabaseState::Up) {
            let what = "the last write has failed".to_owned();
            self.report_at(at, Rule::Written, what);
        }
    }

    /// If the job uses a token, checks this token.
    fn check_job(&mut self, at: usize, job: &Job) {
        let Work::Serve { sequence, .. } = job.work else {
            return;
        };
        let now = self.now;
        let own = &self.nodes[at].own;
        let (passed, highest) = (own.process.passed, own.process.highest);
        let holds = self.holds(at) && passed.is_none() && sequence == highest;
        // The process may have lost the used token to a newer token in the same loop iteration.
        if !holds && !own.process.input.has_lost {
            let what = format!("it uses {sequence}, had {highest}, and has passed on {passed:?}");
            self.system.findings.report(now, Some(at), Rule::Use, what);
        }
    }
}

const fn kind_of(behavior: DatabaseBehavior) -> FaultKind {
    match behavior {
        DatabaseBehavior::Quick | DatabaseBehavior::Late => FaultKind::Late,
        DatabaseBehavior::Gone => FaultKind::Gone,
        DatabaseBehavior::ReadOnly => FaultKind::ReadOnly,
        DatabaseBehavior::Unknown | DatabaseBehavior::Silent => FaultKind::Unknown,
        DatabaseBehavior::Twice => FaultKind::Twice,
    }
}
