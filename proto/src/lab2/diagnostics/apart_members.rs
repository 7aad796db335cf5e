//! Reports of members that are apart (`docs/protocol.md`, "Members that are apart").

use ring_codec::MacAddr;

use super::{Diagnostics, report};
use crate::lab2::Diagnostic;
use crate::lab2::machine::Output;

impl Diagnostics {
    /// Reports that this node is apart, or no longer is.
    pub(crate) fn note_own_apart(out: &mut Output, apart: bool) {
        report(out, Diagnostic::Apart { mac: None }, !apart);
    }

    /// Reports the members that are newly apart, and those that no longer are. `apart_members` lists all that are, in
    /// order.
    pub(crate) fn note_apart(&mut self, out: &mut Output, apart_members: Vec<MacAddr>) {
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
