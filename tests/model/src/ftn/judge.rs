//! The promises that hold among all.

use ring_codec::ftn::Access;
use ring_proto::ftn::client::Client;

use super::breach::Breach;
use super::group::Group;
use super::node::Told;
use super::setup::Setup;

/// What programs have seen of the token. Updates are made by who holds it alone, so they come in the order of their
/// numbers; 0 is the empty token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Seen {
    /// Updates that were begun.
    begun: u8,
    /// The last that is certain to be done: its client was told, or a grant has shown it.
    certain: u8,
    /// The largest fencing numbers: of all grants, and of exclusive ones.
    fences: (u128, u128),
}

impl Seen {
    /// The number of the next update.
    pub const fn next(&self) -> u8 {
        self.begun + 1
    }

    /// The next update is begun.
    pub const fn begin(&mut self, update: u8) {
        self.begun = update;
    }

    /// The last update that is certain to be done.
    pub const fn certain(&self) -> u8 {
        self.certain
    }

    /// What is certain was lost with its server, but for this.
    pub fn fall_back(&mut self, to: u8) {
        self.certain = self.certain.min(to);
    }

    /// A client tells of the token. What is wrong with that, if anything is.
    pub fn hear(&mut self, node: usize, told: &Told) -> Option<Breach> {
        match told {
            Told::Updated(update) => {
                self.certain = self.certain.max(*update);
                None
            }
            Told::Granted {
                access,
                fence,
                data,
            } => self.grant(node, *access, *fence, update_of(data)),
        }
    }

    fn grant(&mut self, node: usize, access: Access, fence: u128, shows: u8) -> Option<Breach> {
        let (all, exclusive) = self.fences;
        let after = match access {
            Access::Exclusive => all,
            Access::Shared => exclusive,
        };
        if fence <= after {
            return Some(Breach::Fencing { node, fence, after });
        }
        let exclusive = match access {
            Access::Exclusive => fence,
            Access::Shared => exclusive,
        };
        self.fences = (all.max(fence), exclusive);
        let after = self.certain;
        self.certain = after.max(shows);
        (shows < after).then_some(Breach::Lost { node, shows, after })
    }
}

/// The update whose data these are.
fn update_of(data: &[u8]) -> u8 {
    data.first().copied().unwrap_or_default()
}

/// The update that a client which holds the token was shown, or has made.
pub(super) fn shown(client: &Client, setup: &Setup) -> Option<u8> {
    let holding = client.holding(&setup.token)?;
    Some(update_of(holding.data))
}

/// Two live clients that hold the token and do not both share it.
pub(super) fn exclusion(setup: &Setup, group: &Group) -> Option<Breach> {
    let mut first: Option<(usize, Access)> = None;
    for at in setup.scenario.servers..group.nodes.len() {
        let Some(access) = group.nodes[at].holding(setup, at, group.now) else {
            continue;
        };
        match first {
            None => first = Some((at, access)),
            Some((_, Access::Shared)) if access == Access::Shared => {}
            Some((other, _)) => {
                let nodes = [other, at];
                return Some(Breach::Exclusion { nodes });
            }
        }
    }
    None
}
