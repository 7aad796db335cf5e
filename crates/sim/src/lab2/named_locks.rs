//! Named locks: two programs never hold a lock of the same name at the same time, unless both locks are shared.
//!
//! A program relies on its lock until the end of its lease, as its node last reported it. The program continues until
//! this time even if the process of its node stalls or dies. Some programs also ignore the loss of their locks until
//! this time. At grade quorum, the rule always holds. At other grades, the rule holds if the segment never splits and
//! loses no frame, and if the earlier program's node does not die.

use ring_codec::MacAddr;
use ring_codec::lab2::{LockMode, Token};
use ring_proto::lab2::{Command, Event, Grade, LockName, LockProgram, LockRequest};
use ring_proto::time::Instant;

use super::Inspect;
use super::notation;
use super::outcome::Rule;
use super::settings::FaultKind;
use super::system::{Lab2Event, World};
use crate::kernel::queue::id;

const MS: u64 = 1_000_000;
/// If a node is stalled, its program tries again after this time to release the lock.
const RETRY_NANOS: u64 = 10 * MS;
/// The kinds of fault that neither split the segment, lose frames nor stall a process.
const HARMLESS_KINDS: [FaultKind; 9] = [
    FaultKind::Crash,
    FaultKind::Guardian,
    FaultKind::Work,
    FaultKind::Leave,
    FaultKind::Address,
    FaultKind::Yield,
    FaultKind::HoldOff,
    FaultKind::Once,
    FaultKind::Lock,
];

/// The locks of all programs.
#[derive(Debug, Default)]
pub(super) struct NamedLocks {
    programs: Vec<LockHolder>,
    /// The number of the last session.
    sessions: u64,
    /// For each name, the strongest fencing tokens at grade quorum: of its exclusive locks, and of all its locks.
    fences: Vec<(u8, Option<Token>, Option<Token>)>,
}

/// A program that wants or has a lock.
#[derive(Debug, Clone, Copy)]
pub(super) struct LockHolder {
    pub(super) node: usize,
    /// The number of the node's process when the program began.
    life: u32,
    pub(super) session: u64,
    pub(super) lock: LockOptions,
    stage: LockStage,
}

/// The lock that a program wants.
#[derive(Debug, Clone, Copy)]
pub(super) struct LockOptions {
    pub(super) name: u8,
    pub(super) shared: bool,
    pub(super) quorum: bool,
    /// The duration of the program's work, in nanoseconds.
    pub(super) work: u64,
    /// Whether the program ignores the loss of its lock until the end of its lease.
    pub(super) stubborn: bool,
    /// The number of further programs of the node that take the lock, each directly after the program before.
    pub(super) repeats: u8,
}

#[derive(Debug, Clone, Copy)]
enum LockStage {
    Waiting,
    /// The program works. It relies on its lock until this time of its node's clock.
    Working {
        until: Instant,
        fence: Token,
        /// The number of the node's network card when the lease last began. The lock's record has the address of this
        /// card.
        card: u8,
        /// Whether the node reported that the lock is lost.
        is_lost: bool,
    },
    /// The work is done, but the node does not know this yet.
    Done,
}

impl LockHolder {
    /// Returns the end of the program's claim, by its node's clock, and the fencing token.
    pub(super) const fn claim(&self) -> Option<(Instant, Token)> {
        match self.stage {
            LockStage::Working { until, fence, .. } => Some((until, fence)),
            _ => None,
        }
    }

    /// Returns the address of the node when the lease of the program's lock last began.
    pub(super) fn member(&self) -> Option<MacAddr> {
        match self.stage {
            LockStage::Working { card, .. } => Some(notation::card(self.node, card)),
            _ => None,
        }
    }

    const fn is_lost(&self) -> bool {
        matches!(self.stage, LockStage::Working { is_lost: true, .. })
    }

    /// Returns a text about the program's lock.
    pub(super) fn describe(&self, fence: Token) -> String {
        let Self { lock, session, .. } = self;
        format!("lock-{} of session {session} with {fence}", lock.name)
    }
}

impl NamedLocks {
    pub(super) fn programs(&self) -> &[LockHolder] {
        &self.programs
    }

    /// Whether a program waits for a lock of grade quorum.
    pub(super) fn has_waiting_for_quorum(&self) -> bool {
        let waits = |it: &LockHolder| it.lock.quorum && matches!(it.stage, LockStage::Waiting);
        self.programs.iter().any(waits)
    }

    /// Whether the program of a session waits for its lock.
    pub(super) fn is_waiting(&self, session: u64) -> bool {
        let waits =
            |it: &LockHolder| it.session == session && matches!(it.stage, LockStage::Waiting);
        self.programs.iter().any(waits)
    }
}

fn request(session: u64, lock: &LockOptions) -> Option<LockRequest> {
    Some(LockRequest {
        session,
        name: LockName::new(&format!("lock-{}", lock.name))?,
        mode: if lock.shared {
            LockMode::Shared
        } else {
            LockMode::Exclusive
        },
        grade: if lock.quorum {
            Grade::Quorum
        } else {
            Grade::Alone
        },
        program: LockProgram::new("simulated"),
    })
}

impl<M: Inspect> World<M> {
    /// Starts a program that takes a lock, works and releases the lock.
    pub(super) fn take_lock(&mut self, at: usize, lock: LockOptions) {
        let node = &self.nodes[at];
        if !node.is_running() || node.own.leaving {
            return;
        }
        let life = node.life;
        let locks = &mut self.system.named_locks;
        locks.sessions += 1;
        let session = locks.sessions;
        let Some(request) = request(session, &lock) else {
            return;
        };
        locks.programs.push(LockHolder {
            node: at,
            life,
            session,
            lock,
            stage: LockStage::Waiting,
        });
        self.command(at, Command::TakeLock(request));
    }

    /// Handles the events of a node's sessions, and the ends of their leases.
    pub(super) fn follow_locks(&mut self, at: usize) {
        for event in std::mem::take(&mut self.nodes[at].own.lock_events) {
            match event {
                Event::LockGranted { session, fence } => self.begin_lock(at, session, fence),
                Event::LockLost { session } => self.lose_lock(at, session),
                Event::LockRefused { session } => {
                    let programs = &mut self.system.named_locks.programs;
                    programs.retain(|it| it.session != session);
                }
                _ => {}
            }
        }
        let node = &self.nodes[at];
        let Some(machine) = node
            .driver
            .as_ref()
            .map(ring_runtime::driver::Driver::machine)
        else {
            return;
        };
        let local = node.clock.monotonic(self.now);
        let mut resumed = Vec::new();
        for it in &mut self.system.named_locks.programs {
            if let LockStage::Working {
                until, fence, card, ..
            } = &mut it.stage
                && it.node == at
                && it.life == node.life
                && let Some(end) = machine.lock_lease_end(it.session)
            {
                let before = std::mem::replace(until, end);
                if before != end {
                    *card = node.own.card;
                }
                let fence = *fence;
                if before <= local && local < end {
                    resumed.push((*it, fence));
                }
            }
        }
        // Another program may have got the lock after the lease had ended.
        for (program, fence) in resumed {
            self.compare_locks(&program, fence);
        }
    }

    /// Ends the program of a lost lock, unless the program is stubborn. The lease of a stubborn program is not
    /// extended.
    fn lose_lock(&mut self, at: usize, session: u64) {
        let programs = &mut self.system.named_locks.programs;
        let program = programs.iter_mut().find(|it| it.session == session);
        let Some(program) = program else {
            return;
        };
        if let LockStage::Working { is_lost, .. } = &mut program.stage {
            *is_lost = true;
        }
        if !program.lock.stubborn {
            self.later(self.now, Lab2Event::LockWork(id(at), session));
        }
    }

    fn begin_lock(&mut self, at: usize, session: u64, fence: Token) {
        let now = self.now;
        let driver = self.nodes[at].driver.as_ref();
        let until = driver.and_then(|driver| driver.machine().lock_lease_end(session));
        let programs = &mut self.system.named_locks.programs;
        let program = programs.iter_mut().find(|it| it.session == session);
        // A lock that is lost within the same input does not count.
        let (Some(program), Some(until)) = (program, until) else {
            return;
        };
        program.stage = LockStage::Working {
            until,
            fence,
            card: self.nodes[at].own.card,
            is_lost: false,
        };
        let program = *program;
        self.system.stats.counters.locks += 1;
        let done = now + program.lock.work;
        self.later(done, Lab2Event::LockWork(id(at), session));
        self.compare_locks(&program, fence);
        if program.lock.quorum {
            self.check_stored(&program, fence);
            self.compare_fences(&program, fence);
        }
    }

    /// Ends a program's work, and releases its lock.
    pub(super) fn finish_lock(&mut self, at: usize, session: u64) {
        let programs = &mut self.system.named_locks.programs;
        let Some(program) = programs.iter_mut().find(|it| it.session == session) else {
            return;
        };
        let works = matches!(program.stage, LockStage::Working { is_lost: false, .. });
        program.stage = LockStage::Done;
        let lock = program.lock;
        let node = &self.nodes[at];
        if node.driver.is_some() && node.life == program.life && !node.is_running() {
            return self.later(self.now + RETRY_NANOS, Lab2Event::LockWork(id(at), session));
        }
        let is_same = node.life == program.life;
        programs.retain(|it| it.session != session);
        if is_same {
            self.command(at, Command::ReleaseLock(session));
            if works && lock.repeats > 0 {
                let repeats = lock.repeats - 1;
                self.take_lock(at, LockOptions { repeats, ..lock });
            }
        }
    }

    /// Ends the waiting programs of a dead process. Programs that work continue until their leases end.
    pub(super) fn end_waiting_locks(&mut self, at: usize) {
        let programs = &mut self.system.named_locks.programs;
        programs.retain(|it| it.node != at || it.claim().is_some());
    }

    /// Ends the programs of a dead process that still work.
    pub(super) fn end_locks_of_dead(&mut self, at: usize) {
        let life = self.nodes[at].life;
        let programs = &mut self.system.named_locks.programs;
        programs.retain(|it| it.node != at || it.life != life);
    }

    /// Checks that no other program has a lock of the same name, unless both locks are shared.
    fn compare_locks(&mut self, own: &LockHolder, fence: Token) {
        let now = self.now;
        let is_whole = self.is_whole_for_locks();
        let nodes = &self.nodes;
        let programs = &mut self.system.named_locks.programs;
        // Programs whose claims have ended no longer matter.
        programs.retain(|it| {
            let node = &nodes[it.node];
            let is_over = |until| until <= node.clock.monotonic(now);
            let may_go_on = node.life == it.life && node.driver.is_some() && !it.is_lost();
            may_go_on || it.claim().is_some_and(|(until, _)| !is_over(until))
        });
        let rival = programs.iter().find_map(|it| {
            let (until, theirs) = it.claim()?;
            let node = &nodes[it.node];
            let conflicts = it.lock.name == own.lock.name
                && it.session != own.session
                && !(it.lock.shared && own.lock.shared)
                && until > node.clock.monotonic(now);
            let lives = node.driver.is_some() && node.life == it.life;
            let counts = it.lock.quorum && own.lock.quorum || is_whole && lives;
            (conflicts && counts).then_some((*it, theirs))
        });
        let Some((other, theirs)) = rival else {
            return;
        };
        if self.may_hold_twice(&fence, &theirs) {
            self.system.checks.exempted += 1;
            return;
        }
        let what = format!(
            "lock-{} by n{} with {fence}, and by n{} with {theirs}",
            own.lock.name, own.node, other.node
        );
        let checks = &mut self.system.checks;
        checks.report(now, Some(own.node), Rule::TwoHolders, what);
    }

    /// Checks that the fencing tokens of a name grow.
    fn compare_fences(&mut self, own: &LockHolder, fence: Token) {
        let fences = &mut self.system.named_locks.fences;
        let at = fences.iter().position(|it| it.0 == own.lock.name);
        let at = at.unwrap_or_else(|| {
            fences.push((own.lock.name, None, None));
            fences.len() - 1
        });
        let (_, exclusive, all) = &mut fences[at];
        let before = if own.lock.shared { *exclusive } else { *all };
        let is_weaker = |before: &Token| !fence.is_stronger_than(before);
        let stronger = |old: Option<Token>| old.filter(|&old| old.is_stronger_than(&fence));
        let broken = before.filter(is_weaker);
        *all = stronger(*all).or(Some(fence));
        if !own.lock.shared {
            *exclusive = stronger(*exclusive).or(Some(fence));
        }
        let Some(before) = broken else {
            return;
        };
        if self.may_hold_twice(&fence, &before) {
            self.system.checks.exempted += 1;
            return;
        }
        let what = format!("lock-{}: {fence} after {before}", own.lock.name);
        let checks = &mut self.system.checks;
        checks.report(self.now, Some(own.node), Rule::LockFence, what);
    }

    /// Whether the process that started the program still runs.
    pub(super) fn is_of_live_process(&self, program: &LockHolder) -> bool {
        let node = &self.nodes[program.node];
        node.driver.is_some() && node.life == program.life
    }

    /// Whether a fault may have given two programs a lock of the same name, with these fencing tokens.
    pub(super) fn may_hold_twice(&self, one: &Token, other: &Token) -> bool {
        let exemptions = &self.system.checks.exemptions;
        !self.system.twins.is_empty() || exemptions.may_hold_twice(self.now, one, other)
    }

    /// Whether no fault prevented a node from receiving a frame in time.
    pub(super) fn is_whole_for_locks(&self) -> bool {
        let mut kinds = FaultKind::ALL.iter();
        kinds.all(|kind| HARMLESS_KINDS.contains(kind) || self.system.stats.fault_count(*kind) == 0)
    }

    /// Prevents further programs after the present programs.
    pub(super) fn stop_repeats(&mut self) {
        for program in &mut self.system.named_locks.programs {
            program.lock.repeats = 0;
        }
    }

    /// Ends all programs that wait or work, as a user would. With `quorum`, ends only programs that need a quorum.
    pub(super) fn cancel_locks(&mut self, quorum: bool) {
        self.stop_repeats();
        let programs = self.system.named_locks.programs.iter();
        let ended = programs.filter(|it| it.lock.quorum || !quorum);
        for (at, session) in ended.map(|it| (it.node, it.session)).collect::<Vec<_>>() {
            self.finish_lock(at, session);
        }
    }

    /// Returns the number of programs whose nodes live, and the sum of their work in nanoseconds. Programs that have
    /// lost their locks do not count.
    pub(super) fn lock_programs(&self) -> (usize, u64) {
        let of_live = |it: &&LockHolder| self.is_of_live_process(it) && !it.is_lost();
        let programs = self.system.named_locks.programs.iter().filter(of_live);
        programs.fold((0, 0), |(count, work), it| (count + 1, work + it.lock.work))
    }

    /// Returns a text about a program that has not had its lock.
    pub(super) fn describe_lock_programs(&self) -> String {
        let programs = self.system.named_locks.programs.iter();
        let texts = programs.map(|it| {
            let stage = match it.stage {
                LockStage::Waiting => "waits for",
                _ => "has",
            };
            format!(
                "session {} of n{} {stage} lock-{}",
                it.session, it.node, it.lock.name
            )
        });
        texts.take(3).collect::<Vec<_>>().join(", ")
    }
}
