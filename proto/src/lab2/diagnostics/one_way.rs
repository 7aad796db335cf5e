//! Reports of members that do not hear this node, although it hears them. Only their cards show it.

use ring_codec::MacAddr;

use super::{Diagnostics, report_change};
use crate::lab2::machine::{Context, Output};
use crate::lab2::members::Members;
use crate::lab2::{Diagnostic, SilentMembers};
use crate::time::Instant;

/// A member must report for this many WAITER_TIMEOUTs that it does not hear this node: frames may still be on their
/// way.
const ONE_WAY_TIMEOUTS: u32 = 4;
/// A member's report ends if it is not repeated for this many times the time after which members count as silent.
const REPEAT_FACTOR: u32 = 4;

/// Members that report that they do not hear this node.
#[derive(Debug, Clone, Default)]
pub(super) struct OneWayReports {
    members: Vec<OneWayMember>,
    reported: Option<Diagnostic>,
}

#[derive(Debug, Clone, Copy)]
struct OneWayMember {
    mac: MacAddr,
    since: Instant,
    last: Instant,
}

impl OneWayReports {
    pub(super) const fn reported(&self) -> Option<Diagnostic> {
        self.reported
    }
}

impl Diagnostics {
    /// Notes which silent member another member's card names.
    pub(super) fn note_one_way(
        &mut self,
        context: &Context,
        members: &Members,
        mac: MacAddr,
        unheard: Option<MacAddr>,
    ) {
        let by = &mut self.one_way.members;
        let place = by.iter().position(|member| member.mac == mac);
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
        let fresh = OneWayMember {
            mac,
            since: now,
            last: now,
        };
        match place {
            Some(at) if now.since(by[at].last) < members.silent_after(context) => by[at].last = now,
            Some(at) => by[at] = fresh,
            None => by.push(fresh),
        }
    }

    /// Reports these members, or that none is left.
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
        by.sort_unstable_by_key(|member| member.mac);
        let lasting = by
            .iter()
            .filter(|member| member.last.since(member.since) >= lasts);
        let members: SilentMembers = lasting.map(|member| member.mac).collect();
        let trouble = (members.count() > 0).then_some(Diagnostic::NotHeardBy { by: members });
        let before = std::mem::replace(&mut self.one_way.reported, trouble);
        report_change(out, before, trouble);
    }
}
