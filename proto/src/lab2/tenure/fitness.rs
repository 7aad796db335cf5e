//! Why a node takes part but owns nothing.

use std::hash::Hash;

use ring_codec::MacAddr;

use crate::lab2::machine::Writer;

/// All reasons for which a node owns nothing.
#[expect(
    clippy::struct_excessive_bools,
    reason = "reasons that know nothing of each other"
)]
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Fitness {
    /// The operator wants it (`docs/protocol.md`, "Pausing").
    paused: bool,
    /// What must survive a restart cannot be stored.
    unstored: bool,
    /// Its times are too far from the ring's ("Members that are apart").
    apart: bool,
    /// Nobody takes the token from it ("Letting go"), and what was done to see whether frames to it arrive.
    unfit: Option<Probe>,
    /// Whether the others were told that it is unstored or apart.
    told: bool,
}

/// What was done to see whether frames to one station arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Probe {
    /// Nothing that is still of use.
    Idle,
    /// This member was asked alone.
    Asked(MacAddr),
    /// It has answered.
    Answered,
}

impl Fitness {
    /// Whether the node may own the token.
    pub(crate) const fn may_own(&self) -> bool {
        !(self.paused || self.unstored || self.apart || self.unfit.is_some())
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
        self.unfit.is_some()
    }

    pub(crate) fn set_paused(&mut self, paused: bool) {
        self.paused = paused;
    }

    /// Sets whether what must survive a restart can be stored. Returns whether that has changed.
    pub(crate) fn set_unstored(&mut self, unstored: bool) -> bool {
        std::mem::replace(&mut self.unstored, unstored) != unstored
    }

    /// Sets whether the node is apart. Returns whether it was.
    pub(crate) fn set_apart(&mut self, apart: bool) -> bool {
        std::mem::replace(&mut self.apart, apart)
    }

    /// Whether the others are to be told that the node is unstored or apart, or no longer is. They count as told.
    pub(crate) fn take_news(&mut self) -> bool {
        let withheld = self.unstored || self.apart;
        std::mem::replace(&mut self.told, withheld) != withheld
    }

    /// Nobody takes the token from this node.
    pub(crate) fn let_go(&mut self) {
        self.unfit = Some(Probe::Idle);
    }

    /// The node may own again, as far as it depends on that. Returns whether it could not.
    pub(crate) fn recover(&mut self) -> bool {
        self.unfit.take().is_some()
    }

    /// This member is asked alone whether it hears this node.
    pub(crate) fn ask(&mut self, holder: MacAddr) {
        self.unfit = Some(Probe::Asked(holder));
    }

    /// A frame that is an answer has come from a member to this node. Returns whether that is the member that was asked:
    /// its later frames are no answers.
    pub(crate) fn hear_answer(&mut self, from: MacAddr) -> bool {
        let is_answer = self.unfit == Some(Probe::Asked(from));
        if is_answer {
            self.unfit = Some(Probe::Answered);
        }
        is_answer
    }

    /// Whether the member that was asked has answered.
    pub(crate) fn has_answer(&self) -> bool {
        self.unfit == Some(Probe::Answered)
    }

    /// What a member answers from now on shows only that frames to all leave.
    pub(crate) fn forget_question(&mut self) {
        if let Some(probe) = &mut self.unfit {
            *probe = Probe::Idle;
        }
    }

    pub(crate) fn snapshot(&self, writer: &mut Writer) {
        let Self {
            paused,
            unstored,
            apart,
            unfit,
            told,
        } = self;
        (paused, unstored, apart, unfit, told).hash(writer);
    }
}
