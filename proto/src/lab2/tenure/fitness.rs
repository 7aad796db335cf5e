//! The reasons why a node must not own the token.

use std::hash::Hash;

use ring_codec::MacAddr;

use crate::lab2::machine::Writer;

/// All reasons why this node may not own the token at present.
#[expect(
    clippy::struct_excessive_bools,
    reason = "the reasons are independent of each other"
)]
#[derive(Debug, Clone, Copy, Default, serde::Serialize, serde::Deserialize)]
pub(crate) struct Fitness {
    /// Whether an operator paused the node (`docs/reference/lab2/faults.md Z1`).
    paused: bool,
    /// Whether the state file cannot be written.
    unstored: bool,
    /// Whether the node's timeouts are too far from the ring's (`docs/reference/lab2/faults.md X3`).
    apart: bool,
    /// The check whether unicast frames arrive again. The check is `None` if the node is fit. A node becomes unfit
    /// because no member takes the token from it (`docs/reference/lab2/faults.md Y4`).
    probe: Option<Probe>,
    /// Whether this node last announced to the members that it must not own the token because it cannot write its state
    /// file or is apart.
    announced: bool,
}

/// The state of the check whether unicast frames arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
enum Probe {
    /// No question is open.
    Idle,
    /// The node asked this member by unicast, and waits for the answer.
    Asked(MacAddr),
    Answered,
}

impl Fitness {
    pub(crate) const fn may_own(&self) -> bool {
        // The reasons are independent. For example, a node that can store again may still be paused.
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

    /// Notes whether writing the state file fails. Returns whether the value changed.
    pub(crate) fn set_unstored(&mut self, unstored: bool) -> bool {
        std::mem::replace(&mut self.unstored, unstored) != unstored
    }

    /// Notes whether the node is apart. Returns whether the node was apart before.
    pub(crate) fn set_apart(&mut self, apart: bool) -> bool {
        std::mem::replace(&mut self.apart, apart)
    }

    /// Returns whether the node must announce a change to the members. Two conditions count: its state file cannot be
    /// written, or it is apart. A change is the beginning or the end of a condition. The announcement counts as sent
    /// from now on.
    pub(crate) fn take_change(&mut self) -> bool {
        // A pause and an unfit node are announced where they begin and end, so only these two reasons wait for the
        // timer.
        let withheld = self.unstored || self.apart;
        std::mem::replace(&mut self.announced, withheld) != withheld
    }

    /// Notes that no member takes the token from this node. So the node is unfit.
    pub(crate) fn mark_unfit(&mut self) {
        self.probe = Some(Probe::Idle);
    }

    /// Makes the node fit again. Returns whether the node was unfit before.
    pub(crate) fn recover(&mut self) -> bool {
        self.probe.take().is_some()
    }

    /// Notes that the node asks this member by unicast.
    pub(crate) fn note_question(&mut self, holder: MacAddr) {
        self.probe = Some(Probe::Asked(holder));
    }

    /// Notes a unicast answer to this node. Returns whether the answer comes from the member that the node asked. Only
    /// the first answer of this member counts.
    pub(crate) fn note_answer(&mut self, from: MacAddr) -> bool {
        // Only a unicast answer to a unicast question proves that unicast frames arrive in both directions.
        let is_answer = self.probe == Some(Probe::Asked(from));
        if is_answer {
            self.probe = Some(Probe::Answered);
        }
        is_answer
    }

    pub(crate) fn has_answer(&self) -> bool {
        self.probe == Some(Probe::Answered)
    }

    /// Cancels the question by unicast, because a question by broadcast follows. An answer to the broadcast would not
    /// show that unicast frames leave this node.
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
