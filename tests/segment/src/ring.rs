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
use crate::limit::PATIENCE;
use crate::segment::Segment;
use crate::timing::{SLACK, Timing};
use crate::wire::{Digest, Member, Message, Seen, digest_of};

const POLL: Duration = Duration::from_millis(10);
/// A token that nobody wants stays for longer than this where it rests.
const RESTS: Duration = Duration::from_secs(10);

/// What daemons are started with beyond the protocol's constants.
struct Options(Box<dyn Fn(Ringd) -> Ringd + Send + Sync>);

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Options")
    }
}

/// Daemons on a segment, and what a test asks of them.
#[derive(Debug)]
pub struct Ring {
    /// In the order of the nodes, of which the last may have none yet.
    pub daemons: Vec<Daemon>,
    /// What they run on. Dropped last.
    pub segment: Segment,
    /// What was recorded before the recording was begun anew.
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

    /// The same with further options for each of them.
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

    /// Starts a daemon on the next node.
    pub fn join(&mut self) -> Result<()> {
        let node = self.segment.node(self.daemons.len());
        let ringd = node.ringd(self.binaries).timing(&self.timing);
        self.daemons.push((self.options.0)(ringd).spawn()?);
        Ok(())
    }

    /// Lets the recording and the logs begin here.
    pub(crate) fn begin_anew(&mut self) {
        self.earlier.append(&mut self.segment.begin_anew());
        self.daemons.iter_mut().for_each(Daemon::begin_anew);
    }

    /// The daemons' MACs.
    pub fn macs(&self) -> Vec<MacAddr> {
        self.daemons
            .iter()
            .map(|daemon| daemon.node().mac())
            .collect()
    }

    /// The digest of a table that holds the daemons' nodes and nobody else.
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

    /// The frames of the daemons since a time.
    pub fn frames_since(&self, from: Duration) -> Vec<Seen> {
        let since = |frames: &[Seen]| {
            let recent = frames.iter().filter(|seen| seen.at >= from);
            recent.cloned().collect()
        };
        self.segment.capture().look(since)
    }

    /// Waits until there was one owner for a WAITER_TIMEOUT since that time. Gives the time from
    /// which on it was so.
    pub fn wait_for_one_owner(&self, since: Duration) -> Result<Duration> {
        self.one_owner_by(since, clock::now() + PATIENCE)
    }

    /// The same as section 5, rule 2 promises it for a segment that lost its last frame at `since`.
    /// It is for tests that run alone.
    pub fn wait_for_one_owner_in_time(&self, since: Duration) -> Result<Duration> {
        let window = self.timing.waiter_timeout();
        self.one_owner_by(
            since,
            since + self.timing.one_owner_bound() + window + SLACK,
        )
    }

    fn one_owner_by(&self, since: Duration, deadline: Duration) -> Result<Duration> {
        let window = self.timing.waiter_timeout();
        // To look through all frames costs the ring time of its own.
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
                bail!("the test was too late to look");
            }
            thread::sleep(POLL);
        }
    }

    /// Waits until all daemons tell the same table, with the daemons' nodes and nobody else. In a
    /// ring whose token rests they need not say so in frames; then `ringctl` is asked.
    pub fn wait_for_equal_tables(&self) -> Result<()> {
        self.equal_tables_within(PATIENCE)
    }

    /// The same within four heartbeats: every member tells its digest once a round. It is for tests
    /// that run alone.
    pub fn wait_for_equal_tables_in_time(&self) -> Result<()> {
        self.equal_tables_within(4 * self.timing.heartbeat + SLACK)
    }

    fn equal_tables_within(&self, timeout: Duration) -> Result<()> {
        let deadline = Instant::now() + timeout;
        let rests = self.timing.idle_hold > RESTS;
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
            thread::sleep(POLL);
        }
    }

    /// Waits for one owner after a start, and then for equal tables: the ring has formed.
    pub fn wait_until_formed(&self) -> Result<()> {
        self.wait_for_one_owner(clock::now())?;
        self.wait_for_equal_tables()
    }

    /// Waits for the next heartbeat, and gives the place of the daemon that sent it.
    pub fn owner(&self) -> Result<usize> {
        let heartbeat = self.segment.capture().wait_for(PATIENCE, |seen| {
            seen.is_broadcast() && matches!(seen.message, Message::TokenIsHere { .. })
        })?;
        Ok(heartbeat.port)
    }

    /// Checks what must hold at all times, over all frames so far: those from before the recording
    /// was begun anew, too.
    pub fn check(&self) -> Result<()> {
        let recorded = |frames: &[Seen]| [&self.earlier, frames].concat();
        let mut frames = self.segment.capture().look(recorded);
        // Two processors may hand over an offer and its answer the other way round; their stamps are right.
        frames.sort_by_key(|seen| seen.at);
        invariants::check_all(&frames)
    }

    /// Checks that all daemons tell `ringctl` the same table, and gives their statuses.
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
                "not {expected}: {status:#}"
            );
        }
        Ok(statuses)
    }
}

impl Ringd {
    /// The protocol's constants.
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
