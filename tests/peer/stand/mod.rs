//! A daemon between two peers, in virtual time: the stand of `ring_segment` without a kernel.

mod clock;
mod daemon;
mod host;
mod peer;
mod segment;
mod world;

use std::time::Duration;

use anyhow::{Context, Result};
use ring_proto::lab2::Constants;
use ring_segment::{
    Digest, MacAddr, Member, Message, Seen, Timing, Token, digest_of, holds, is_heartbeat, offers,
};

pub(crate) use clock::wall;
use daemon::Daemon;
use host::Host;
pub(crate) use peer::Peer;
pub(crate) use segment::FLIGHT;
use segment::{DAEMON, HIGH, LOW, mac};
use world::World;

/// The longest that a peer waits for what the daemon answers without waiting for anything.
pub(crate) const AT_ONCE: Duration = FLIGHT.saturating_mul(2);
/// No ip.
pub(crate) const NONE: [u8; 16] = [0; 16];

/// One daemon, and a peer with a smaller and one with a larger MAC.
#[derive(Debug)]
pub(crate) struct Stand {
    /// Under test.
    pub daemon: Daemon,
    /// `02:00:00:00:00:01`: of equal progress, its tokens and candidates beat the daemon's.
    pub low: Peer,
    /// `02:00:00:00:00:03`: the daemon's beat its. The daemon's next in ring order.
    pub high: Peer,
    /// The constants in force.
    pub timing: Timing,
    mac: MacAddr,
    world: World,
}

impl Stand {
    /// Starts the daemon; the peers listen already.
    pub(crate) fn new(timing: Timing) -> Self {
        Self::with(timing, NONE, |constants| constants)
    }

    /// The same with an address of the daemon's own and other constants than a [`Timing`] has.
    pub(crate) fn with(
        timing: Timing,
        ip: [u8; 16],
        options: impl FnOnce(Constants) -> Constants,
    ) -> Self {
        let constants = options(host::constants(&timing));
        let world = World::new(Host::new(constants, ip));
        Self {
            daemon: Daemon::new(&world),
            low: Peer::new(LOW, &world),
            high: Peer::new(HIGH, &world),
            timing,
            mac: mac(DAEMON),
            world,
        }
    }

    /// The daemon's MAC.
    pub(crate) fn mac(&self) -> MacAddr {
        self.mac
    }

    /// The longest that anything here takes which depends on time-outs of the protocol.
    pub(crate) fn patience(&self) -> Duration {
        self.timing.one_owner_bound()
    }

    /// The time, from the start on.
    pub(crate) fn now(&self) -> Duration {
        self.world.now()
    }

    /// Lets time pass.
    pub(crate) fn pass(&self, time: Duration) {
        self.world.pass(time);
    }

    /// Lets the daemon elect itself, and gives its token.
    pub(crate) fn elect(&self) -> Result<Token> {
        let heartbeat = self.wait_from(0, is_heartbeat)?;
        heartbeat.message.token().context("a heartbeat has a token")
    }

    /// Makes the daemon a WAITER for a token of `low`'s, and gives that.
    pub(crate) fn follow(&self) -> Result<Token> {
        let token = self.low.token(1000);
        self.low.broadcast(&holds(token));
        self.wait_for_state("WAITER")?;
        Ok(token)
    }

    /// Makes the daemon an OWNER by TAKE_TOKEN from `low`, and gives the token.
    pub(crate) fn give(&self) -> Result<Token> {
        let token = self.low.token(1000);
        self.offer(&self.low, &offers(token), |seen| {
            matches!(seen.message, Message::TokenIsHere { token: held, .. } if held == token)
        })?;
        self.daemon.is("OWNER")?;
        Ok(token)
    }

    /// Offers the daemon a token, once, and waits for a frame of its that is as `answered`.
    pub(crate) fn offer(
        &self,
        giver: &Peer,
        offer: &Message,
        answered: impl Fn(&Seen) -> bool,
    ) -> Result<Seen> {
        let mark = self.mark();
        giver.send(self.mac, offer);
        self.wait_in(FLIGHT, mark, answered)
            .context("the offer was not answered")
    }

    /// Waits for a frame under way to bring the daemon into a state.
    pub(crate) fn wait_for_state(&self, state: &str) -> Result<()> {
        self.pass(FLIGHT);
        self.daemon.is(state)
    }

    /// The digest of a table with the daemon, without an ip, and these others.
    pub(crate) fn digest_with(&self, others: &[Member]) -> Digest {
        let own = Member {
            mac: self.mac,
            ip: NONE,
        };
        digest_of(&[others, &[own]].concat())
    }

    /// Waits for a frame under way to give the daemon's table a digest.
    pub(crate) fn wait_for_digest(&self, digest: Digest) -> Result<()> {
        self.pass(FLIGHT);
        let found = self.daemon.digest();
        anyhow::ensure!(
            found == digest,
            "its table has {found:?} and not {digest:?}"
        );
        Ok(())
    }

    /// Waits for a frame of the daemon's since a mark of the recording.
    pub(crate) fn wait_from(&self, mark: usize, wanted: impl Fn(&Seen) -> bool) -> Result<Seen> {
        self.wait_in(self.patience(), mark, wanted)
    }

    /// Waits for a frame of the daemon's since a mark of the recording, for so long.
    pub(crate) fn wait_in(
        &self,
        timeout: Duration,
        mark: usize,
        wanted: impl Fn(&Seen) -> bool,
    ) -> Result<Seen> {
        let mut next = mark;
        let found = self.world.wait(timeout, |inner| {
            let recording = inner.segment.recording();
            let mut new = recording[next..].iter();
            next = recording.len();
            let found = new.find(|seen| seen.port == DAEMON && wanted(seen));
            found.cloned()
        });
        found.with_context(|| {
            let sent = self.sent_from(mark);
            format!("what was waited for did not come in {timeout:?}; what was sent: {sent:#?}")
        })
    }

    /// The recording's mark for [`Stand::wait_from`].
    pub(crate) fn mark(&self) -> usize {
        self.world.with(|inner| inner.segment.recording().len())
    }

    /// What the daemon has sent since a mark.
    pub(crate) fn sent_from(&self, mark: usize) -> Vec<Seen> {
        self.world.with(|inner| {
            let recording = &inner.segment.recording()[mark..];
            let sent = recording.iter().filter(|seen| seen.port == DAEMON);
            sent.cloned().collect()
        })
    }

    /// What the daemon sends in a span of time.
    pub(crate) fn watch(&self, window: Duration) -> Vec<Seen> {
        let mark = self.mark();
        self.pass(window);
        self.sent_from(mark)
    }
}
