//! What the world must know of a machine to judge it.

use std::convert::Infallible;

use ring_codec::lab2::{Digest, Token};
use ring_proto::lab2::{
    Command, Constants, Durable, Event, Grade, JobName, Lab2, OnceStanding, RunView, State,
    StoredStamp, Trouble,
};
use ring_proto::time::Instant;
use ring_proto::{LinkState, Machine};

/// A Lab2 machine as the world sees it: the one that ships, or one that was spoilt on purpose to
/// prove that the world finds out.
pub trait Subject:
    Machine<
        Peer = (),
        Net = LinkState,
        Command = Command,
        Event = Event,
        Durable = Durable,
        Job = Infallible,
    > + Sized
{
    /// A machine whose link is down, with what an earlier run has stored.
    fn start(constants: Constants, durable: Durable) -> Self;
    /// The same machine with the stamps that an earlier run has stored.
    #[must_use]
    fn recall(self, _stamps: Vec<StoredStamp>) -> Self {
        self
    }
    /// How far the job has come that was asked for last, by its number.
    fn once(&self) -> Option<(u64, OnceStanding)> {
        None
    }
    /// The last run of a job that is known here.
    fn run_of(&self, _job: JobName) -> Option<RunView> {
        None
    }
    /// The state.
    fn state(&self) -> State;
    /// The token that it believes to hold; `None` unless it is OWNER.
    fn held(&self) -> Option<Token>;
    /// Whether it believes that it may use the token: it is OWNER and does not pass it on.
    fn may_use(&self) -> bool;
    /// Until when it tells an application at `now` that it may rely on the token; `None`: it may not.
    fn lease_until(&self, now: Instant) -> Option<Instant>;
    /// Until when it tells its application that it has a quorum; `None`: it has none.
    fn quorum_until(&self) -> Option<Instant>;
    /// Whether it owns nothing because nobody took the token from it.
    fn is_unfit(&self) -> bool;
    /// What it tells of that lasts, and is over as soon as nothing is wrong.
    fn lasting_troubles(&self) -> Vec<Trouble> {
        Vec::new()
    }
    /// Size and hash of its member table.
    fn digest(&self) -> Digest;
    /// How many members its table holds, if they are in order and each is there once.
    fn members_in_order(&self) -> Option<usize>;
    /// Whether it was shut down and has nothing left to say.
    fn is_finished(&self) -> bool;
}

impl Subject for Lab2 {
    fn start(constants: Constants, durable: Durable) -> Self {
        Self::new(constants, durable)
    }

    fn recall(self, stamps: Vec<StoredStamp>) -> Self {
        self.with_stamps(stamps)
    }

    fn once(&self) -> Option<(u64, OnceStanding)> {
        self.once()
    }

    fn run_of(&self, job: JobName) -> Option<RunView> {
        self.runs().find(|run| run.stamp.name == job)
    }

    fn state(&self) -> State {
        self.state()
    }

    fn held(&self) -> Option<Token> {
        self.token().filter(|_| self.state() == State::Owner)
    }

    fn may_use(&self) -> bool {
        self.may_use_token()
    }

    fn lease_until(&self, now: Instant) -> Option<Instant> {
        let settled = self.settled_at().is_some_and(|at| at <= now);
        let until = self.lease_until();
        until.filter(|_| settled && self.may_use_token())
    }

    fn quorum_until(&self) -> Option<Instant> {
        self.grade_until().filter(|_| self.grade() == Grade::Quorum)
    }

    fn is_unfit(&self) -> bool {
        self.is_unfit()
    }

    fn lasting_troubles(&self) -> Vec<Trouble> {
        let lasts = |it: &Trouble| matches!(it, Trouble::MemberDeaf { .. } | Trouble::CannotSend);
        self.troubles().filter(lasts).collect()
    }

    fn digest(&self) -> Digest {
        self.digest()
    }

    fn members_in_order(&self) -> Option<usize> {
        let members = self.members();
        let count = members.len();
        members
            .map(|member| member.mac)
            .is_sorted_by(|a, b| a < b)
            .then_some(count)
    }

    fn is_finished(&self) -> bool {
        self.is_finished()
    }
}
