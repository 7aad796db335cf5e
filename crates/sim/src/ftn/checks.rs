//! What must hold after every event.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use ring_codec::ftn::Access;

use super::exempt::Exempt;
use super::outcome::{Excuse, Rule};
use super::register::{Flaw, Register, update_of};
use crate::kernel::checks::Found;

/// A grant that a client has grant.
#[derive(Debug, Clone)]
pub struct Grant<'a> {
    /// The token.
    pub token: usize,
    /// How it is held.
    pub access: Access,
    /// The fencing number, if one was asked for.
    pub fence: Option<u128>,
    /// The token's data.
    pub data: &'a [u8],
    /// When the token was asked for.
    pub requested: u64,
}

/// What is known of all nodes.
#[derive(Debug, Default)]
pub struct Checks {
    /// What was broken, and what was excused.
    pub found: Found<Rule, Excuse>,
    /// What voids promises.
    pub exempt: Exempt,
    /// The data of each token.
    pub registers: BTreeMap<usize, Register>,
    /// The largest fencing numbers of each token: of all grants, and of exclusive ones.
    fences: BTreeMap<usize, (u128, u128)>,
    /// All of them.
    fences_seen: BTreeSet<(usize, u128)>,
    /// Datagrams from and to each stranger.
    strangers: BTreeMap<SocketAddr, (u64, u64)>,
    /// Pairs of nodes that were found to hold one token at the same time.
    clashes: BTreeSet<(usize, usize, usize)>,
}

impl Checks {
    pub fn new(exempt: Exempt) -> Self {
        Self {
            exempt,
            ..Self::default()
        }
    }

    /// A client takes a grant.
    pub fn grant(&mut self, at: u64, node: usize, grant: &Grant<'_>) {
        if let Some(fence) = grant.fence {
            self.fenced(at, node, grant, fence);
        }
        let token = grant.token;
        let register = self.registers.entry(token).or_default();
        let flaw = update_of(grant.data).map_or(Some(Flaw::Unknown), |update| {
            register.show(update, grant.requested, at)
        });
        let shown = String::from_utf8_lossy(&grant.data[..grant.data.len().min(16)]).into_owned();
        match flaw {
            None => {}
            Some(Flaw::Unknown) => {
                let what = format!("t{token} has data that nobody wrote: '{shown}'");
                self.found.broken(at, Some(node), Rule::Update, what);
            }
            Some(Flaw::Lost {
                update,
                begun,
                asked,
            }) => {
                let excuse = self.exempt.update(token, begun, asked);
                let what = format!("t{token} shows '{shown}' after u{update}");
                self.found.judge(at, Some(node), excuse, Rule::Update, what);
            }
        }
    }

    /// A token is not granted in time though all is in order.
    pub fn not_granted(&mut self, at: u64, what: String) {
        let excuse = self.exempt.held_for_nobody();
        self.found.judge(at, None, excuse, Rule::Granted, what);
    }

    /// The leader leads no longer though all is in order. Whether that is excused.
    pub fn leader_left(&mut self) -> bool {
        let excuse = self.exempt.leader_left();
        if let Some(excuse) = excuse {
            self.found.excuse(excuse);
        }
        excuse.is_some()
    }

    fn fenced(&mut self, at: u64, node: usize, grant: &Grant<'_>, fence: u128) {
        let token = grant.token;
        let (all, exclusive) = self.fences.get(&token).copied().unwrap_or_default();
        let bound = match grant.access {
            Access::Exclusive => all,
            Access::Shared => exclusive,
        };
        let is_new = self.fences_seen.insert((token, fence));
        if fence <= bound || !is_new {
            let excuse = self.exempt.fence(fence, grant.requested);
            let what = format!("t{token} {:?} has {fence} after {bound}", grant.access);
            self.found
                .judge(at, Some(node), excuse, Rule::Fencing, what);
        }
        let is_exclusive = matches!(grant.access, Access::Exclusive);
        let exclusive = if is_exclusive {
            exclusive.max(fence)
        } else {
            exclusive
        };
        self.fences.insert(token, (all.max(fence), exclusive));
    }

    /// Two live clients hold one token, and not both share it.
    pub fn clash(&mut self, at: u64, nodes: (usize, usize), token: usize, since: u64) {
        if self.clashes.insert((nodes.0, nodes.1, token)) {
            let excuse = self.exempt.grants(since);
            let what = format!("n{} and n{} hold t{token}", nodes.0, nodes.1);
            self.found
                .judge(at, Some(nodes.0), excuse, Rule::Exclusion, what);
        }
    }

    /// Two leaders have authority, though a majority is to follow each.
    pub fn two_lead(&mut self, at: u64, nodes: (usize, usize)) {
        let excuse = self.exempt.grants(at);
        let what = format!("n{} and n{} lead with authority", nodes.0, nodes.1);
        self.found
            .judge(at, Some(nodes.0), excuse, Rule::Authority, what);
    }

    /// Two clients no longer hold one token at the same time.
    pub fn no_clash(&mut self, node: usize, token: usize) {
        self.clashes
            .retain(|&(one, other, its)| its != token || (one != node && other != node));
    }

    /// A stranger has sent so many datagrams, each perhaps doubled on its way.
    pub fn stranger_sends(&mut self, stranger: SocketAddr, copies: u64) {
        self.strangers.entry(stranger).or_default().0 += copies;
    }

    /// A server sends a stranger a datagram of so many bytes.
    pub fn stranger_gets(&mut self, at: u64, node: usize, to: SocketAddr, len: usize, max: usize) {
        let (sent, got) = self.strangers.entry(to).or_default();
        *got += 1;
        let (sent, got) = (*sent, *got);
        if got > sent || len > max {
            let what = format!("{got} datagrams for {sent}, the last of {len} bytes");
            self.found.broken(at, Some(node), Rule::Stranger, what);
        }
    }
}
