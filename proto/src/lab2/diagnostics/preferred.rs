//! Reports a preferred member that does not take the idle token from this node (`docs/reference/lab2/passing.md P34`).

use ring_codec::MacAddr;

use super::{Diagnostics, report};
use crate::lab2::Diagnostic;
use crate::lab2::machine::{Context, Output};
use crate::lab2::members::Members;

/// The reported member.
#[derive(Debug, Clone, Default, serde::Serialize, serde::Deserialize)]
pub(super) struct PreferredReport {
    reported: Option<Diagnostic>,
}

impl PreferredReport {
    pub(super) const fn last_report(&self) -> Option<Diagnostic> {
        self.reported
    }
}

impl Diagnostics {
    /// Reports the preferred member that does not take the token, and later the end of this problem. If a different
    /// member now has the problem, reports this as a new problem.
    pub(super) fn review_preferred(
        &mut self,
        context: &Context,
        members: &Members,
        owner: Option<MacAddr>,
        out: &mut Output,
    ) {
        let refusing = members.refusing_preferred(context, context.preference(), owner);
        let now = refusing.map(|(mac, in_a_row)| Diagnostic::PreferredRefuses { mac, in_a_row });
        let before = std::mem::replace(&mut self.preferred.reported, now);
        let mac_of = |it: Option<Diagnostic>| match it {
            Some(Diagnostic::PreferredRefuses { mac, .. }) => Some(mac),
            _ => None,
        };
        if mac_of(before) != mac_of(now) {
            for (trouble, over) in [(before, true), (now, false)] {
                if let Some(trouble) = trouble {
                    report(out, trouble, over);
                }
            }
        }
    }
}
