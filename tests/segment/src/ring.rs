//! A segment with a daemon on every node.

use std::fmt;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};
use pnet::util::MacAddr;
use serde_json::Value;

use crate::clock;
use crate::daemon::{Binaries, Daemon, Ringd};
use crate::invariants;
use crate::limit::WAIT_LIMIT;
use crate::segment::Segment;
use crate::timing::{SLACK, Timing};
use crate::wire::{Digest, Member, Message, Seen, digest_of};

const POLL_INTERVAL: Duration = Duration::from_millis(10);
/// Bound of IDLE_HOLD: with a longer IDLE_HOLD, an idle token rests.
const RESTING_IDLE_HOLD: Duration = Duration::from_secs(10);

/// Options of the daemons in addition to the protocol's constants.
struct Options(Box<dyn Fn(Ringd) -> Ringd + Send + Sync>);

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Options")
    }
}

/// Daemons on a segment, and checks of their ring.
#[derive(Debug)]
pub struct Ring {
    /// Daemons in the order of the nodes. The last nodes may have no daemon.
    pub daemons: Vec<Daemon>,
    /// Segment of the daemons. It is dropped last.
    pub segment: Segment,
    /// Frames that were recorded before the recording restarted.
    earlier: Vec<Seen>,
    timing: Timing,
    binaries: Binaries,
    options: Options,
}

impl Ring {
    /// Starts a daemon on each of the first `count` nodes.
    pub fn start(
        segment: Segment,
        count: usize,
        timing: Timing,
        binaries: Binaries,
    ) -> Result<Self> {
        Self::start_with(segment, count, timing, binaries, |ringd| ringd)
    }

    /// Starts daemons with further options.
    pub fn start_with(
        segment: Segment,
        count: usize,
        timing: Timing,
        binaries: Binaries,
        options: impl Fn(Ringd) -> Ringd + Send + Sync + 'static,
    ) -> Result<Self> {
        let options = Options(Box::new(options));
        let daemons = Vec::new();
        let mut ring = Self {
            daemons,
            segment,
            earlier: Vec::new(),
            timing,
            binaries,
            options,
        };
        for _ in 0..count {
            ring.join()?;
        }
        Ok(ring)
    }

    pub fn join(&mut self) -> Result<()> {
        let node = self.segment.node(self.daemons.len());
        let ringd = node.ringd(self.binaries).timing(&self.timing);
        self.daemons.push((self.options.0)(ringd).spawn()?);
        Ok(())
    }

    /// Restarts the recording and the logs.
    pub(crate) fn restart_recording(&mut self) {
        self.earlier.append(&mut self.segment.restart_recording());
        self.daemons.iter_mut().for_each(Daemon::restart_recording);
    }

    pub fn macs(&self) -> Vec<MacAddr> {
        self.daemons
            .iter()
            .map(|daemon| daemon.node().mac())
            .collect()
    }

    /// Returns the digest of a table that contains exactly the daemons' nodes.
    pub fn digest(&self) -> Digest {
        let members = self.daemons.iter().map(|daemon| Member {
            mac: daemon.node().mac(),
            ip: daemon
                .node()
                .ip()
                .map_or([0; 16], |ip| ip.to_ipv6_mapped().octets()),
        });
        digest_of(&members.collect::<Vec<_>>())
    }

    /// Returns the frames that the daemons have sent since a time.
    pub fn frames_since(&self, from: Duration) -> Vec<Seen> {
        let since = |frames: &[Seen]| {
            let recent = frames.iter().filter(|seen| seen.at >= from);
            recent.cloned().collect()
        };
        self.segment.capture().look(since)
    }

    /// Waits until the ring has exactly one owner for the duration of a WAITER_TIMEOUT. Returns the start of this
    /// period.
    pub fn wait_for_one_owner(&self, since: Duration) -> Result<Duration> {
        self.one_owner_by(since, clock::now() + WAIT_LIMIT)
    }

    /// Checks `docs/reference/lab2/promises.md Q2`: the ring has one owner within the bound after `since`, the time of
    /// the last lost frame. Only exclusive tests may call this function.
    pub fn wait_for_one_owner_in_time(&self, since: Duration) -> Result<Duration> {
        let window = self.timing.waiter_timeout();
        self.one_owner_by(
            since,
            since + self.timing.one_owner_bound() + window + SLACK,
        )
    }

    fn one_owner_by(&self, since: Duration, deadline: Duration) -> Result<Duration> {
        let window = self.timing.waiter_timeout();
        // If this loop read all frames often, it would take CPU time from the ring.
        thread::sleep((since + window).saturating_sub(clock::now()));
        loop {
            let now = clock::now();
            let from = now.saturating_sub(window).max(since);
            let capture = self.segment.capture();
            let verdict = capture.look(|frames| invariants::check_one_owner(frames, from));
            if verdict.is_ok() {
                return Ok(from);
            }
            if now >= deadline {
                verdict?;
                bail!("the test looked too late");
            }
            thread::sleep(POLL_INTERVAL);
        }
    }

    /// Waits until all daemons have the same table, and until this table contains exactly the daemons' nodes. If the
    /// token rests, there may be no frames with digests, so the function also asks `ringctl`.
    pub fn wait_for_equal_tables(&self) -> Result<()> {
        self.equal_tables_within(WAIT_LIMIT)
    }

    /// Waits at most four heartbeats for equal tables, because every member sends its digest once per rotation. Only
    /// exclusive tests may call this function.
    pub fn wait_for_equal_tables_in_time(&self) -> Result<()> {
        self.equal_tables_within(4 * self.timing.heartbeat + SLACK)
    }

    fn equal_tables_within(&self, timeout: Duration) -> Result<()> {
        let deadline = Instant::now() + timeout;
        let rests = self.timing.idle_hold > RESTING_IDLE_HOLD;
        loop {
            let verdict = if rests {
                self.statuses().map(|_| ())
            } else {
                let (macs, digest) = (self.macs(), self.digest());
                let capture = self.segment.capture();
                capture.look(|frames| invariants::check_equal_digests(frames, &macs, digest))
            };
            if verdict.is_ok() || Instant::now() >= deadline {
                return verdict;
            }
            thread::sleep(POLL_INTERVAL);
        }
    }

    /// Waits until a started ring has formed: one owner and equal tables.
    pub fn wait_until_formed(&self) -> Result<()> {
        self.wait_for_one_owner(clock::now())?;
        self.wait_for_equal_tables()
    }

    /// Waits for the next heartbeat. Returns the index of the daemon that sent it.
    pub fn owner(&self) -> Result<usize> {
        let heartbeat = self.segment.capture().wait_for(WAIT_LIMIT, |seen| {
            seen.is_broadcast() && matches!(seen.message, Message::TokenIsHere { .. })
        })?;
        Ok(heartbeat.port)
    }

    /// Checks the invariants that always hold. The check covers all frames, including the frames before a restart of
    /// the recording.
    pub fn check(&self) -> Result<()> {
        let recorded = |frames: &[Seen]| [&self.earlier, frames].concat();
        let mut frames = self.segment.capture().look(recorded);
        // The capture may read an offer and its answer in the wrong order if two CPUs handled them. Their timestamps
        // have the right order.
        frames.sort_by_key(|seen| seen.at);
        invariants::check_all(&frames)
    }

    /// Checks that `ringctl` shows the same table for all daemons. Returns their statuses.
    pub fn statuses(&self) -> Result<Vec<Value>> {
        let statuses = self
            .daemons
            .iter()
            .map(Daemon::status)
            .collect::<Result<Vec<_>>>()?;
        for status in &statuses {
            let expected = format!("{:016x}", self.digest().hash);
            ensure!(
                status["ring_hash"] == expected,
                "the table is not {expected}: {status:#}"
            );
        }
        Ok(statuses)
    }
}

impl Ringd {
    pub fn timing(self, timing: &Timing) -> Self {
        self.option("--heartbeat", in_ns(timing.heartbeat))
            .option("--take-timeout", in_ns(timing.take_timeout))
            .option("--idle-hold", in_ns(timing.idle_hold))
            .option("--waiter-intervals", timing.waiter_intervals.to_string())
    }
}

fn in_ns(duration: Duration) -> String {
    format!("{}ns", duration.as_nanos())
}
