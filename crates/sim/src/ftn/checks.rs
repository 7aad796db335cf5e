//! The checks after every event.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use ring_codec::ftn::Access;

use super::exemptions::Exemptions;
use super::outcome::{Excuse, Rule};
use super::update_log::{DataError, UpdateLog, update_of};
use crate::kernel::checks::Findings;

/// A grant that a client received.
#[derive(Debug, Clone)]
pub(super) struct Grant<'a> {
    pub(super) token: usize,
    pub(super) access: Access,
    /// The fencing number, if the client has requested a fencing number.
    pub(super) fence: Option<u128>,
    pub(super) data: &'a [u8],
    /// The time at which the client requested the token.
    pub(super) requested: u64,
}

/// The checks, and the observations that they need.
#[derive(Debug, Default)]
pub(super) struct Checks {
    pub(super) findings: Findings<Rule, Excuse>,
    /// The circumstances that excuse broken promises.
    pub(super) exemptions: Exemptions,
    pub(super) update_logs: BTreeMap<usize, UpdateLog>,
    /// Two numbers for each token: the largest fencing number of all grants, and the largest fencing number of
    /// exclusive grants.
    fences: BTreeMap<usize, (u128, u128)>,
    fences_seen: BTreeSet<(usize, u128)>,
    /// The numbers of datagrams from and to each stranger.
    strangers: BTreeMap<SocketAddr, (u64, u64)>,
    /// Reported pairs of nodes that held one token at the same time.
    clashes: BTreeSet<(usize, usize, usize)>,
}

impl Checks {
    pub(super) fn new(exemptions: Exemptions) -> Self {
        Self {
            exemptions,
            ..Self::default()
        }
    }

    pub(super) fn check_grant(&mut self, at: u64, node: usize, grant: &Grant<'_>) {
        if let Some(fence) = grant.fence {
            self.check_fence(at, node, grant, fence);
        }
        let token = grant.token;
        let update_log = self.update_logs.entry(token).or_default();
        let data_error = update_of(grant.data).map_or(Some(DataError::Unknown), |update| {
            update_log.on_shown(update, grant.requested, at)
        });
        let shown = String::from_utf8_lossy(&grant.data[..grant.data.len().min(16)]).into_owned();
        match data_error {
            None => {}
            Some(DataError::Unknown) => {
                let what = format!("t{token} has data that no client wrote: '{shown}'");
                self.findings.report(at, Some(node), Rule::Update, what);
            }
            Some(DataError::Lost {
                update,
                begun,
                asked,
            }) => {
                let excuse = self.exemptions.update_excuse(token, begun, asked);
                let what = format!("t{token} shows '{shown}' after u{update}");
                self.findings
                    .report_unless_excused(at, Some(node), excuse, Rule::Update, what);
            }
        }
    }

    /// Reports a token that is not granted in time although there is no fault.
    pub(super) fn report_not_granted(&mut self, at: u64, what: String) {
        let excuse = self.exemptions.unheld_token_excuse();
        self.findings
            .report_unless_excused(at, None, excuse, Rule::Granted, what);
    }

    /// If the leader is lost without a fault, looks for an excuse and counts it. Returns whether there is an excuse for
    /// the loss.
    pub(super) fn excuse_leader_loss(&mut self) -> bool {
        let excuse = self.exemptions.leader_loss_excuse();
        if let Some(excuse) = excuse {
            self.findings.excuse(excuse);
        }
        excuse.is_some()
    }

    fn check_fence(&mut self, at: u64, node: usize, grant: &Grant<'_>, fence: u128) {
        let token = grant.token;
        let (all, exclusive) = self.fences.get(&token).copied().unwrap_or_default();
        let bound = match grant.access {
            Access::Exclusive => all,
            Access::Shared => exclusive,
        };
        let is_new = self.fences_seen.insert((token, fence));
        if fence <= bound || !is_new {
            let excuse = self.exemptions.fence_excuse(fence, grant.requested);
            let what = format!("t{token} {:?} has {fence} after {bound}", grant.access);
            self.findings
                .report_unless_excused(at, Some(node), excuse, Rule::Fencing, what);
        }
        let is_exclusive = matches!(grant.access, Access::Exclusive);
        let exclusive = if is_exclusive {
            exclusive.max(fence)
        } else {
            exclusive
        };
        self.fences.insert(token, (all.max(fence), exclusive));
    }

    /// Reports two live clients that hold one token although only one of them may hold it.
    pub(super) fn check_clash(&mut self, at: u64, nodes: (usize, usize), token: usize, since: u64) {
        if self.clashes.insert((nodes.0, nodes.1, token)) {
            let excuse = self.exemptions.grant_excuse(since);
            let what = format!("n{} and n{} hold t{token}", nodes.0, nodes.1);
            self.findings
                .report_unless_excused(at, Some(nodes.0), excuse, Rule::Exclusion, what);
        }
    }

    /// Reports two leaders that both have authority. Each leader needs a majority of the servers as its quorum.
    pub(super) fn report_two_leaders(&mut self, at: u64, nodes: (usize, usize)) {
        let excuse = self.exemptions.grant_excuse(at);
        let what = format!("n{} and n{} lead with authority", nodes.0, nodes.1);
        self.findings
            .report_unless_excused(at, Some(nodes.0), excuse, Rule::Authority, what);
    }

    /// Forgets the reported pairs of a node that no longer holds the token.
    pub(super) fn clear_clashes(&mut self, node: usize, token: usize) {
        self.clashes
            .retain(|&(one, other, its)| its != token || (one != node && other != node));
    }

    /// Counts the datagrams of a stranger. A datagram may be duplicated on its way.
    pub(super) fn on_stranger_sends(&mut self, stranger: SocketAddr, copies: u64) {
        self.strangers.entry(stranger).or_default().0 += copies;
    }

    /// Checks a datagram that a server sends to a stranger.
    pub(super) fn check_stranger_answer(
        &mut self,
        at: u64,
        node: usize,
        to: SocketAddr,
        len: usize,
        max: usize,
    ) {
        let (sent, got) = self.strangers.entry(to).or_default();
        *got += 1;
        let (sent, got) = (*sent, *got);
        if got > sent || len > max {
            let what = format!("{got} datagrams for {sent}, the last of {len} bytes");
            self.findings.report(at, Some(node), Rule::Stranger, what);
        }
    }
}
