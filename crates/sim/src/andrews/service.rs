//! The database as a service: when transactions are done, and what is told of them. A process has one session, which
//! does one after the other.

use ring_proto::JobOp;
use ring_proto::andrews::{Command, DatabaseState, Job, Outcome, Work};
use ring_runtime::driver::Driver;

use super::circle::{Due, World};
use super::node::Told;
use super::outcome::Rule;
use super::plan::Mood;
use super::settings::FaultKind;
use crate::kernel::queue::Event;

const US: u64 = 1_000;
const MS: u64 = 1_000 * US;
/// A session gives up after so many times database-timeout.
pub(super) const PATIENCE: u64 = 4;

/// What becomes of one transaction, and of the answer.
#[derive(Debug, Clone, Copy)]
pub struct Fate {
    /// Whether it is carried out.
    is_done: bool,
    /// What is told instead of what has come of it.
    told: Option<Lie>,
    /// From then on until the answer, in nanoseconds.
    answer: u64,
    is_told_twice: bool,
    /// What writes is not carried out.
    is_read_only: bool,
}

#[derive(Debug, Clone, Copy)]
enum Lie {
    Failed,
    Unknown,
}

impl World {
    /// Takes up what a node's machine wants done at the database.
    pub fn take_jobs(&mut self, at: usize) {
        while let Some(wanted) = self.nodes[at].driver.as_mut().and_then(Driver::next_job) {
            // Nothing is ever cancelled.
            if let JobOp::Start(job) = wanted {
                self.look_at_job(at, &job);
                self.nodes[at].own.process.worker.waiting.push_back(job);
            }
        }
        self.begin_transaction(at);
    }

    /// A process takes up what waits, if it does nothing else.
    pub fn begin_transaction(&mut self, at: usize) {
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
        let mood = own.mood;
        own.process.worker.is_in_trouble = mood != Mood::Quick;
        if own.process.worker.is_in_trouble {
            own.process.troubled_at = Some(self.now);
            self.system.met(kind(mood));
        }
        let (takes, fate) = self.draw_fate(mood);
        let due = Due::Transaction {
            node: at,
            life: self.nodes[at].life,
            job,
            fate,
        };
        self.later(self.now + takes, due);
    }

    fn draw_fate(&mut self, mood: Mood) -> (u64, Fate) {
        let timeout = self.system.database_timeout;
        let quick = self.rng.between(100 * US, 2 * MS);
        let mut fate = Fate {
            is_done: true,
            told: None,
            answer: self.rng.between(50 * US, MS),
            is_told_twice: false,
            is_read_only: mood == Mood::ReadOnly,
        };
        match mood {
            Mood::Quick | Mood::ReadOnly => (quick, fate),
            Mood::Late => {
                // Most are about as late as the machine is patient.
                let most = self.rng.pick(&[timeout, 2 * timeout, PATIENCE * timeout]);
                let takes = self.rng.between(timeout / 4, most);
                let done = self.rng.between(0, takes);
                fate.answer = takes - done;
                (done, fate)
            }
            Mood::Gone => {
                fate.is_done = false;
                fate.told = Some(Lie::Failed);
                fate.answer = self.rng.pick(&[MS, timeout / 2, timeout]);
                (quick, fate)
            }
            Mood::Unknown | Mood::Silent => {
                fate.is_done = self.rng.chance(500);
                fate.told = Some(Lie::Unknown);
                if mood == Mood::Unknown {
                    return (quick, fate);
                }
                let done = self.rng.between(0, PATIENCE * timeout);
                fate.answer = PATIENCE * timeout - done;
                (done, fate)
            }
            Mood::Twice => {
                fate.is_told_twice = true;
                (quick, fate)
            }
        }
    }

    /// A transaction's time has come.
    pub fn transact(&mut self, at: usize, life: u32, job: &Job, fate: Fate) {
        let Fate {
            mut is_done,
            told,
            answer,
            is_told_twice,
            is_read_only,
        } = fate;
        if is_read_only && !matches!(job.work, Work::Look) {
            is_done = false;
            self.nodes[at].own.process.refused = Some(job.id);
        }
        if self.nodes[at].life != life || self.nodes[at].driver.is_none() {
            // Its process is dead: the server may have had all of it, or not.
            is_done &= self.rng.chance(500);
        }
        let outcome = if is_done {
            self.commit(at, &job.work)
        } else {
            Outcome::Failed
        };
        let outcome = match told {
            Some(Lie::Failed) => Outcome::Failed,
            // What only reads fails.
            Some(Lie::Unknown) if matches!(job.work, Work::Look) => Outcome::Failed,
            Some(Lie::Unknown) => Outcome::Unknown,
            None => outcome,
        };
        let answer = self.now + answer;
        let mut say = |due, is_last| {
            let told = Due::Answer {
                node: at,
                life,
                job: job.id,
                outcome: outcome.clone(),
                is_last,
            };
            self.queue.push(due, Event::Own(told));
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
        if !matches!(work, Work::Look) {
            self.system.trace.note(now, || {
                format!("database: {outcome:?}, for n{at}: {work:?}")
            });
        }
        self.look_at_tables(at, posts);
        if outcome == Outcome::Done {
            self.look_at_claim(at, work);
        }
        let topology = &self.system.tables.topology;
        if (topology.seat, topology.beat) != before {
            self.note_beat();
        }
        outcome
    }

    /// An answer comes to a process.
    pub fn answer(&mut self, at: usize, job: u64, outcome: Outcome, is_last: bool) {
        let own = &mut self.nodes[at].own;
        if own.process.worker.is_in_trouble {
            own.process.troubled_at = Some(self.now);
        }
        self.note_refusal(at, job, &outcome);
        self.tell(at, Told::Asked(Command::Done { job, outcome }));
        self.look_at_refusal(at);
        if is_last {
            self.nodes[at].own.process.worker.is_busy = false;
            self.begin_transaction(at);
        }
    }

    /// An answer comes: it may be the refusal of a database that can only be read.
    fn note_refusal(&mut self, at: usize, job: u64, outcome: &Outcome) {
        let own = &mut self.nodes[at].own;
        match outcome {
            Outcome::Failed => own.process.is_refused = own.process.refused == Some(job),
            Outcome::Done => own.process.is_refused = false,
            _ => {}
        }
    }

    /// A node whose writes are refused knows it, however often it reads.
    fn look_at_refusal(&mut self, at: usize) {
        let own = &self.nodes[at].own;
        let is_refused = own.process.is_refused && own.mood == Mood::ReadOnly;
        // One that is busy has not been told.
        let node = &self.nodes[at];
        let is_told = node.is_running() && node.busy_until <= self.now;
        let snapshot = self.machine(at).filter(|_| is_refused && is_told);
        if snapshot.is_some_and(|it| it.snapshot().database == DatabaseState::Up) {
            let what = "the last write has failed".to_owned();
            self.broken_at(at, Rule::Written, what);
        }
    }

    /// What only a transaction may do.
    fn look_at_job(&mut self, at: usize, job: &Job) {
        let Work::Serve { sequence, .. } = job.work else {
            return;
        };
        let now = self.now;
        let own = &self.nodes[at].own;
        let (passed, highest) = (own.process.passed, own.process.highest);
        let holds = self.holds(at) && passed.is_none() && sequence == highest;
        // One that was held may have been outrun in the same turn.
        if !holds && !own.process.input.has_lost {
            let what = format!("it uses {sequence}, had {highest}, and has passed {passed:?} on");
            self.system.found.broken(now, Some(at), Rule::Use, what);
        }
    }
}

const fn kind(mood: Mood) -> FaultKind {
    match mood {
        Mood::Quick | Mood::Late => FaultKind::Late,
        Mood::Gone => FaultKind::Gone,
        Mood::ReadOnly => FaultKind::ReadOnly,
        Mood::Unknown | Mood::Silent => FaultKind::Unknown,
        Mood::Twice => FaultKind::Twice,
    }
}
