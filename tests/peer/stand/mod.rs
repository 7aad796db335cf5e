//! A daemon between two peers in virtual time. This stand replaces the stand of `ring_segment`. That stand needs a
//! kernel.

mod clock;
mod daemon;
mod host;
mod peer;
mod segment;
mod simulation;

use std::time::Duration;

use anyhow::{Context, Result};
use ring_proto::lab2::Constants;
use ring_segment::{
    Digest, MacAddr, Member, Message, Seen, Timing, Token, digest_of, is_heartbeat, take_token,
    token_is_here,
};

pub(crate) use clock::wall;
use daemon::Daemon;
use host::Host;
pub(crate) use peer::Peer;
pub(crate) use segment::FLIGHT;
use segment::{DAEMON, HIGH, LOW, mac};
use simulation::Simulation;

/// Longest time from a frame until the arrival of an answer that the daemon sends at once.
pub(crate) const AT_ONCE: Duration = FLIGHT.saturating_mul(2);
/// Unknown IP.
pub(crate) const NO_IP: [u8; 16] = [0; 16];

/// A daemon, a peer with a smaller MAC and a peer with a larger MAC.
#[derive(Debug)]
pub(crate) struct Stand {
    /// Daemon under test.
    pub daemon: Daemon,
    /// `02:00:00:00:00:01`. If the progress is equal, this peer's tokens and candidates beat the daemon's tokens and
    /// candidates.
    pub low: Peer,
    /// `02:00:00:00:00:03`. If the progress is equal, the daemon's tokens beat this peer's tokens. This peer follows
    /// the daemon in ring order.
    pub high: Peer,
    /// Constants of the daemon.
    pub timing: Timing,
    mac: MacAddr,
    simulation: Simulation,
}

impl Stand {
    /// Starts the daemon after the peers have begun to listen.
    pub(crate) fn new(timing: Timing) -> Self {
        Self::with(timing, NO_IP, |constants| constants)
    }

    /// Starts a daemon with an address and constants that [`Timing`] does not contain.
    pub(crate) fn with(
        timing: Timing,
        ip: [u8; 16],
        options: impl FnOnce(Constants) -> Constants,
    ) -> Self {
        let constants = options(host::constants(&timing));
        let simulation = Simulation::new(Host::new(constants, ip));
        Self {
            daemon: Daemon::new(&simulation),
            low: Peer::new(LOW, &simulation),
            high: Peer::new(HIGH, &simulation),
            timing,
            mac: mac(DAEMON),
            simulation,
        }
    }

    pub(crate) fn mac(&self) -> MacAddr {
        self.mac
    }

    /// Longest time that a test waits for events that depend on timeouts of the protocol.
    pub(crate) fn patience(&self) -> Duration {
        self.timing.one_owner_bound()
    }

    pub(crate) fn now(&self) -> Duration {
        self.simulation.now()
    }

    pub(crate) fn pass(&self, time: Duration) {
        self.simulation.pass(time);
    }

    /// Waits until the daemon has elected itself. Returns the daemon's token.
    pub(crate) fn elect(&self) -> Result<Token> {
        let heartbeat = self.wait_from(0, is_heartbeat)?;
        heartbeat.message.token().context("a heartbeat has a token")
    }

    /// Makes the daemon a WAITER for a token of the peer `low`. Returns the token.
    pub(crate) fn follow(&self) -> Result<Token> {
        let token = self.low.token(1000);
        self.low.broadcast(&token_is_here(token));
        self.wait_for_state("WAITER")?;
        Ok(token)
    }

    /// Makes the daemon an OWNER with a TAKE_TOKEN of the peer `low`. Returns the token.
    pub(crate) fn give(&self) -> Result<Token> {
        let token = self.low.token(1000);
        self.offer(&self.low, &take_token(token), |seen| {
            matches!(seen.message, Message::TokenIsHere { token: held, .. } if held == token)
        })?;
        self.daemon.expect_state("OWNER")?;
        Ok(token)
    }

    /// Offers a token to the daemon once, and waits for a frame that `answered` accepts.
    pub(crate) fn offer(
        &self,
        giver: &Peer,
        offer: &Message,
        answered: impl Fn(&Seen) -> bool,
    ) -> Result<Seen> {
        let mark = self.mark();
        giver.send(self.mac, offer);
        self.wait_in(FLIGHT, mark, answered)
            .context("the daemon did not answer the offer")
    }

    /// Waits until the frames that are under way have arrived. Checks that the daemon is in this state after the frames
    /// have arrived.
    pub(crate) fn wait_for_state(&self, state: &str) -> Result<()> {
        self.pass(FLIGHT);
        self.daemon.expect_state(state)
    }

    /// Returns the digest of a table that contains these other members, and the daemon without an IP.
    pub(crate) fn digest_with(&self, others: &[Member]) -> Digest {
        let own = Member {
            mac: self.mac,
            ip: NO_IP,
        };
        digest_of(&[others, &[own]].concat())
    }

    /// Waits until the frames that are under way have arrived. Then checks that the daemon's table has this digest.
    pub(crate) fn wait_for_digest(&self, digest: Digest) -> Result<()> {
        self.pass(FLIGHT);
        let found = self.daemon.digest();
        anyhow::ensure!(
            found == digest,
            "the table has {found:?} instead of {digest:?}"
        );
        Ok(())
    }

    /// Waits for a frame that the daemon sends after a mark.
    pub(crate) fn wait_from(&self, mark: usize, wanted: impl Fn(&Seen) -> bool) -> Result<Seen> {
        self.wait_in(self.patience(), mark, wanted)
    }

    /// Waits at most `timeout` for a frame that the daemon sends after a mark.
    pub(crate) fn wait_in(
        &self,
        timeout: Duration,
        mark: usize,
        wanted: impl Fn(&Seen) -> bool,
    ) -> Result<Seen> {
        let mut next = mark;
        let found = self.simulation.wait(timeout, |inner| {
            let recording = inner.segment.recording();
            let mut new = recording[next..].iter();
            next = recording.len();
            let found = new.find(|seen| seen.port == DAEMON && wanted(seen));
            found.cloned()
        });
        found.with_context(|| {
            let sent = self.sent_from(mark);
            format!("the expected frame did not arrive in {timeout:?}; the daemon sent: {sent:#?}")
        })
    }

    /// Returns the end of the recording, for [`Stand::wait_from`].
    pub(crate) fn mark(&self) -> usize {
        self.simulation
            .with(|inner| inner.segment.recording().len())
    }

    /// Returns the frames that the daemon sent after a mark.
    pub(crate) fn sent_from(&self, mark: usize) -> Vec<Seen> {
        self.simulation.with(|inner| {
            let recording = &inner.segment.recording()[mark..];
            let sent = recording.iter().filter(|seen| seen.port == DAEMON);
            sent.cloned().collect()
        })
    }

    /// Returns the frames that the daemon sends during `window`.
    pub(crate) fn watch(&self, window: Duration) -> Vec<Seen> {
        let mark = self.mark();
        self.pass(window);
        self.sent_from(mark)
    }
}
