//! The invariants of the state machine. Builds with debug assertions check the invariants after each input, so that
//! tests and the simulator fail at the cause.

use super::Andrews;
use crate::StreamId;
use crate::andrews::DatabaseState;
use crate::andrews::ring::{Membership, Role};
use crate::invariants::{Invariant, check};

impl Andrews {
    /// # Panics
    /// Panics if an invariant does not hold.
    pub(super) fn check_invariants(&self) {
        check(self, INVARIANTS);
    }

    fn row_successor(&self) -> Option<u32> {
        self.view.as_ref()?.successor(self.options.id)
    }

    /// Returns every connection. If a connection has several uses, the result contains the connection several times.
    fn connections(&self) -> Vec<StreamId> {
        let mut all = self.inbound.streams();
        all.extend(self.proof.streams());
        all.extend(self.role.stream());
        all
    }
}

const INVARIANTS: &[Invariant<Andrews>] = &[
    (
        "a member, and only a member, has a successor in the rows",
        |it| match it.role {
            Role::Starting(_) => true,
            Role::Joining(_) => it.view.is_some() && it.row_successor().is_none(),
            Role::Member(_) => it.row_successor().is_some(),
        },
    ),
    ("the node that the row names is coordinator", |it| {
        let named = it.view.as_ref().and_then(|view| view.seat().id);
        // A node that starts may find a row of its former process, and does not act on it.
        let has_decided = !matches!(it.role, Role::Starting(_));
        it.duties.is_some() == (has_decided && named == Some(it.options.id))
    }),
    ("a member has a connection to its successor", |it| {
        !it.is_running() || it.role.member().is_none_or(Membership::has_link)
    }),
    ("the connection leads to the successor in the rows", |it| {
        let to = it.role.member().and_then(Membership::target);
        // A change of successor waits until the token on the old connection is acknowledged.
        to.is_none() || to == it.row_successor() || it.token.is_passing()
    }),
    ("only a ring of one backs off", |it| {
        let backs_off = it.role.member().is_some_and(Membership::is_backing_off);
        !backs_off || it.row_successor() == Some(it.options.id)
    }),
    ("a token is passed on a connection that is up", |it| {
        it.is_finished || !it.token.is_passing() || it.role.successor().is_some()
    }),
    ("a token that is here is the newest that was here", |it| {
        it.token.is_newest()
    }),
    ("a token in use has its job in hand", |it| {
        let in_hand = it.database.posts_job().map(|(job, _)| job);
        it.token.job().is_none_or(|job| in_hand == Some(job))
    }),
    ("the requests of the job in hand are being served", |it| {
        let of_job = it.database.posts_job().map_or(0, |(_, requests)| requests);
        it.requests.served_count() == of_job
    }),
    ("a parked token came from the predecessor", |it| {
        let stream = it.token.parked_stream();
        it.is_finished || stream.is_none_or(|stream| it.inbound.is_predecessor(stream))
    }),
    ("a token is parked only while the database answers", |it| {
        it.token.parked_stream().is_none() || it.database.state() == DatabaseState::Up
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
        it.proof.is_within_limit()
    }),
    ("unlisted nodes are not in the list", |it| {
        let (period, mut rows) = (it.options.alone_timeout, it.unlisted.rows().into_iter());
        let mut senders = it.unlisted.senders(it.now, period).into_iter();
        rows.all(|id| it.list.address(id).is_none())
            && senders.all(|(id, from)| !it.list.is_from(id, from))
    }),
    ("observers know the state of the database", |it| {
        it.reported_database == it.database.state()
    }),
    ("rows are trusted only after a look", |it| {
        !it.is_running() || !it.database.is_fresh() || it.view.is_some()
    }),
    ("a node that has ended has no connections", |it| {
        !it.is_finished || it.connections().is_empty() && it.proof.probe_count() == 0
    }),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::andrews::coordinator::CoordinatorDuties;
    use crate::andrews::message::OwnedElection;
    use crate::andrews::ring::{ProcessEvidence, RepeatedRequest};
    use crate::andrews::tests::fake_database::FakeDatabase;
    use crate::andrews::tests::rig::{Rig, ms, seq};
    use crate::andrews::tests::steps::ring_of_four;
    use crate::andrews::{Command, Options};
    use crate::invariants::{BrokenCase, assert_each_breaks};

    /// Returns node 2. This node holds a token.
    fn holder() -> Rig {
        let mut rig = Rig::node_2();
        rig.give_token(seq(4, 8));
        rig
    }

    /// Returns node 2. This node is passing its token.
    fn passer() -> Rig {
        let mut rig = holder();
        rig.run(ms(50));
        rig
    }

    /// Returns node 2 with an unfinished job for a request.
    fn worker() -> Rig {
        let mut rig = holder();
        rig.answers = false;
        rig.request(1, true);
        rig
    }

    /// Returns node 2 with a token of an unknown term. The look about this token is still running.
    fn parker() -> Rig {
        let mut rig = Rig::node_2();
        rig.answers = false;
        rig.give_token(seq(5, 0));
        rig
    }

    fn newcomer() -> Rig {
        Rig::new(4, ring_of_four())
    }

    /// Returns node 2 before its first job is done.
    fn starter() -> Rig {
        Rig::with_silent_database(Options::new(2), FakeDatabase::default())
    }

    fn ended_rig() -> Rig {
        let mut rig = Rig::node_2();
        rig.command(Command::ShutDown);
        rig
    }

    fn member(it: &mut Andrews) -> &mut Membership {
        it.role.member_mut().unwrap()
    }

    /// Valid state machines, each with a change that breaks one invariant, in the order of the invariants.
    const SPOILT: &[BrokenCase<Rig, Andrews>] = &[
        (Rig::node_2, |it| {
            it.role = Role::Joining(RepeatedRequest::new(it.now, it.now, ProcessEvidence::None));
        }),
        (Rig::node_2, |it| {
            it.duties = Some(CoordinatorDuties::new(it.now, false));
        }),
        (Rig::node_2, |it| _ = member(it).close()),
        (Rig::node_2, |it| member(it).fail(5)),
        (Rig::node_2, |it| member(it).back_off()),
        (passer, |it| member(it).fail(3)),
        (holder, |it| it.token.spoil()),
        (worker, |it| it.token.begin_visit(0, false)),
        (worker, |it| it.requests.end_visit()),
        (parker, |it| it.inbound.clear()),
        (parker, |it| it.database.slow_down()),
        (newcomer, |it| it.waiting.push_back(OwnedElection::Bully)),
        (Rig::node_2, |it| it.waiting.push_back(OwnedElection::Bully)),
        (Rig::node_2, |it| {
            let stream = it.inbound.predecessor().unwrap().stream();
            it.proof.on_opened(stream, it.now);
        }),
        (Rig::node_2, |it| {
            it.inbound.predecessor_mut().unwrap().set_id(9);
        }),
        (Rig::node_2, |it| it.proof.spoil()),
        (Rig::node_2, |it| _ = it.unlisted.note_rows([1].into())),
        (Rig::node_2, |it| it.reported_database = DatabaseState::Gone),
        (starter, |it| it.database.on_look_taken()),
        (ended_rig, |it| it.proof.request_probe(1)),
    ];

    #[test]
    fn each_invariant_breaks() {
        assert_each_breaks(INVARIANTS, SPOILT, |rig| rig.machine);
    }

    #[test]
    #[should_panic(expected = "a message waits only for a successor")]
    fn an_input_that_leaves_one_broken_panics() {
        let mut rig = Rig::node_2();
        rig.machine.waiting.push_back(OwnedElection::Bully);
        rig.fire_timeout();
    }
}
