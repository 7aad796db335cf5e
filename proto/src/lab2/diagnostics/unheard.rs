//! Members that do not hear this node, although it hears them. Only they can tell it.

use ring_codec::MacAddr;

use super::{Diagnostics, tell_change};
use crate::lab2::machine::{Context, Output};
use crate::lab2::members::Members;
use crate::lab2::{SilentMembers, Trouble};
use crate::time::Instant;

/// For so many WAITER_TIMEOUTs a member says that it does not hear this node before that is told: frames of before it was
/// heard may be on their way.
const LASTS: u32 = 4;
/// A member that has not repeated it for so many times the time after which members count as silent has taken it back.
const REPEATED: u32 = 4;

/// The members that say that they do not hear this node.
#[derive(Debug, Clone, Default)]
pub(super) struct Unheard {
    by: Vec<Said>,
    told: Option<Trouble>,
}

#[derive(Debug, Clone, Copy)]
struct Said {
    mac: MacAddr,
    since: Instant,
    last: Instant,
}

impl Unheard {
    /// Returns what people were told of.
    pub(super) const fn told(&self) -> Option<Trouble> {
        self.told
    }
}

impl Diagnostics {
    /// A member says which member it does not hear.
    pub(super) fn note_unheard_by(
        &mut self,
        context: &Context,
        members: &Members,
        mac: MacAddr,
        unheard: Option<MacAddr>,
    ) {
        let by = &mut self.unheard.by;
        let place = by.iter().position(|said| said.mac == mac);
        let Some(named) = unheard else {
            if let Some(at) = place {
                by.swap_remove(at);
            }
            return;
        };
        if !context.is_own(named) || !members.has(mac) {
            return;
        }
        let now = context.now();
        let fresh = Said {
            mac,
            since: now,
            last: now,
        };
        match place {
            Some(at) if now.since(by[at].last) < members.silence(context) => by[at].last = now,
            Some(at) => by[at] = fresh,
            None => by.push(fresh),
        }
    }

    /// Looks whether people are to be told.
    pub(super) fn review_unheard(
        &mut self,
        context: &Context,
        members: &Members,
        out: &mut Output,
    ) {
        let (now, kept) = (context.now(), members.silence(context) * REPEATED);
        let lasts = context.waiter_timeout() * LASTS;
        let by = &mut self.unheard.by;
        by.retain(|said| now.since(said.last) < kept && members.has(said.mac));
        by.sort_unstable_by_key(|said| said.mac);
        let lasting = by
            .iter()
            .filter(|said| said.last.since(said.since) >= lasts);
        let members: SilentMembers = lasting.map(|said| said.mac).collect();
        let trouble = (members.count() > 0).then_some(Trouble::Unheard { by: members });
        let before = std::mem::replace(&mut self.unheard.told, trouble);
        tell_change(out, before, trouble);
    }
}
