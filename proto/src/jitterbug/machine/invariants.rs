//! The invariants of the state machine. Builds with debug assertions check the invariants after each input, so that
//! tests and the simulator fail at the cause.

use super::Jitterbug;
use crate::invariants::{Invariant, check};
use crate::jitterbug::role::{Pass, Restore, Role, Turn};

impl Jitterbug {
    /// # Panics
    /// Panics if an invariant does not hold.
    pub(super) fn check_invariants(&self) {
        check(self, INVARIANTS);
    }
}

const INVARIANTS: &[Invariant<Jitterbug>] = &[
    (
        "a node without a network is an orphan that sends no question",
        |it| it.net.is_some() || matches!(it.role, Role::Orphan(None)),
    ),
    ("an orphan with a network restores its ring", |it| {
        it.net.is_none() || it.is_finished || !matches!(it.role, Role::Orphan(None))
    }),
    (
        "a restore that is granted waits for a token on its way",
        |it| {
            let is_granted = it.role.restore().is_some_and(Restore::is_granted);
            !is_granted || it.inbound.has_answered()
        },
    ),
    ("the restore that goes on is the latest", |it| {
        let latest = it.out.counters.restores;
        (it.role.restore()).is_none_or(|restore| restore.number() == latest)
    }),
    (
        "a waiter waits for no longer than renew_timeout",
        |it| match &it.role {
            Role::Waiter(waiter) => waiter.renew_at() <= it.now + it.options.renew_timeout,
            _ => true,
        },
    ),
    ("a leader remembers no token that it gave away", |it| {
        it.role.turn().is_none() || it.passed_token.is_forgotten()
    }),
    ("a node that is to leave leads or has ended", |it| {
        it.leave_by.is_none() || it.is_finished || it.role.turn().is_some()
    }),
    (
        "a node that has ended gives, takes and computes nothing",
        |it| {
            !it.is_finished
                || it.role.pass().is_none() && it.inbound.is_empty() && it.data.is_idle()
        },
    ),
    (
        "observers know whether local work may use the token",
        |it| it.reported_may_use == it.may_use_token(),
    ),
    ("a leader computes in step 2, and only there", |it| {
        let is_in_step_2 = it.role.turn().is_some_and(Turn::is_computing);
        it.is_finished || is_in_step_2 == it.data.is_computing()
    }),
    (
        "data waits for a decision only behind a job, 16 at most",
        |it| it.data.is_sound(),
    ),
    (
        "a giver is put off only while the node gives its own token",
        |it| it.role.pass().is_some() || !it.inbound.has_held(),
    ),
    (
        "each exchange is with another node, and 16 at most are open",
        |it| it.inbound.is_sound() && it.inbound.givers().all(|giver| !it.is_own(giver)),
    ),
    (
        "a pass to a node of the list is never to the node itself",
        |it| {
            let passes_to_own = |pass: &Pass| !pass.is_rival() && it.is_own(pass.to().ip);
            !it.role.pass().is_some_and(passes_to_own)
        },
    ),
    ("a pass ends within token_pass_timeout", |it| {
        let end = it.now + it.options.token_pass_timeout;
        it.role.pass().is_none_or(|pass| pass.deadline() <= end)
    }),
    ("the token id is kept without the sign of a leader", |it| {
        !it.token_id.is_leader()
    }),
    (
        "the list is in order, has its hash, and is not too long",
        |it| it.list.is_sound(),
    ),
    ("leases are those of the nodes that count", |it| {
        it.peers.is_sound()
    }),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::StreamId;
    use crate::invariants::{BrokenCase, assert_each_breaks};
    use crate::jitterbug::Command;
    use crate::jitterbug::role::Waiter;
    use crate::jitterbug::tests::rig::{OWN_NUMBER, Rig, computing, host, ms};

    const STREAM: StreamId = StreamId {
        slot: 100,
        generation: 1,
    };

    fn waiter() -> Rig {
        Rig::waiter(5)
    }

    fn leader() -> Rig {
        Rig::leader(5)
    }

    fn giver() -> Rig {
        Rig::giver().0
    }

    fn computes() -> Rig {
        Rig::leader_with(computing(), 5)
    }

    fn grant(it: &mut Jitterbug) {
        let late = it.now + ms(60_000);
        let restore = it.role.restore_mut().unwrap();
        while !restore.is_granted() {
            restore.take_step(late, 0, ms(0));
        }
    }

    fn accept(it: &mut Jitterbug, from: u8) {
        it.inbound.accept(STREAM, host(from), it.now);
    }

    /// Pairs of a valid state machine and a change that breaks one invariant, in the order of the invariants.
    const SPOILT: &[BrokenCase<Rig, Jitterbug>] = &[
        (Rig::orphan, |it| it.net = None),
        (Rig::orphan, |it| it.role = Role::Orphan(None)),
        (Rig::orphan, grant),
        (Rig::orphan, |it| it.out.counters.restores += 1),
        (waiter, |it| {
            it.role = Role::Waiter(Waiter::new(it.now + ms(60_000), false));
        }),
        (leader, |it| it.passed_token.note(it.rank(), it.now)),
        (waiter, |it| it.leave_by = Some(it.now)),
        (giver, |it| it.is_finished = true),
        (leader, |it| it.reported_may_use = false),
        (computes, |it| it.data.cancel_computation()),
        (leader, |it| assert!(it.data.queue_received(b"9".to_vec()))),
        (leader, |it| {
            accept(it, 2);
            it.inbound.get_mut(STREAM).unwrap().hold();
        }),
        (leader, |it| accept(it, OWN_NUMBER)),
        (giver, |it| it.begin_pass(it.own().unwrap(), false)),
        (giver, |it| it.options.token_pass_timeout = ms(0)),
        (leader, |it| it.token_id = it.token_id.with_leader(true)),
        (leader, |it| it.list.spoil()),
        (leader, |it| it.peers.spoil()),
    ];

    #[test]
    fn each_invariant_breaks() {
        assert_each_breaks(INVARIANTS, SPOILT, |rig| rig.machine);
    }

    #[test]
    #[should_panic(expected = "the token id is kept without the sign of a leader")]
    fn an_input_that_leaves_one_broken_panics() {
        let mut rig = leader();
        rig.machine.token_id = rig.machine.token_id.with_leader(true);
        rig.command(Command::Yield);
    }
}
