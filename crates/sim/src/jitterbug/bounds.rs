//! How long what must happen in the end may take.

use std::net::IpAddr;
use std::time::Duration;

use ring_codec::jitterbug::Node;
use ring_proto::jitterbug::{Jitterbug, Options};

use super::plan::Schedule;
use super::segment::World;

/// A program that is in order takes no longer, whatever it does.
const PROGRAM: Duration = Duration::from_millis(3);
/// The restore of a node that has had no token yet lasts at least so long.
const FIRST_RESTORE: Duration = Duration::from_millis(600);
/// Bytes of a connection that are on their way at a time.
const WINDOW: usize = 4096;
/// A message that a cut has held up is sent again after so long.
pub(super) const AGAIN: Duration = Duration::from_millis(200);

/// The bounds of a run.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    /// The longest way of a datagram.
    pub latency: Duration,
    /// A turn in which nothing fails.
    pub turn: Duration,
    /// The longest restore of a node.
    restore: Duration,
    /// The longest of one that has had no token yet.
    first: Duration,
    options: Options,
}

impl Bounds {
    /// Those of a schedule, in which nodes may have heard of so long a lease.
    pub(super) fn of(schedule: &Schedule, heard: Duration) -> Self {
        let options = schedule.options();
        let (least, more) = schedule.latency_us;
        let latency = Duration::from_micros(least + more);
        let all = || (0..schedule.nodes).map(|node| schedule.options_of(node));
        let restore = all().map(|it| it.restore()).max().unwrap_or_default();
        let longest = all().map(|it| it.stall()).max().unwrap_or_default();
        let longest = longest.max(heard);
        let interval = all().map(|it| it.tr_interval).max().unwrap_or_default();
        let windows = u32::try_from(options.max_data / WINDOW).unwrap_or(u32::MAX);
        let hop = latency * (10 + 2 * windows);
        Self {
            latency,
            turn: options.hold + 4 * PROGRAM + hop,
            restore,
            first: restore.max(FIRST_RESTORE).max(longest + interval),
            options,
        }
    }

    /// `renew_timeout` + D, and the ways of the datagrams.
    pub(super) fn replaced(&self) -> Duration {
        self.options.renew_timeout + self.restore + 4 * self.latency
    }

    /// How much longer the restore of a node takes that has had no token yet.
    pub(super) fn first(&self) -> Duration {
        self.first.saturating_sub(self.restore)
    }

    /// `renew_timeout` + 2 × `token_pass_timeout`, and the ways.
    pub(super) fn merged(&self) -> Duration {
        self.options.renew_timeout + 2 * self.options.token_pass_timeout + 4 * self.latency + AGAIN
    }

    /// A round of so many nodes, each of which fails with so many candidates.
    pub(super) fn round(&self, live: usize, failing: usize) -> Duration {
        let failing = u32::try_from(failing).unwrap_or(u32::MAX);
        let live = u32::try_from(live).unwrap_or(u32::MAX);
        (self.turn + self.options.token_pass_timeout * failing) * live
    }
}

impl World {
    /// The entries of all lists that are no live node's.
    pub fn dead_entries(&self) -> usize {
        let mut dead: Vec<IpAddr> = Vec::new();
        for at in self.live() {
            let lists = self.machine(at).map(Jitterbug::lists);
            let (list, to_add) = lists.unwrap_or_default();
            for Node { ip, .. } in list.iter().chain(to_add) {
                let is_live = self.live().any(|at| self.nodes[at].own.ip == *ip);
                if !is_live && !dead.contains(ip) {
                    dead.push(*ip);
                }
            }
        }
        dead.len()
    }

    /// Whether some node would not try a live one at its next turn.
    pub fn skips_somebody(&self) -> bool {
        self.live().any(|at| {
            let nodes = self.machine(at).map(|it| it.snapshot().nodes);
            let nodes = nodes.unwrap_or_default();
            nodes.into_iter().any(|it| {
                let is_live = self.live().any(|at| self.nodes[at].own.ip == it.node.ip);
                is_live && it.count < (1 << it.threshold) - 1
            })
        })
    }
}
