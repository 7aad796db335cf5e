//! What must hold of a machine after each input. In builds with debug assertions it is checked then, so that tests and
//! the simulator fail at the cause.

use super::Andrews;
use crate::StreamId;
use crate::andrews::DatabaseState;
use crate::andrews::ring::{Membership, Role};
use crate::invariants::{Invariant, check};

impl Andrews {
    /// # Panics
    /// If an invariant does not hold.
    pub(super) fn check_invariants(&self) {
        check(self, INVARIANTS);
    }

    fn row_successor(&self) -> Option<u32> {
        self.view.as_ref()?.successor(self.options.id)
    }

    /// Every connection, once for each of its uses.
    fn connections(&self) -> Vec<StreamId> {
        let mut all = self.inbound.all();
        all.extend(self.proof.all());
        all.extend(self.role.stream());
        all
    }
}

const INVARIANTS: &[Invariant<Andrews>] = &[
    (
        "a member has a successor in the rows, and only it",
        |it| match it.role {
            Role::Starting(_) => true,
            Role::Joining(_) => it.view.is_some() && it.row_successor().is_none(),
            Role::Member(_) => it.row_successor().is_some(),
        },
    ),
    ("the node that the row names is coordinator", |it| {
        let named = it.view.as_ref().and_then(|view| view.seat().id);
        let has_decided = !matches!(it.role, Role::Starting(_));
        it.duties.is_some() == (has_decided && named == Some(it.options.id))
    }),
    ("a member has a way to its successor", |it| {
        !it.is_running() || it.role.member().is_none_or(Membership::has_way)
    }),
    ("the way leads to the successor in the rows", |it| {
        let to = it.role.member().and_then(Membership::to);
        to.is_none() || to == it.row_successor() || it.token.is_passing()
    }),
    ("only a ring of one rests", |it| {
        let rests = it.role.member().is_some_and(Membership::is_resting);
        !rests || it.row_successor() == Some(it.options.id)
    }),
    ("a token is passed on a connection that is up", |it| {
        it.is_finished || !it.token.is_passing() || it.role.successor().is_some()
    }),
    ("a token that is here is the newest that was", |it| {
        it.token.is_newest()
    }),
    ("a token in use has its job in hand", |it| {
        let in_hand = it.database.visit().map(|(job, _)| job);
        it.token.job().is_none_or(|job| in_hand == Some(job))
    }),
    ("the requests of the job in hand are being served", |it| {
        let of_job = it.database.visit().map_or(0, |(_, requests)| requests);
        it.requests.served_count() == of_job
    }),
    ("a parked token came from the predecessor", |it| {
        let stream = it.token.parked_from();
        it.is_finished || stream.is_none_or(|stream| it.inbound.is_predecessor(stream))
    }),
    ("a token is parked only while the database answers", |it| {
        it.token.parked_from().is_none() || it.database.state() == DatabaseState::Up
    }),
    ("only a member takes part in elections", |it| {
        let takes_part =
            it.elections.is_ongoing() || it.victory.is_some() || !it.waiting.is_empty();
        it.role.member().is_some() || !takes_part
    }),
    ("a message waits only for a successor", |it| {
        it.waiting.is_empty() || it.role.successor().is_none()
    }),
    ("each connection has one use", |it| {
        let mut all = it.connections();
        let uses = all.len();
        all.sort_unstable();
        all.dedup();
        all.len() == uses
    }),
    ("the predecessor is in the list, at its address", |it| {
        let predecessor = it.inbound.predecessor();
        predecessor.is_none_or(|node| it.list.is_from(node.id(), node.from()))
    }),
    ("few connections look for proof of the network", |it| {
        it.proof.has_room()
    }),
    ("strangers are not in the list", |it| {
        let (period, mut rows) = (it.options.alone_timeout, it.strangers.rows().into_iter());
        let mut senders = it.strangers.senders(it.now, period).into_iter();
        rows.all(|id| it.list.address(id).is_none())
            && senders.all(|(id, from)| !it.list.is_from(id, from))
    }),
    ("the database is reported as it is", |it| {
        it.told_database == it.database.state()
    }),
    ("trusted rows were read", |it| {
        !it.is_running() || !it.database.is_fresh() || it.view.is_some()
    }),
    ("a node that has ended has no connections", |it| {
        !it.is_finished || it.connections().is_empty() && it.proof.probes() == 0
    }),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::andrews::coordinator::Duties;
    use crate::andrews::message::Ballot;
    use crate::andrews::ring::{Plea, Verdict};
    use crate::andrews::tests::base::Base;
    use crate::andrews::tests::rig::{Rig, ms, seq};
    use crate::andrews::tests::steps::four;
    use crate::andrews::{Command, Options};
    use crate::invariants::{Spoilt, assert_each_breaks};

    /// Node 2 with a token.
    fn holder() -> Rig {
        let mut rig = Rig::two();
        rig.given(seq(4, 8));
        rig
    }

    /// Node 2, which has passed its token on.
    fn passer() -> Rig {
        let mut rig = holder();
        rig.run(ms(50));
        rig
    }

    /// Node 2, whose job for a request is not done.
    fn worker() -> Rig {
        let mut rig = holder();
        rig.answers = false;
        rig.request(1, true);
        rig
    }

    /// Node 2 with a token whose term it looks up.
    fn parker() -> Rig {
        let mut rig = Rig::two();
        rig.answers = false;
        rig.given(seq(5, 0));
        rig
    }

    fn newcomer() -> Rig {
        Rig::new(4, four())
    }

    /// Node 2, whose first job is not done.
    fn starter() -> Rig {
        Rig::unanswered(Options::new(2), Base::default())
    }

    fn ended() -> Rig {
        let mut rig = Rig::two();
        rig.command(Command::ShutDown);
        rig
    }

    fn member(it: &mut Andrews) -> &mut Membership {
        it.role.member_mut().unwrap()
    }

    /// In the order of the invariants, a machine and how it is spoilt.
    const SPOILT: &[Spoilt<Rig, Andrews>] = &[
        (Rig::two, |it| {
            it.role = Role::Joining(Plea::new(it.now, it.now, Verdict::None));
        }),
        (Rig::two, |it| it.duties = Some(Duties::new(it.now, false))),
        (Rig::two, |it| _ = member(it).close()),
        (Rig::two, |it| member(it).fail(5)),
        (Rig::two, |it| member(it).rest()),
        (passer, |it| member(it).fail(3)),
        (holder, |it| it.token.spoil()),
        (worker, |it| it.token.begin_visit(0, false)),
        (worker, |it| it.requests.served()),
        (parker, |it| it.inbound.clear()),
        (parker, |it| it.database.slow_down()),
        (newcomer, |it| it.waiting.push_back(Ballot::Bully)),
        (Rig::two, |it| it.waiting.push_back(Ballot::Bully)),
        (Rig::two, |it| {
            let stream = it.inbound.predecessor().unwrap().stream();
            it.proof.opened(stream, it.now);
        }),
        (Rig::two, |it| {
            it.inbound.predecessor_mut().unwrap().set_id(9);
        }),
        (Rig::two, |it| it.proof.spoil()),
        (Rig::two, |it| _ = it.strangers.note_rows([1].into())),
        (Rig::two, |it| it.told_database = DatabaseState::Gone),
        (starter, |it| it.database.looked()),
        (ended, |it| it.proof.want(1)),
    ];

    #[test]
    fn each_invariant_breaks() {
        assert_each_breaks(INVARIANTS, SPOILT, |rig| rig.machine);
    }

    #[test]
    #[should_panic(expected = "a message waits only for a successor")]
    fn an_input_that_leaves_one_broken_panics() {
        let mut rig = Rig::two();
        rig.machine.waiting.push_back(Ballot::Bully);
        rig.time_out();
    }
}
