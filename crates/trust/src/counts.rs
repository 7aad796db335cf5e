//! Counts of received messages that were not proven.

/// The reason why a received message is not proven.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DropReason {
    /// The message has no trailer.
    Unsigned,
    /// This node has no key with the id that the trailer contains.
    UnknownKey,
    /// The MAC is wrong.
    WrongMac,
    /// A message with this counter was already delivered, or the counter is too old.
    Replayed,
    /// The message is too old, the sender was silent for too long, or an answer has no open challenge.
    Stale,
    /// The sender has not answered a challenge since its start.
    Unproven,
    /// The message was signed by this process, and was sent back to it.
    Reflected,
    /// The trailer breaks the rules of its format.
    Malformed,
}

impl DropReason {
    /// All reasons, in the order of the checks.
    pub const ALL: [Self; 8] = [
        Self::Unsigned,
        Self::UnknownKey,
        Self::WrongMac,
        Self::Replayed,
        Self::Stale,
        Self::Unproven,
        Self::Reflected,
        Self::Malformed,
    ];

    /// Returns the reason's name in the status and in metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Unsigned => "unsigned",
            Self::UnknownKey => "unknown_key",
            Self::WrongMac => "wrong_mac",
            Self::Replayed => "replayed",
            Self::Stale => "stale",
            Self::Unproven => "unproven",
            Self::Reflected => "reflected",
            Self::Malformed => "malformed",
        }
    }
}

/// Number of messages for each [`DropReason`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts([u64; DropReason::ALL.len()]);

impl Counts {
    /// Returns the number of messages with this reason. If unsigned messages are accepted, the number includes messages
    /// that were delivered.
    pub fn get(&self, reason: DropReason) -> u64 {
        self.0[reason as usize]
    }

    /// Adds a number of messages.
    pub(crate) fn add(&mut self, reason: DropReason, number: u64) {
        self.0[reason as usize] += number;
    }
}
