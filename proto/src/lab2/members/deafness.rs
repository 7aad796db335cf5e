//! The rules that decide whether this node is deaf, and the frames of deaf members that it ignores
//! (`docs/reference/lab2/faults.md H1` to H9).

use ring_codec::MacAddr;
use ring_codec::lab2::Message;

use super::Members;
use crate::lab2::machine::Context;
use crate::time::Instant;

/// Times at which this node received frames.
#[derive(Debug, Clone, Copy, Default, serde::Serialize, serde::Deserialize)]
pub(super) struct Hearing {
    pub(super) last: Option<Instant>,
    /// The later of two times: the last time at which this node was deaf, and the time at which its link came up.
    pub(super) since: Option<Instant>,
    /// Whether this node had received no frame for too long when it last checked. The node checks only after it has
    /// read all waiting frames.
    pub(super) deaf: bool,
}

impl Members {
    /// Whether this node announces that it is deaf, because no frame arrived during
    /// [`deaf_after`](Context::deaf_after).
    pub(crate) fn is_deaf(&self, context: &Context) -> bool {
        // While the link is down, this node cannot send the announcement.
        context.is_up() && self.hearing.deaf
    }

    fn has_heard_nothing(&self, context: &Context) -> bool {
        let quiet = self.hearing.last.map(|at| context.now().since(at));
        // Before the link was first up, there is no start of the silence, so the node is not deaf.
        quiet.is_some_and(|quiet| quiet >= context.deaf_after())
    }

    /// Decides whether this node is deaf. The caller must first read all waiting frames. After a stall, the process has
    /// not yet read the frames that arrived during the stall.
    pub(crate) fn update_deafness(&mut self, context: &Context) {
        self.hearing.deaf = self.has_heard_nothing(context);
    }

    /// Discards the times of earlier frames, because the link came up.
    pub(crate) fn on_link_up(&mut self, since: Option<Instant>) {
        self.hearing = Hearing {
            // The silence counts from the moment when the link came up, or the node would be deaf at once.
            last: since,
            since,
            deaf: false,
        };
    }

    /// Whether this node has heard frames for long enough that it can tell which members are silent.
    pub(super) fn knows_silent_members(&self, context: &Context) -> bool {
        let since = self.hearing.since.filter(|_| !self.is_deaf(context));
        since.is_some_and(|since| context.now().since(since) >= self.silent_after(context))
    }

    /// Notes a received frame. Returns whether this node was deaf before it received this frame.
    pub(crate) fn note_heard(&mut self, context: &Context, at: Instant) -> bool {
        let has_heard_nothing = self.has_heard_nothing(context);
        // This node may read an older frame after a newer frame.
        self.hearing.last = self.hearing.last.max(Some(at));
        self.hearing.deaf = false;
        if has_heard_nothing {
            self.hearing.since = self.hearing.last;
            // Members that still consider this node deaf accept no offer from it. So its next answer to a heartbeat
            // must be a broadcast, which all of them hear.
            self.silence.forget_broadcast();
        }
        has_heard_nothing
    }

    /// Notes whether a member announces that it is deaf. Returns whether the address is a member's.
    pub(crate) fn set_deaf(&mut self, mac: MacAddr, deaf: bool) -> bool {
        let peer = self.table.peer_mut(mac);
        peer.is_some_and(|peer| {
            peer.deaf = deaf;
            true
        })
    }

    /// Whether this node ignores a frame because the author of the frame is deaf.
    pub(crate) fn is_ignored(&self, from: MacAddr, message: &Message<'_>, says_deaf: bool) -> bool {
        // The author does not know of other owners and candidates, and hears no answer to its offers.
        match message {
            // TAKE_TOKEN has no profile, so only an earlier frame of its author can have announced deafness.
            Message::TakeToken { .. } => self.peer(from).is_some_and(|peer| peer.deaf),
            Message::TokenIsHere { .. }
            | Message::GeneratingToken { .. }
            | Message::WhereIsToken
            | Message::WantToken => says_deaf,
            _ => false,
        }
    }
}
