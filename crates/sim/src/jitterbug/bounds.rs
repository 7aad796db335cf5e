//! The time limits of the recovery.

use std::net::IpAddr;
use std::time::Duration;

use ring_codec::jitterbug::Node;
use ring_proto::jitterbug::{Jitterbug, Options};

use super::schedule::Schedule;
use super::system::World;

/// The maximum duration of a program that works correctly.
const PROGRAM_TIME_MAX: Duration = Duration::from_millis(3);
/// The minimum restore time of a node that never had a token.
const FIRST_RESTORE_MIN: Duration = Duration::from_millis(600);
/// The maximum number of bytes in flight on a connection.
const WINDOW_BYTES: usize = 4096;
/// A message that a split has held up is sent again after this time.
pub(super) const RESEND_INTERVAL: Duration = Duration::from_millis(200);

#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    /// The maximum latency of a datagram.
    pub(super) latency: Duration,
    /// The maximum duration of a node's tenure without faults.
    pub(super) turn: Duration,
    /// The longest duration of a restore.
    restore: Duration,
    /// The longest restore time of a node that never had a token.
    first: Duration,
    options: Options,
}

impl Bounds {
    /// Returns the bounds of a schedule. `heard` is the longest lease that the nodes may know.
    pub(super) fn of(schedule: &Schedule, heard: Duration) -> Self {
        let options = schedule.options();
        let (least, more) = schedule.latency_us;
        let latency = Duration::from_micros(least + more);
        let all = || (0..schedule.nodes).map(|node| schedule.options_of(node));
        let restore = all()
            .map(|it| it.restore_duration())
            .max()
            .unwrap_or_default();
        let longest = all().map(|it| it.own_lease()).max().unwrap_or_default();
        let longest = longest.max(heard);
        let interval = all().map(|it| it.tr_interval).max().unwrap_or_default();
        let windows = u32::try_from(options.max_data / WINDOW_BYTES).unwrap_or(u32::MAX);
        let hop = latency * (10 + 2 * windows);
        Self {
            latency,
            turn: options.hold + 4 * PROGRAM_TIME_MAX + hop,
            restore,
            first: restore.max(FIRST_RESTORE_MIN).max(longest + interval),
            options,
        }
    }

    /// Returns the sum of `renew_timeout`, D and the latency of the datagrams.
    pub(super) fn replacement_time(&self) -> Duration {
        self.options.renew_timeout + self.restore + 4 * self.latency
    }

    /// Returns the additional restore time of a node that never had a token.
    pub(super) fn first(&self) -> Duration {
        self.first.saturating_sub(self.restore)
    }

    /// Returns the sum of `renew_timeout`, 2 × `token_pass_timeout` and the latency.
    pub(super) fn merge_time(&self) -> Duration {
        self.options.renew_timeout
            + 2 * self.options.token_pass_timeout
            + 4 * self.latency
            + RESEND_INTERVAL
    }

    /// Returns the duration of a rotation of `live` nodes, if each leader first fails to pass its token to `failing`
    /// candidates.
    pub(super) fn rotation_time(&self, live: usize, failing: usize) -> Duration {
        let failing = u32::try_from(failing).unwrap_or(u32::MAX);
        let live = u32::try_from(live).unwrap_or(u32::MAX);
        (self.turn + self.options.token_pass_timeout * failing) * live
    }
}

impl World {
    /// Returns the number of list entries that name no live node. Entries with the same address count once.
    pub(super) fn dead_entries(&self) -> usize {
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

    /// Whether some node would skip a live node in its next pass.
    pub(super) fn skips_live_node(&self) -> bool {
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
