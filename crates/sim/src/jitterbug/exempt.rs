//! What the page allows to break, and when: nothing else is excused.

use super::outcome::Excuse;

/// What voids promises.
#[expect(
    clippy::struct_excessive_bools,
    reason = "facts that know nothing of each other"
)]
#[derive(Debug, Default)]
pub struct Exempt {
    /// The network has lost, cut off or held up something, or a stranger has given a token, since it was last in order:
    /// the fourth promise does not hold.
    pub is_disturbed: bool,
    /// A node of the segment found a list full.
    pub is_full: bool,
    /// A stranger has made up an id above which there is no room for as many restores as a run has.
    pub is_wrapped: bool,
    /// A stranger has told of a lease that is longer than those of the nodes: a new node waits for it.
    pub has_long_lease: bool,
    /// A node has forgotten another one that it never heard, which may be in the lists of others.
    pub has_forgotten: bool,
    /// Two nodes have used tokens of one id, of which there may be two: each goes round with a list of its own order.
    pub doubled: Option<Excuse>,
}

/// Ids up to this one have room above them.
const ROOM: u32 = i32::MAX as u32 - (1 << 28);

impl Exempt {
    /// A stranger has made up an id.
    pub const fn note_forged(&mut self, id: u32) {
        self.is_wrapped |= id > ROOM;
    }
}
