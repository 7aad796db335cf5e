//! [`Inspect`] for [`Lab2`]. The simulator and the model checker use this trait to look at the state machine.

use ring_codec::MacAddr;
use ring_codec::lab2::card::Version;
use ring_codec::lab2::{Digest, Token};

use crate::lab2::{
    Constants, Diagnostic, Grade, Inspect, JobName, Lab2, LastFrames, LockView, OnceProgress,
    RunView, State, StoredStamp, StoredState,
};
use crate::time::Instant;

/// A version for simulated nodes. Simulated nodes with a version send cards, as daemons do. They have no host names,
/// because a snapshot does not contain the time of the last frame with a host name. With host names, equal states could
/// send different frames.
const VERSION: Version = Version {
    major: 1,
    minor: 0,
    patch: 0,
};

impl Inspect for Lab2 {
    fn start(constants: Constants, durable: StoredState) -> Self {
        Self::new(constants, durable).with_version(VERSION)
    }

    fn with_preference(self, preference: u8) -> Self {
        self.with_preference(preference)
    }

    fn with_stamps(self, stamps: Vec<StoredStamp>) -> Self {
        self.with_stamps(stamps)
    }

    fn once(&self) -> Option<(u64, OnceProgress)> {
        self.once_progress()
    }

    fn run_of(&self, job: JobName) -> Option<RunView> {
        self.runs().find(|run| run.stamp.name == job)
    }

    fn lock_lease_end(&self, session: u64) -> Option<Instant> {
        self.lock_lease_end(session)
    }

    fn lock_views(&self) -> Vec<LockView> {
        self.locks().collect()
    }

    fn quorum_locks_hash(&self) -> u64 {
        self.locks.quorum_hash()
    }

    fn last_frames(
        &self,
        reports_ends: bool,
        offer: &mut [u8],
        leaving: &mut [u8],
    ) -> Option<LastFrames> {
        self.last_frames(reports_ends, offer, leaving)
    }

    fn wants_report(&self) -> bool {
        self.wants_report()
    }

    fn survey_deadline(&self) -> Option<Instant> {
        self.survey.deadline()
    }

    fn state(&self) -> State {
        self.state()
    }

    fn held_token(&self) -> Option<Token> {
        self.token().filter(|_| self.state() == State::Owner)
    }

    fn may_use(&self) -> bool {
        self.may_use_token()
    }

    fn lease_until(&self, now: Instant) -> Option<Instant> {
        self.grantable_token(now).and(self.lease_until())
    }

    fn carries(&self, token: Token) -> bool {
        self.is_lock_good(token)
    }

    fn has_held(&self, token: Token) -> bool {
        self.has_held(token)
    }

    fn quorum_until(&self) -> Option<Instant> {
        self.grade_until().filter(|_| self.grade() == Grade::Quorum)
    }

    fn quorum_size(&self) -> usize {
        self.votes().quorum
    }

    fn is_unfit(&self) -> bool {
        self.is_unfit()
    }

    fn overdue_members(&self) -> Vec<MacAddr> {
        let members = self.members.in_order();
        let overdue = members.filter(|(_, peer)| peer.is_overdue());
        overdue.map(|(member, _)| member.mac).collect()
    }

    fn lasting_problems(&self) -> Vec<Diagnostic> {
        let is_lasting = |it: &Diagnostic| {
            use Diagnostic::{Apart, CannotSend, MemberDeaf};
            matches!(it, MemberDeaf { .. } | CannotSend | Apart { .. })
        };
        self.problems().filter(is_lasting).collect()
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
