//! Named locks: the programs that take locks, and the rules for these locks (`docs/reference/lab2/locks.md`).

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use ring_codec::lab2::{LockMode, Token};
use ring_proto::lab2::{Command, Event, Grade, LockName, LockProgram, LockRequest};
use ring_proto::time::Instant;

use crate::breach::Breach;
use crate::node::Node;
use crate::notation;
use crate::scenario::{Faults, Scenario};
use crate::state::Ring;

/// A lock that a program takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LockTake {
    /// The index of the program's node.
    pub node: usize,
    /// The name of the lock.
    pub name: &'static str,
    /// Whether other programs may hold the lock at the same time.
    pub mode: LockMode,
    /// The grade that the program requires.
    pub grade: Grade,
}

/// The programs of a scenario that take locks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LockPlan {
    /// The takes. They happen in this order.
    pub takes: &'static [LockTake],
    /// The number of takes that happen before the exploration begins.
    pub held: usize,
    /// Whether each lock of grade quorum must outlive the faults of the scenario.
    pub outlives_faults: bool,
    /// The time after which no fault happens, and no program takes or releases a lock.
    pub active: Duration,
    /// The time after which a run ends.
    pub lasts: Duration,
}

impl LockPlan {
    /// The plan of a scenario without locks.
    pub const NONE: Self = Self {
        takes: &[],
        held: 0,
        outlives_faults: false,
        active: Duration::MAX,
        lasts: Duration::MAX,
    };

    /// Whether no program takes a lock.
    pub const fn is_empty(&self) -> bool {
        self.takes.is_empty()
    }

    /// Returns the take of a session.
    ///
    /// # Panics
    /// Panics if the session does not belong to the plan.
    pub(crate) fn take_of(&self, session: u64) -> &'static LockTake {
        let at = usize::try_from(session).expect("few sessions");
        &self.takes[at - 1]
    }

    /// Returns the node and the command of the take with this index. The session number is the index plus 1.
    pub(crate) fn command(&self, at: usize) -> Option<(usize, Command)> {
        let take = self.takes.get(at)?;
        let request = LockRequest {
            session: u64::try_from(at + 1).ok()?,
            name: LockName::new(take.name)?,
            mode: take.mode,
            grade: take.grade,
            program: LockProgram::default(),
        };
        Some((take.node, Command::TakeLock(request)))
    }
}

impl fmt::Display for LockPlan {
    /// Formats a plan. Example: `, n2 takes a (exclusive, Quorum), active for 20ms, runs of 100ms`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return Ok(());
        }
        for (at, take) in self.takes.iter().enumerate() {
            let early = if at < self.held { "has" } else { "takes" };
            write!(f, ", {} {early} {take}", name_of(take.node))?;
        }
        write!(
            f,
            ", active for {:?}, runs of {:?}",
            self.active, self.lasts
        )
    }
}

impl fmt::Display for LockTake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mode = match self.mode {
            LockMode::Exclusive => "exclusive",
            LockMode::Shared => "shared",
        };
        write!(f, "{} ({mode}, {:?})", self.name, self.grade)
    }
}

/// A program that waits for a lock or holds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LockHolder {
    /// The number of the session.
    pub session: u64,
    /// The granted lock; `None` while the program waits.
    pub claim: Option<LockClaim>,
    /// Whether the process of the node has died. The program relies on its lock until its lease ends.
    pub is_orphan: bool,
}

/// A granted lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LockClaim {
    /// The fencing token.
    pub fence: Token,
    /// The end of the lease, by the clock of the node.
    pub until: Instant,
}

/// The facts about earlier steps that the rules for locks need.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct LockHistory {
    /// The number of takes that have happened.
    pub taken: usize,
    /// For each session that waits: the nodes that have stored its held record, as bits.
    stored: Vec<u8>,
    /// The fencing token of each lock that was granted.
    fences: Vec<Option<Token>>,
}

impl LockHistory {
    pub(crate) fn new(plan: &LockPlan) -> Self {
        Self {
            taken: 0,
            stored: vec![0; plan.takes.len()],
            fences: vec![None; plan.takes.len()],
        }
    }
}

/// Changes the programs of a node according to an event of its state machine.
pub(crate) fn note_event(programs: &mut Vec<LockHolder>, event: &Event, now: Instant) {
    match *event {
        Event::LockGranted { session, fence } => {
            if let Some(program) = programs.iter_mut().find(|it| it.session == session) {
                program.claim = Some(LockClaim { fence, until: now });
            }
        }
        Event::LockLost { session } | Event::LockRefused { session } => {
            programs.retain(|it| it.session != session);
        }
        _ => {}
    }
}

/// Changes the programs of a node according to a command.
pub(crate) fn note_command(programs: &mut Vec<LockHolder>, command: &Command) {
    match *command {
        Command::TakeLock(LockRequest { session, .. }) => programs.push(LockHolder {
            session,
            claim: None,
            is_orphan: false,
        }),
        Command::ReleaseLock(session) => programs.retain(|it| it.session != session),
        _ => {}
    }
}

/// Returns the programs of a node after the death of its process. Programs that wait end together with the process.
pub(crate) fn after_crash(programs: &[LockHolder]) -> Vec<LockHolder> {
    let holders = programs.iter().filter(|it| it.claim.is_some());
    let orphans = holders.map(|it| LockHolder {
        is_orphan: true,
        ..*it
    });
    orphans.collect()
}

/// Returns the sessions that have a lock after a step, but had none before.
fn granted<'a>(before: &'a Node, after: &'a Node) -> impl Iterator<Item = (u64, Token)> + 'a {
    let had = |session: u64| {
        let mut programs = before.programs.iter();
        programs.any(|it| it.session == session && it.claim.is_some())
    };
    let programs = after.programs.iter();
    let with_lock = programs.filter_map(|it| Some((it.session, it.claim?.fence)));
    with_lock.filter(move |&(session, _)| !had(session))
}

/// Checks that no program loses its lock, if each lock must outlive the faults of the scenario.
pub(crate) fn check_kept(
    scenario: &Scenario,
    at: usize,
    before: &Node,
    after: &Node,
) -> Option<Breach> {
    let mut holders = before.programs.iter().filter(|it| {
        let is_quorum = scenario.locks.take_of(it.session).grade == Grade::Quorum;
        is_quorum && it.claim.is_some() && !it.is_orphan
    });
    let has_lost = holders.any(|it| after.programs.iter().all(|now| now.session != it.session));
    (scenario.locks.outlives_faults && has_lost).then_some(Breach::LockLost { node: at })
}

impl Ring {
    /// Returns the rule for locks that a step of a node breaks. Notes the facts that later checks need.
    pub(crate) fn judge_locks(
        &mut self,
        scenario: &Scenario,
        at: usize,
        before: &Node,
    ) -> Option<Breach> {
        if scenario.locks.is_empty() {
            return None;
        }
        self.note_stored(scenario, at);
        let after = Arc::clone(&self.nodes[at]);
        let mut breach = None;
        for (session, fence) in granted(before, &after) {
            let found = self
                .check_stored(scenario, session)
                .or_else(|| self.check_fence(scenario, session, fence));
            breach = breach.or(found);
            let place = place_of(session);
            (self.locks.stored[place], self.locks.fences[place]) = (0, Some(fence));
        }
        breach.or_else(|| self.find_two_holders(scenario))
    }

    /// Notes the held records that a node has stored, as long as their programs wait.
    fn note_stored(&mut self, scenario: &Scenario, at: usize) {
        for view in self.nodes[at].machine.lock_views() {
            let waits = self.locks.fences[place_of(view.session)].is_none();
            let is_quorum = scenario.locks.take_of(view.session).grade == Grade::Quorum;
            if view.is_held && waits && is_quorum {
                self.locks.stored[place_of(view.session)] |= 1 << at;
            }
        }
    }

    /// Checks that a majority of the ring has stored the held record of a granted lock.
    fn check_stored(&self, scenario: &Scenario, session: u64) -> Option<Breach> {
        let take = scenario.locks.take_of(session);
        let stored = self.locks.stored[place_of(session)].count_ones() as usize;
        let is_majority = 2 * stored > self.nodes.len();
        let node = take.node;
        (take.grade == Grade::Quorum && !is_majority)
            .then_some(Breach::LockNotStored { node, stored })
    }

    /// Checks that the fencing token of a granted lock is stronger than the fencing tokens of the earlier locks of the
    /// same name. Shared locks have no order among themselves.
    fn check_fence(&self, scenario: &Scenario, session: u64, fence: Token) -> Option<Breach> {
        let plan = &scenario.locks;
        let take = plan.take_of(session);
        let earlier = plan.takes.iter().zip(&self.locks.fences);
        let mut earlier = earlier.filter(|(it, _)| {
            let same_name = it.name == take.name && it.grade == take.grade;
            same_name && (it.mode, take.mode) != (LockMode::Shared, LockMode::Shared)
        });
        let is_weaker = |before: &Token| !fence.is_stronger_than(before);
        let before = earlier.find_map(|(_, before)| before.filter(is_weaker))?;
        let node = take.node;
        (take.grade == Grade::Quorum).then_some(Breach::FenceWentBack {
            node,
            before,
            after: fence,
        })
    }

    /// Checks that an exclusive lock has no second holder.
    fn find_two_holders(&self, scenario: &Scenario) -> Option<Breach> {
        let plan = &scenario.locks;
        let relying = self.nodes.iter().enumerate().flat_map(|(at, node)| {
            let present = self.present(at);
            let relies = move |it: &&LockHolder| it.claim.is_some_and(|it| it.until > present);
            node.programs.iter().filter(relies)
        });
        let relying: Vec<&LockHolder> = relying.collect();
        let conflict = |one: &LockHolder, other: &LockHolder| {
            let (a, b) = (plan.take_of(one.session), plan.take_of(other.session));
            let is_quorum = a.grade == Grade::Quorum && b.grade == Grade::Quorum;
            let counts =
                is_quorum || is_harmless(scenario.faults) && !one.is_orphan && !other.is_orphan;
            let both_shared = (a.mode, b.mode) == (LockMode::Shared, LockMode::Shared);
            counts && a.name == b.name && one.session != other.session && !both_shared
        };
        let mut pairs = relying
            .iter()
            .flat_map(|one| relying.iter().map(move |other| (one, other)));
        let (one, other) = pairs.find(|(one, other)| conflict(one, other))?;
        let (a, b) = (plan.take_of(one.session), plan.take_of(other.session));
        Some(Breach::TwoHolders {
            nodes: [a.node, b.node],
            lock: a.name,
        })
    }

    /// Returns the remaining time of each lease. A stopped node has an old clock, so its own state does not show this
    /// time.
    pub(crate) fn rests_of_leases(&self) -> Vec<Duration> {
        let nodes = self.nodes.iter().enumerate();
        let rests = nodes.flat_map(|(at, node)| {
            let claims = node.programs.iter().filter_map(|it| it.claim);
            claims.map(move |it| it.until.since(self.present(at)))
        });
        rests.collect()
    }
}

/// Whether the faults neither split the segment, lose frames nor disturb a running node. Without such faults, locks of
/// every grade exclude each other while the processes of their nodes live.
fn is_harmless(faults: Faults) -> bool {
    faults.doubled(0).crashes(0).wants(0).unlocks(0) == Faults::NONE
}

fn place_of(session: u64) -> usize {
    usize::try_from(session).expect("few sessions") - 1
}

fn name_of(node: usize) -> String {
    notation::name(notation::mac(node))
}
