//! The only place where broken promises are excused, as far as the document allows.

use super::outcome::Excuse;

/// The facts that void promises.
#[expect(
    clippy::struct_excessive_bools,
    reason = "the flags are independent of each other"
)]
#[derive(Debug, Default)]
pub(super) struct Exemptions {
    /// Whether the network has lost, split or delayed something, or a stranger has given a token, since it was last in
    /// order. Then the fourth promise does not hold.
    pub(super) is_disturbed: bool,
    /// Whether a node found its list full.
    pub(super) is_full: bool,
    /// Whether a stranger has invented an id that leaves too few larger ids for the restores of a run.
    pub(super) is_wrapped: bool,
    /// Whether a stranger has announced a longer lease than the nodes have, for which a new node waits.
    pub(super) has_long_lease: bool,
    /// Whether a node has forgotten another one that it never heard, and that may be in the lists of others.
    pub(super) has_forgotten: bool,
    /// The reason for which two nodes use tokens of one id. Each such token goes round with a list in its own order.
    pub(super) doubled: Option<Excuse>,
}

/// The largest id with enough larger ids.
const ROOMY_ID_MAX: u32 = i32::MAX as u32 - (1 << 28);

impl Exemptions {
    /// Records an id that a stranger has invented.
    pub(super) const fn note_forged(&mut self, id: u32) {
        self.is_wrapped |= id > ROOMY_ID_MAX;
    }
}
