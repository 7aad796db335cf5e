//! Members that do not hear this node, although it hears them. Only they can tell it so. Nothing is decided here.

use ring_codec::MacAddr;

use crate::lab2::{Lab2, SilentMembers, Trouble};
use crate::time::Instant;

/// For so many WAITER_TIMEOUTs a member says that it does not hear this node before that is told: frames of before it was
/// heard may be on their way.
const LASTS: u32 = 4;
/// A member that has not repeated it for so many times the time after which members count as silent has taken it back.
const REPEATED: u32 = 4;

/// Who says that it does not hear this node.
#[derive(Debug, Clone, Default)]
pub(crate) struct Unheard {
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
    pub(crate) const fn told(&self) -> Option<Trouble> {
        self.told
    }
}

impl Lab2 {
    /// Returns the member that this node's cards name next as not heard for long.
    pub(crate) fn unheard_member(&self) -> Option<MacAddr> {
        let members = self.table.members().iter().zip(self.table.peers());
        let silent = members.filter(|(_, peer)| peer.told_silent && !peer.left);
        let count = silent.clone().count();
        let period = self.context.constants().heartbeat.as_nanos().max(1);
        let turn = u128::from(self.context.now().as_nanos()) / period;
        let place = usize::try_from(turn.checked_rem(count as u128)?).ok()?;
        silent.map(|(member, _)| member.mac).nth(place)
    }

    /// A member says whom it does not hear.
    pub(crate) fn note_unheard_by(&mut self, mac: MacAddr, names: Option<MacAddr>) {
        let by = &mut self.troubles.unheard_by.by;
        let place = by.iter().position(|said| said.mac == mac);
        if names.is_none() {
            if let Some(at) = place {
                by.swap_remove(at);
            }
            return;
        }
        if !names.is_some_and(|named| self.is_own(named)) || self.table.find(mac).is_none() {
            return;
        }
        let (now, silence) = (self.context.now(), self.silence());
        let fresh = Said {
            mac,
            since: now,
            last: now,
        };
        let by = &mut self.troubles.unheard_by.by;
        match place {
            Some(at) if now.since(by[at].last) < silence => by[at].last = now,
            Some(at) => by[at] = fresh,
            None => by.push(fresh),
        }
    }

    /// Looks whether people are to be told.
    pub(crate) fn review_unheard(&mut self) {
        let (now, kept) = (self.context.now(), self.silence() * REPEATED);
        let lasts = self.context.constants().waiter_timeout() * LASTS;
        let mut by = std::mem::take(&mut self.troubles.unheard_by.by);
        by.retain(|said| now.since(said.last) < kept && self.table.find(said.mac).is_some());
        by.sort_unstable_by_key(|said| said.mac);
        let lasting = by
            .iter()
            .filter(|said| said.last.since(said.since) >= lasts);
        let members: SilentMembers = lasting.map(|said| said.mac).collect();
        let trouble = (members.count() > 0).then_some(Trouble::Unheard { by: members });
        self.troubles.unheard_by.by = by;
        match (
            std::mem::replace(&mut self.troubles.unheard_by.told, trouble),
            trouble,
        ) {
            (None, Some(trouble)) => self.tell_trouble(trouble, false),
            (Some(trouble), None) => self.tell_trouble(trouble, true),
            _ => {}
        }
    }

    /// Returns what is wrong just now.
    pub(crate) fn unheard_trouble(&self) -> Option<Trouble> {
        self.troubles.unheard_by.told()
    }
}
