//! Members whose times are too far from the ring's (`docs/protocol.md`, "Members that are apart").

use ring_codec::MacAddr;

use super::{Diagnostics, tell};
use crate::lab2::Trouble;
use crate::lab2::machine::Output;

impl Diagnostics {
    /// This node is apart from now on, or no longer is.
    pub(crate) fn note_own_apart(out: &mut Output, apart: bool) {
        tell(out, Trouble::Apart { mac: None }, !apart);
    }

    /// These members, in order, are apart now.
    pub(crate) fn note_apart(&mut self, out: &mut Output, far: Vec<MacAddr>) {
        let mut tell_those = |in_one: &[MacAddr], not_in: &[MacAddr], over| {
            for &mac in in_one {
                if not_in.binary_search(&mac).is_err() {
                    tell(out, Trouble::Apart { mac: Some(mac) }, over);
                }
            }
        };
        tell_those(&far, &self.apart, false);
        tell_those(&self.apart, &far, true);
        self.apart = far;
    }

    pub(super) fn apart_troubles(&self, own: bool) -> impl Iterator<Item = Trouble> {
        let own = own.then_some(Trouble::Apart { mac: None });
        let others = self.apart.iter();
        own.into_iter()
            .chain(others.map(|&mac| Trouble::Apart { mac: Some(mac) }))
    }
}
