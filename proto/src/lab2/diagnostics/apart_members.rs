//! Reports about members that are apart (`docs/reference/lab2/faults.md X8`).

use ring_codec::MacAddr;

use super::{Diagnostics, report};
use crate::lab2::Diagnostic;
use crate::lab2::machine::Output;

impl Diagnostics {
    /// Reports that this node became apart, or that it is no longer apart.
    pub(crate) fn note_own_apart(out: &mut Output, apart: bool) {
        report(out, Diagnostic::Apart { mac: None }, !apart);
    }

    /// Reports the members that became apart since the last call, and the members that are no longer apart.
    /// `apart_members` lists all members that are apart, sorted by MAC.
    pub(crate) fn note_apart(&mut self, out: &mut Output, apart_members: Vec<MacAddr>) {
        // Both lists are sorted, so a binary search finds the differences.
        let mut tell_those = |in_one: &[MacAddr], not_in: &[MacAddr], over| {
            for &mac in in_one {
                if not_in.binary_search(&mac).is_err() {
                    report(out, Diagnostic::Apart { mac: Some(mac) }, over);
                }
            }
        };
        tell_those(&apart_members, &self.apart, false);
        tell_those(&self.apart, &apart_members, true);
        self.apart = apart_members;
    }

    pub(super) fn apart_problems(&self, own: bool) -> impl Iterator<Item = Diagnostic> {
        let own = own.then_some(Diagnostic::Apart { mac: None });
        let others = self.apart.iter();
        own.into_iter()
            .chain(others.map(|&mac| Diagnostic::Apart { mac: Some(mac) }))
    }
}
