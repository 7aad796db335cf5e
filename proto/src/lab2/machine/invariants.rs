//! Invariants of the state machine. Builds with debug assertions check them after each input. So the simulator, the
//! fuzzer and the model checker stop at the first input that breaks an invariant.

use super::{Lab2, Timer};
use crate::invariants::{Invariant, check};
use crate::lab2::tenure::{Offer, Tenure};
use crate::lab2::{Grade, State};

impl Lab2 {
    /// # Panics
    /// Panics if an invariant does not hold.
    pub(super) fn check_invariants(&self) {
        check(self, INVARIANTS);
    }

    fn is(&self, state: State) -> bool {
        self.state() == state
    }

    /// Whether this node is active: the link is up, and the node has not left.
    fn is_active(&self) -> bool {
        self.context.is_up() && !self.has_left()
    }

    fn offer_satisfies(&self, holds: impl Fn(Offer) -> bool) -> bool {
        self.role.offer().is_none_or(holds)
    }
}

const INVARIANTS: &[Invariant<Lab2>] = &[
    ("only a LOOSER has no link", |it| {
        it.context.is_up() || it.is(State::Looser)
    }),
    ("an OWNER knows no weaker token than its own", |it| {
        let held = it.role.tenure().map(Tenure::token);
        held.is_none_or(|held| !it.known.is_outdone_by(&held))
    }),
    ("an OWNER is the owner that it knows", |it| {
        !it.is(State::Owner) || it.owner() == it.context.mac()
    }),
    ("a LOOSER or candidate knows no owner", |it| {
        !matches!(it.state(), State::Looser | State::Generating) || it.owner().is_none()
    }),
    ("an offer is the held token with more progress", |it| {
        let held = it.token();
        it.offer_satisfies(|offer| {
            let (token, held) = (offer.token(), held.unwrap_or(offer.token()));
            token.same_chain(&held) && token.is_stronger_than(&held)
        })
    }),
    ("an offered token is known", |it| {
        it.offer_satisfies(|offer| !it.known.is_outdone_by(&offer.token()))
    }),
    ("a node does not offer the token to itself", |it| {
        it.offer_satisfies(|offer| !it.is_own(offer.to()))
    }),
    ("only an OWNER has a lease", |it| {
        !it.is_active() || it.out.is_set(Timer::Lease) == it.is(State::Owner)
    }),
    ("only an OWNER has a heartbeat to send", |it| {
        !it.is_active() || it.out.is_set(Timer::Heartbeat) == it.is(State::Owner)
    }),
    ("only a WAITER has a WAITER_TIMEOUT", |it| {
        !it.is_active() || it.out.is_set(Timer::Waiter) == it.is(State::Waiter)
    }),
    ("a LOOSER asks again", |it| {
        !it.is_active() || !it.is(State::Looser) || it.out.is_set(Timer::Ask)
    }),
    ("a candidate waits for objections", |it| {
        !it.is_active() || !it.is(State::Generating) || it.out.is_set(Timer::Answer)
    }),
    (
        "a node that must own nothing does not stand for election",
        |it| it.fitness.may_own() || it.is_shutting_down() || !it.is(State::Generating),
    ),
    ("an OWNER can store, is fit and is not apart", |it| {
        let owns_none = it.is_unfit() || it.is_apart() || !it.is_stored();
        !owns_none || it.is_shutting_down() || !it.is(State::Owner)
    }),
    ("a node that cannot store tries again", |it| {
        !it.is_active() || it.is_stored() || it.out.is_set(Timer::Store)
    }),
    ("a node that is not fit tries again", |it| {
        !it.is_active() || !it.is_unfit() || it.out.is_set(Timer::Probe)
    }),
    ("a grade has an end", |it| {
        it.grade() == Grade::Alone || it.out.is_set(Timer::Grade)
    }),
    ("a survey goes on", |it| {
        !it.is_active() || !it.is_surveying() || it.out.is_set(Timer::Survey)
    }),
    ("a finished node has no timer", |it| {
        !it.is_finished() || it.out.next().is_none()
    }),
    ("a node with an address is a member", |it| {
        it.context.mac().is_none_or(|mac| it.members.has(mac))
    }),
    ("the table is in order, and its counts are right", |it| {
        it.members.is_sound()
    }),
];

#[cfg(test)]
mod tests {
    use crate::invariants::{BrokenCase, assert_each_breaks};
    use ring_codec::MacAddr;
    use ring_codec::lab2::Token;
    use std::time::Duration;

    use super::*;
    use crate::lab2::election::BestToken;
    use crate::lab2::machine::link::Link;
    use crate::lab2::members::Members;
    use crate::lab2::tenure::Role;
    use crate::lab2::tests::rig::{BLANK, ME, Rig, constants, mac, token, token_of};
    use crate::lab2::{Command, Constants, Grade, HostReport, NodeHealth, SurveyRequest};

    fn offer(it: &mut Lab2, to: MacAddr, token: Token) {
        let mut tenure = Tenure::from_minted(it.token().unwrap());
        tenure.on_offer_sent(&it.context, (to, token), true);
        it.role = Role::Owner(tenure);
    }

    /// Returns an OWNER that is the only member of its ring. The grade of its tenure is quorum.
    fn alone() -> Rig {
        let constants = Constants {
            expect: Some(1),
            ..constants()
        };
        let (mut rig, _) = Rig::start(constants.clone(), BLANK);
        rig.pass_time(constants.waiter_timeout() * 4);
        assert_eq!(rig.machine.grade(), Grade::Quorum);
        rig
    }

    fn finished_rig() -> Rig {
        let mut rig = Rig::looser();
        rig.command(Command::ShutDown);
        rig
    }

    fn surveying_rig() -> Rig {
        let mut rig = Rig::waiter();
        rig.command(Command::Survey(Box::new(SurveyRequest {
            measurement: None,
            own: HostReport {
                up: Duration::ZERO,
                lateness: Duration::ZERO,
                health: NodeHealth::Healthy,
                required_grade: Grade::Alone,
                troubles: Vec::new(),
            },
        })));
        rig
    }

    /// One case for each invariant, in the order of the invariants. A case contains a function that creates a state
    /// machine, and a change that breaks the invariant.
    const SPOILT: &[BrokenCase<Rig, Lab2>] = &[
        (Rig::waiter, |it| it.context.link = Link::NeverUp),
        (Rig::owner, |it| it.known = BestToken::new(&BLANK)),
        (Rig::owner, |it| _ = it.known.set_owner(None)),
        (Rig::looser, |it| _ = it.known.set_owner(Some(mac(3)))),
        (Rig::giver, |it| offer(it, mac(7), token_of(12, 7, 1))),
        (Rig::owner, |it| offer(it, mac(7), token(50))),
        (Rig::giver, |it| offer(it, mac(ME), token(12))),
        (Rig::owner, |it| it.out.stop(Timer::Lease)),
        (Rig::owner, |it| it.out.stop(Timer::Heartbeat)),
        (Rig::waiter, |it| it.out.stop(Timer::Waiter)),
        (Rig::looser, |it| it.out.stop(Timer::Ask)),
        (Rig::candidate, |it| it.out.stop(Timer::Answer)),
        (Rig::candidate, |it| it.fitness.set_paused(true)),
        (Rig::owner, |it| _ = it.fitness.set_apart(true)),
        (Rig::waiter, |it| _ = it.fitness.set_unstored(true)),
        (Rig::waiter, |it| it.fitness.mark_unfit()),
        (alone, |it| it.out.stop(Timer::Grade)),
        (surveying_rig, |it| it.out.stop(Timer::Survey)),
        (finished_rig, |it| {
            it.out.set(Timer::Handover, it.context.now());
        }),
        (Rig::waiter, |it| it.members = Members::new(9)),
        (Rig::waiter, |it| it.members.spoil()),
    ];

    #[test]
    fn each_invariant_breaks() {
        assert_each_breaks(INVARIANTS, SPOILT, |rig| rig.machine);
    }

    #[test]
    #[should_panic(expected = "a LOOSER asks again")]
    fn an_input_that_breaks_an_invariant_panics() {
        let mut rig = Rig::looser();
        rig.machine.out.stop(Timer::Ask);
        rig.command(Command::WorkDone);
    }
}
