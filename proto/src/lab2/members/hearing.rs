//! Whether this node hears anybody (`docs/protocol.md`, "Deaf members").

use ring_codec::MacAddr;
use ring_codec::lab2::Message;

use super::Members;
use crate::lab2::machine::Context;
use crate::time::Instant;

/// What is known of the frames that reach this node.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Hearing {
    /// When a frame last came, or the link came up.
    pub(super) last: Option<Instant>,
    /// Since when this node has not been deaf.
    pub(super) since: Option<Instant>,
    /// Nobody was heard for so long when all frames that had come were read.
    pub(super) deaf: bool,
}

impl Members {
    /// Whether nobody was heard for so long that this node says so in what it broadcasts.
    pub(crate) fn is_deaf(&self, context: &Context) -> bool {
        context.is_up() && self.hearing.deaf
    }

    fn was_quiet(&self, context: &Context) -> bool {
        let quiet = self.hearing.last.map(|at| context.now().since(at));
        quiet.is_some_and(|quiet| quiet >= context.deaf_after())
    }

    /// Finds out whether this node is deaf. It is judged where no frame waits: a process that was stopped has not heard
    /// what has come meanwhile.
    pub(crate) fn judge_hearing(&mut self, context: &Context) {
        self.hearing.deaf = self.was_quiet(context);
    }

    /// The link came up.
    pub(crate) fn begin_to_hear(&mut self, since: Option<Instant>) {
        self.hearing = Hearing {
            last: since,
            since,
            deaf: false,
        };
    }

    /// Whether this node has heard others for so long that it knows who is silent.
    pub(super) fn knows_who_is_silent(&self, context: &Context) -> bool {
        let since = self.hearing.since.filter(|_| !self.is_deaf(context));
        since.is_some_and(|since| context.now().since(since) >= self.silence(context))
    }

    /// Notes that a frame came, and returns whether this node was deaf until then.
    pub(crate) fn hear(&mut self, context: &Context, at: Instant) -> bool {
        let was_quiet = self.was_quiet(context);
        self.hearing.last = self.hearing.last.max(Some(at));
        self.hearing.deaf = false;
        if was_quiet {
            self.hearing.since = self.hearing.last;
            // The members that were told so have not heard of it yet: they take no offer of this node.
            self.silence.unsay();
        }
        was_quiet
    }

    /// Notes whether a member says that it hears nobody; returns whether there is such a member.
    pub(crate) fn set_deaf(&mut self, mac: MacAddr, deaf: bool) -> bool {
        let peer = self.table.peer_mut(mac);
        peer.is_some_and(|peer| {
            peer.deaf = deaf;
            true
        })
    }

    /// Whether a frame is not listened to: its author hears nobody, and knows nothing of who owns the
    /// token or stands for it. What it offers has nobody's answer.
    pub(crate) fn ignores(&self, from: MacAddr, message: &Message<'_>, says_deaf: bool) -> bool {
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
