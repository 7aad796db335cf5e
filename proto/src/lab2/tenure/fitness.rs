//! The reasons for which a node must not own the token.

use std::hash::Hash;

use ring_codec::MacAddr;

use crate::lab2::machine::Writer;

/// All reasons for which a node must not own the token.
#[expect(
    clippy::struct_excessive_bools,
    reason = "reasons that know nothing of each other"
)]
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Fitness {
    /// By the operator's command (`docs/protocol.md`, "Pausing").
    paused: bool,
    /// The state file cannot be written.
    unstored: bool,
    /// Its timeouts are too far from the ring's ("Members that are apart").
    apart: bool,
    /// No member takes the token from it ("Letting go"); with the state of the check whether unicast frames arrive.
    probe: Option<Probe>,
    /// Whether the members were last told that it is unstored or apart.
    announced: bool,
}

/// State of the check whether unicast frames arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Probe {
    /// No question is open.
    Idle,
    /// This member was asked by unicast.
    Asked(MacAddr),
    Answered,
}

impl Fitness {
    pub(crate) const fn may_own(&self) -> bool {
        // The reasons are independent: ending one must not end another.
        !(self.paused || self.unstored || self.apart || self.probe.is_some())
    }

    pub(crate) const fn is_paused(&self) -> bool {
        self.paused
    }

    pub(crate) const fn is_unstored(&self) -> bool {
        self.unstored
    }

    pub(crate) const fn is_apart(&self) -> bool {
        self.apart
    }

    pub(crate) const fn is_unfit(&self) -> bool {
        self.probe.is_some()
    }

    pub(crate) fn set_paused(&mut self, paused: bool) {
        self.paused = paused;
    }

    /// Sets whether the state file cannot be written. Returns whether this has changed.
    pub(crate) fn set_unstored(&mut self, unstored: bool) -> bool {
        std::mem::replace(&mut self.unstored, unstored) != unstored
    }

    /// Sets whether the node is apart. Returns whether it was before.
    pub(crate) fn set_apart(&mut self, apart: bool) -> bool {
        std::mem::replace(&mut self.apart, apart)
    }

    /// Returns whether the members must be told that the node is unstored or apart, or no longer is. They count as
    /// told.
    pub(crate) fn take_change(&mut self) -> bool {
        let withheld = self.unstored || self.apart;
        std::mem::replace(&mut self.announced, withheld) != withheld
    }

    /// Notes that no member takes the token from this node.
    pub(crate) fn mark_unfit(&mut self) {
        self.probe = Some(Probe::Idle);
    }

    /// Notes that unicast frames arrive again. Returns whether the node was unfit.
    pub(crate) fn recover(&mut self) -> bool {
        self.probe.take().is_some()
    }

    /// Notes that this member is asked by unicast.
    pub(crate) fn note_question(&mut self, holder: MacAddr) {
        self.probe = Some(Probe::Asked(holder));
    }

    /// Notes an answer to this node. Returns whether it comes from the member that was asked. Later frames of that
    /// member do not count.
    pub(crate) fn note_answer(&mut self, from: MacAddr) -> bool {
        // Only a unicast answer to a unicast question proves that both directions work.
        let is_answer = self.probe == Some(Probe::Asked(from));
        if is_answer {
            self.probe = Some(Probe::Answered);
        }
        is_answer
    }

    pub(crate) fn has_answer(&self) -> bool {
        self.probe == Some(Probe::Answered)
    }

    /// Cancels the open question. A broadcast question follows, and its answers only show that broadcasts leave.
    pub(crate) fn forget_question(&mut self) {
        if let Some(probe) = &mut self.probe {
            *probe = Probe::Idle;
        }
    }

    pub(crate) fn snapshot(&self, writer: &mut Writer) {
        let Self {
            paused,
            unstored,
            apart,
            probe,
            announced,
        } = self;
        (paused, unstored, apart, probe, announced).hash(writer);
    }
}
