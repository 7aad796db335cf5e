//! Reports about members that do not hear this node, although this node hears them. A member that does not hear this
//! node names this node as silent in its cards.

use ring_codec::MacAddr;

use super::{Diagnostics, report_change};
use crate::lab2::machine::{Context, Output};
use crate::lab2::members::Members;
use crate::lab2::{Diagnostic, SilentMembers};
use crate::time::Instant;

/// A member must report for this number of WAITER_TIMEOUTs that it does not hear this node. In a shorter time, this
/// node's frames may still be on their way.
const ONE_WAY_TIMEOUTS: u32 = 4;
/// A report that its member does not repeat ends after some time. This time is the time after which a silent member
/// counts as silent, multiplied by this factor.
const REPEAT_FACTOR: u32 = 4;

/// Members that report that they do not hear this node.
#[derive(Debug, Clone, Default, serde::Serialize, serde::Deserialize)]
pub(super) struct OneWayReports {
    members: Vec<OneWayMember>,
    reported: Option<Diagnostic>,
}

#[derive(Debug, Clone, Copy, serde::Serialize, serde::Deserialize)]
struct OneWayMember {
    mac: MacAddr,
    since: Instant,
    last: Instant,
}

impl OneWayReports {
    pub(super) const fn last_report(&self) -> Option<Diagnostic> {
        self.reported
    }
}

impl Diagnostics {
    /// Notes a card of the member `mac`. The card names the silent member `unheard`.
    pub(super) fn note_one_way(
        &mut self,
        context: &Context,
        members: &Members,
        mac: MacAddr,
        unheard: Option<MacAddr>,
    ) {
        let by = &mut self.one_way.members;
        let place = by.iter().position(|member| member.mac == mac);
        // A card without a name shows that its author hears all members, this node included.
        let Some(named) = unheard else {
            if let Some(at) = place {
                by.swap_remove(at);
            }
            return;
        };
        // A card names one silent member at a time, so a different name does not end the report.
        if !context.is_own(named) || !members.has(mac) {
            return;
        }
        let now = context.now();
        let fresh = OneWayMember {
            mac,
            since: now,
            last: now,
        };
        match place {
            // After a longer pause, the report begins again, because the member may have heard this node during the
            // pause.
            Some(at) if now.since(by[at].last) < members.silent_after(context) => by[at].last = now,
            Some(at) => by[at] = fresh,
            None => by.push(fresh),
        }
    }

    /// Reports the members that do not hear this node. When no such member is left, reports the end of the problem.
    pub(super) fn review_one_way(
        &mut self,
        context: &Context,
        members: &Members,
        out: &mut Output,
    ) {
        let (now, kept) = (context.now(), members.silent_after(context) * REPEAT_FACTOR);
        let lasts = context.waiter_timeout() * ONE_WAY_TIMEOUTS;
        let by = &mut self.one_way.members;
        by.retain(|member| now.since(member.last) < kept && members.has(member.mac));
        // The report names only the first members, so it must not depend on the order in which cards arrive.
        by.sort_unstable_by_key(|member| member.mac);
        let lasting = by
            .iter()
            // A single card proves nothing: the last and the first card must be far enough apart.
            .filter(|member| member.last.since(member.since) >= lasts);
        let members: SilentMembers = lasting.map(|member| member.mac).collect();
        let trouble = (members.count() > 0).then_some(Diagnostic::NotHeardBy { by: members });
        let before = std::mem::replace(&mut self.one_way.reported, trouble);
        report_change(out, before, trouble);
    }
}
