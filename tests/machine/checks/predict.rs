//! The table of `docs/reference/lab2/states.md`: the effect of a frame on the state machine.

use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::{Backing, Frame, Kind, Message, Token};
use ring_proto::Machine;
use ring_proto::lab2::{Constants, DropReason, Event, Lab2, Reason, State};
use ring_proto::time::Instant;

use super::oracle::{Oracle, Output};

/// The state machine before a frame.
#[expect(
    clippy::struct_excessive_bools,
    reason = "the flags are independent of each other"
)]
pub(super) struct Before {
    me: MacAddr,
    state: State,
    held: Option<Token>,
    known: Option<Token>,
    offered: Option<Token>,
    members: usize,
    due: Option<Instant>,
    listening: bool,
    shutting_down: bool,
    paused: bool,
    exhausted: bool,
    has_profiles: bool,
}

impl Before {
    pub(super) fn of(machine: &Lab2, oracle: &Oracle, me: MacAddr) -> Self {
        Self {
            me,
            state: machine.state(),
            held: oracle.held,
            known: oracle.known,
            offered: oracle.offered.map(|(token, _)| token),
            members: machine.members().len(),
            due: machine.poll_timeout(),
            listening: oracle.link_up && !machine.is_finished(),
            shutting_down: oracle.shutting_down,
            paused: machine.is_paused() || machine.is_unfit() || machine.is_apart(),
            exhausted: oracle.is_exhausted(),
            has_profiles: oracle.has_profiles,
        }
    }

    /// Whether the state machine must act on a frame (`docs/reference/lab2/states.md R4`).
    pub(super) fn counts(&self, frame: &Frame<'_>, age: Duration, constants: &Constants) -> bool {
        let broadcast = frame.destination == MacAddr::BROADCAST;
        let offer = frame.message.kind() == Kind::TakeToken;
        self.listening
            && frame.author != self.me
            && (broadcast || frame.destination == self.me)
            && !(offer && (broadcast || age > constants.take_timeout))
    }

    /// Checks that a frame that does not count changes no state, except that an expired lease may end.
    pub(super) fn assert_untouched(&self, machine: &Lab2, output: &Output) {
        if output.has_lost_lease() {
            return;
        }
        assert!(
            output.frames.is_empty(),
            "the node answers a frame that does not count"
        );
        assert_eq!(machine.state(), self.state);
        assert_eq!(machine.members().len(), self.members);
        assert_eq!(machine.poll_timeout(), self.due);
    }

    /// Whether a frame is dropped because of its author's profile. Members ignore an author that hears no other member.
    /// Members refuse an offer after its giver has given up the offer.
    fn is_dropped(&self, output: &Output) -> bool {
        let is_reason =
            |reason: &DropReason| matches!(reason, DropReason::AuthorDeaf | DropReason::StaleOffer);
        let is_so =
            |event: &Event| matches!(event, Event::Dropped { reason, .. } if is_reason(reason));
        self.has_profiles && output.events.iter().any(is_so)
    }

    /// Checks the effect of a frame that counts, if this effect depends only on the state and the tokens.
    pub(super) fn assert_predicted(&self, frame: &Frame<'_>, machine: &Lab2, output: &Output) {
        let unlike = self.shutting_down || self.exhausted || self.is_dropped(output);
        if unlike
            || output.has_lost_lease()
            || output.has_refused_frame()
            || output.has_found_itself_apart()
        {
            return;
        }
        let state = machine.state();
        match (self.state, &frame.message) {
            (State::Looser | State::Generating, Message::TokenIsHere { .. })
            | (State::Waiter, Message::TokenIsHere { .. } | Message::TokenWasHereRecently { .. }) =>
            {
                assert_eq!(state, State::Waiter);
            }
            (State::Owner, Message::TakeToken { .. }) => {}
            (_, Message::TakeToken { token, .. }) => {
                let stronger = self
                    .known
                    .is_none_or(|known| token.is_stronger_than(&known));
                if stronger && self.paused {
                    assert_eq!(state, self.state);
                    return output.assert_answers(Kind::Ping, frame.author);
                }
                assert_eq!(
                    output.has_taken_token(),
                    stronger,
                    "after {token:?} the node knows {:?}",
                    self.known
                );
                assert_eq!(state == State::Owner, stronger);
                if self.state == State::Waiter && !stronger {
                    output.assert_answers(Kind::TokenWasHereRecently, frame.author);
                }
            }
            (State::Owner, Message::TokenIsHere { token, .. }) => {
                let held = self.held.expect("an OWNER holds a token");
                let beaten =
                    token.is_stronger_than(&held) || *token == held && frame.author < self.me;
                let complete = self
                    .offered
                    .is_some_and(|offer| !offer.is_stronger_than(token));
                let gives_way = output.has_changed_for(Reason::BetterBackedOwner);
                let backing = frame.profile.and_then(|said| said.backing());
                assert!(!gives_way || backing >= Some(Backing::Confirmed));
                let outbids = beaten && !complete && state == State::Owner;
                let to_all = frame.destination == MacAddr::BROADCAST;
                assert!(!outbids || !to_all || output.has_changed_for(Reason::StrongerToken));
                let loses = beaten && !outbids || complete || gives_way;
                assert_eq!(state == State::Waiter, loses);
            }
            (State::Owner, Message::WhereIsToken) => {
                output.assert_answers(Kind::TokenIsHere, frame.author);
            }
            (State::Generating, Message::GeneratingToken { .. }) => {
                assert!(matches!(state, State::Generating | State::Looser));
            }
            (State::Generating, Message::TokenWasHereRecently { .. })
                if frame.destination != MacAddr::BROADCAST =>
            {
                assert_eq!(state, State::Looser);
            }
            _ => {}
        }
    }
}

impl Output {
    fn has_taken_token(&self) -> bool {
        self.has_changed_for(Reason::TokenTaken)
    }

    /// Whether the state has changed for the reason `why`.
    fn has_changed_for(&self, why: Reason) -> bool {
        self.events
            .iter()
            .any(|event| matches!(event, Event::StateChanged { reason, .. } if *reason == why))
    }

    fn has_found_itself_apart(&self) -> bool {
        self.events.iter().any(
            |event| matches!(event, Event::StateChanged { reason, .. } if *reason == Reason::Apart),
        )
    }

    fn has_refused_frame(&self) -> bool {
        let refused = |event: &Event| matches!(event, Event::TransmitFailed { .. });
        self.events.iter().any(refused)
    }

    fn assert_answers(&self, kind: Kind, to: MacAddr) {
        let answers = self.frames.iter().any(|bytes| {
            let frame = Frame::decode(bytes).expect("the oracle has decoded every sent frame");
            frame.message.kind() == kind && frame.destination == to
        });
        assert!(answers, "the node does not answer {to} with {kind}");
    }
}

/// Checks that the state diagram contains this transition with this reason.
pub(super) fn assert_transition(from: State, to: State, reason: Reason) {
    use State::{Generating, Looser, Owner, Waiter};
    let drawn = match (from, to) {
        (Looser | Generating, Waiter) => reason == Reason::TokenHeard,
        (Looser, Generating) => matches!(reason, Reason::NoAnswer | Reason::WeakerCandidate),
        (Looser | Waiter, Owner) => reason == Reason::TokenTaken,
        (Generating, Owner) => matches!(reason, Reason::TokenTaken | Reason::Elected),
        (Waiter, Looser) => matches!(reason, Reason::WaiterTimeout | Reason::LinkLost),
        (Owner, Waiter) => matches!(
            reason,
            Reason::TokenHandedOver | Reason::StrongerToken | Reason::BetterBackedOwner
        ),
        (Owner, Owner) => reason == Reason::StrongerToken,
        (Owner, Looser) => matches!(
            reason,
            Reason::LeaseExpired | Reason::LinkLost | Reason::NoTaker | Reason::Apart
        ),
        (Generating, Looser) => matches!(
            reason,
            Reason::StrongerCandidate
                | Reason::TokenWasHere
                | Reason::Paused
                | Reason::LinkLost
                | Reason::Apart
        ),
        _ => false,
    };
    assert!(
        drawn,
        "the state diagram has no {} -> {} because of {reason:?}",
        from.name(),
        to.name()
    );
}
