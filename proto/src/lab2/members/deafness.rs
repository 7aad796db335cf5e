//! Whether this node hears other members, and which frames of deaf members are ignored (`docs/protocol.md`, "Deaf
//! members").

use ring_codec::MacAddr;
use ring_codec::lab2::Message;

use super::Members;
use crate::lab2::machine::Context;
use crate::time::Instant;

/// Times of the frames that reach this node.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Hearing {
    pub(super) last: Option<Instant>,
    /// When this node was last deaf, or its link came up.
    pub(super) since: Option<Instant>,
    /// Whether no frame had come for too long when all waiting frames were read.
    pub(super) deaf: bool,
}

impl Members {
    /// Whether this node announces to be deaf: it has heard no frame for a certain time.
    pub(crate) fn is_deaf(&self, context: &Context) -> bool {
        // Without a link there is nothing to announce.
        context.is_up() && self.hearing.deaf
    }

    fn has_heard_nothing(&self, context: &Context) -> bool {
        let quiet = self.hearing.last.map(|at| context.now().since(at));
        quiet.is_some_and(|quiet| quiet >= context.deaf_after())
    }

    /// Decides whether this node is deaf. Called where no frame waits: a process that was stopped has not read the
    /// frames that came meanwhile.
    pub(crate) fn update_deafness(&mut self, context: &Context) {
        self.hearing.deaf = self.has_heard_nothing(context);
    }

    /// Starts over, because the link came up.
    pub(crate) fn on_link_up(&mut self, since: Option<Instant>) {
        self.hearing = Hearing {
            last: since,
            since,
            deaf: false,
        };
    }

    /// Whether this node has heard frames for long enough to know which members are silent.
    pub(super) fn knows_silent_members(&self, context: &Context) -> bool {
        let since = self.hearing.since.filter(|_| !self.is_deaf(context));
        since.is_some_and(|since| context.now().since(since) >= self.silent_after(context))
    }

    /// Notes a received frame. Returns whether this node was deaf until then.
    pub(crate) fn note_heard(&mut self, context: &Context, at: Instant) -> bool {
        let has_heard_nothing = self.has_heard_nothing(context);
        self.hearing.last = self.hearing.last.max(Some(at));
        self.hearing.deaf = false;
        if has_heard_nothing {
            self.hearing.since = self.hearing.last;
            // Members that still believe this node to be deaf take no offer from it, so it must announce itself.
            self.silence.forget_broadcast();
        }
        has_heard_nothing
    }

    /// Notes whether a member announces to be deaf. Returns whether it is a member.
    pub(crate) fn set_deaf(&mut self, mac: MacAddr, deaf: bool) -> bool {
        let peer = self.table.peer_mut(mac);
        peer.is_some_and(|peer| {
            peer.deaf = deaf;
            true
        })
    }

    /// Whether a frame is ignored because its author is deaf.
    pub(crate) fn is_ignored(&self, from: MacAddr, message: &Message<'_>, says_deaf: bool) -> bool {
        // Its author knows nothing of other owners and candidates, and hears no answer to its offers.
        match message {
            Message::TakeToken { .. } => self.peer(from).is_some_and(|peer| peer.deaf),
            Message::TokenIsHere { .. }
            | Message::GeneratingToken { .. }
            | Message::WhereIsToken
            | Message::WantToken => says_deaf,
            _ => false,
        }
    }
}
