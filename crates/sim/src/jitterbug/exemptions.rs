//! The only module that excuses broken promises, as far as the document allows.

use super::outcome::Excuse;

/// The facts because of which promises do not hold.
#[expect(
    clippy::struct_excessive_bools,
    reason = "the flags are independent of each other"
)]
#[derive(Debug, Default)]
pub(super) struct Exemptions {
    /// Whether any of these faults occurred since the network last worked: lost messages, delayed messages, a split, or
    /// a token from a stranger. After one of these faults, the fourth promise does not hold.
    pub(super) is_disturbed: bool,
    /// Whether a node found its list full.
    pub(super) is_full: bool,
    /// Whether a stranger invented an id so large that too few larger ids remain for the restores of a run.
    pub(super) is_wrapped: bool,
    /// Whether a stranger has announced a longer lease than the nodes have. A new node waits for the duration of such a
    /// lease.
    pub(super) has_long_lease: bool,
    /// Whether a node forgot a node that it never heard. The forgotten node may still be in the lists of other nodes.
    pub(super) has_forgotten: bool,
    /// The reason for which two nodes use tokens with the same id. Each of these tokens moves in the order of its own
    /// list.
    pub(super) doubled: Option<Excuse>,
}

/// The largest token id that leaves enough larger ids for the restores of a run.
const ROOMY_ID_MAX: u32 = i32::MAX as u32 - (1 << 28);

impl Exemptions {
    /// Records an id that a stranger invented.
    pub(super) const fn note_forged(&mut self, id: u32) {
        self.is_wrapped |= id > ROOMY_ID_MAX;
    }
}
