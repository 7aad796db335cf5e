//! The promises that hold among all processes.

use ring_codec::ftn::Access;
use ring_proto::ftn::client::Client;

use super::breach::Breach;
use super::group::Group;
use super::node::ClientReport;
use super::setup::Setup;

/// The programs' observations of the token. Only an exclusive holder makes updates, so the numbers of updates grow with
/// time. Update 0 stands for a token without data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Observations {
    /// The update that began last.
    begun: u8,
    /// The last certain update: a server confirmed the update, or a grant contained it.
    certain: u8,
    /// The largest fencing number of all grants, and the largest fencing number of the exclusive grants.
    fences: (u128, u128),
}

impl Observations {
    /// Returns the number of the next update.
    pub const fn next(&self) -> u8 {
        self.begun + 1
    }

    /// Records the start of an update.
    pub const fn on_begun(&mut self, update: u8) {
        self.begun = update;
    }

    /// Returns the last certain update.
    pub const fn certain(&self) -> u8 {
        self.certain
    }

    /// Records that the updates after `to` are uncertain, because their server may have lost them.
    pub fn limit_certain(&mut self, to: u8) {
        self.certain = self.certain.min(to);
    }

    /// Records a report of a client, and returns the promise that it breaks.
    pub fn on_report(&mut self, node: usize, report: &ClientReport) -> Option<Breach> {
        match report {
            ClientReport::Updated(update) => {
                self.certain = self.certain.max(*update);
                None
            }
            ClientReport::Granted {
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

fn update_of(data: &[u8]) -> u8 {
    data.first().copied().unwrap_or_default()
}

/// Returns the last update that a holder of the token received or made.
pub(super) fn shown_update(client: &Client, setup: &Setup) -> Option<u8> {
    let holding = client.held_token(&setup.token)?;
    Some(update_of(holding.data))
}

/// Checks that all live clients that hold the token share it.
pub(super) fn find_shared_exclusive(setup: &Setup, group: &Group) -> Option<Breach> {
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
