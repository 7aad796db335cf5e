//! A daemon between two peers, to test how one node behaves on the wire.

use std::time::Instant;

use anyhow::{Context, Result};
use pnet::util::MacAddr;

use crate::daemon::{Binaries, Daemon, Ringd};
use crate::limit::WAIT_LIMIT;
use crate::peer::Peer;
use crate::segment::Segment;
use crate::timing::Timing;
use crate::wire::{Digest, Message, Seen, Token};

const DAEMON: usize = 1;

/// One daemon, a peer with a smaller MAC and a peer with a larger MAC.
#[derive(Debug)]
pub struct Stand {
    pub daemon: Daemon,
    /// `02:00:00:00:00:01`. At equal progress, the tokens and candidates of this peer beat the tokens and candidates of
    /// the daemon.
    pub low: Peer,
    /// `02:00:00:00:00:03`. At equal progress the daemon's tokens beat the tokens of this peer. This peer follows the
    /// daemon in ring order.
    pub high: Peer,
    pub segment: Segment,
    pub timing: Timing,
}

impl Stand {
    /// Starts the daemon, after the peers have begun to listen.
    pub fn new(binaries: Binaries, timing: Timing) -> Result<Self> {
        Self::on(Segment::bridge(3)?, binaries, timing, |ringd| ringd)
    }

    /// Starts a daemon with further options on an existing segment of three nodes.
    pub fn on(
        segment: Segment,
        binaries: Binaries,
        timing: Timing,
        options: impl FnOnce(Ringd) -> Ringd,
    ) -> Result<Self> {
        let (low, high) = (segment.node(0).peer()?, segment.node(2).peer()?);
        let daemon = options(segment.node(DAEMON).ringd(binaries).timing(&timing)).spawn()?;
        Ok(Self {
            daemon,
            low,
            high,
            segment,
            timing,
        })
    }

    pub fn mac(&self) -> MacAddr {
        self.daemon.node().mac()
    }

    /// Waits until the daemon has elected itself. Returns the daemon's token.
    pub fn elect(&self) -> Result<Token> {
        let heartbeat = self.wait_from(0, is_heartbeat)?;
        heartbeat.message.token().context("a heartbeat has a token")
    }

    /// Makes the daemon a WAITER for a token of the peer `low`. Returns the token.
    pub fn follow(&self) -> Result<Token> {
        let token = self.token_of(&self.low, 1000);
        self.wait_from(0, |seen| seen.message == Message::WhereIsToken)?;
        self.low.broadcast(&token_is_here(token))?;
        self.wait_for_state("WAITER")?;
        Ok(token)
    }

    /// Makes the daemon an OWNER with a TAKE_TOKEN of the peer `low`. Returns the token.
    pub fn give(&self) -> Result<Token> {
        let token = self.token_of(&self.low, 1000);
        self.wait_from(0, |seen| seen.message == Message::WhereIsToken)?;
        self.offer_until(&self.low, &take_token(token), |seen| {
            matches!(seen.message, Message::TokenIsHere { token: held, .. } if held == token)
        })?;
        self.wait_for_state("OWNER")?;
        Ok(token)
    }

    /// Offers a token to the daemon, and waits for a frame that `answered` accepts. Repeats the offer after
    /// TAKE_TIMEOUT as every giver does, because a delayed daemon drops old offers.
    fn offer_until(
        &self,
        giver: &Peer,
        offer: &Message,
        answered: impl Fn(&Seen) -> bool,
    ) -> Result<Seen> {
        let mark = self.mark();
        let deadline = Instant::now() + WAIT_LIMIT;
        loop {
            giver.send(self.mac(), offer)?;
            let left = deadline.saturating_duration_since(Instant::now());
            let wait = self.timing.take_timeout.min(left);
            let capture = self.segment.capture();
            let answer =
                capture.wait_from(mark, wait, |seen| seen.port == DAEMON && answered(seen));
            if answer.is_ok() || Instant::now() >= deadline {
                return answer.context("the daemon did not answer the offer");
            }
        }
    }

    pub fn wait_for_state(&self, state: &str) -> Result<()> {
        self.daemon
            .wait_for_status(WAIT_LIMIT, |status| status["state"] == state)?;
        Ok(())
    }

    /// Returns a token of a peer's first chain. The token's progress is `progress`.
    pub fn token_of(&self, peer: &Peer, progress: u64) -> Token {
        Token {
            progress,
            author: peer.mac(),
            number: 1,
        }
    }

    /// Waits for a frame that the daemon sends after a mark.
    pub fn wait_from(&self, mark: usize, wanted: impl Fn(&Seen) -> bool) -> Result<Seen> {
        let capture = self.segment.capture();
        capture.wait_from(mark, WAIT_LIMIT, |seen| seen.port == DAEMON && wanted(seen))
    }

    /// Returns the capture's mark for [`Stand::wait_from`].
    pub fn mark(&self) -> usize {
        self.segment.capture().mark()
    }

    pub fn sent_from(&self, mark: usize) -> Vec<Seen> {
        let mut frames = self.segment.capture().frames_from(mark);
        frames.retain(|seen| seen.port == DAEMON);
        frames
    }
}

/// Whether a frame is a broadcast TOKEN_IS_HERE.
pub fn is_heartbeat(seen: &Seen) -> bool {
    seen.is_broadcast() && matches!(seen.message, Message::TokenIsHere { .. })
}

/// Whether a frame claims a token: TOKEN_IS_HERE or TAKE_TOKEN.
pub fn is_claim(seen: &Seen) -> bool {
    matches!(
        seen.message,
        Message::TokenIsHere { .. } | Message::TakeToken { .. }
    )
}

pub fn token_is_here(token: Token) -> Message {
    Message::TokenIsHere {
        token,
        digest: OTHER_DIGEST,
        data: Vec::new(),
    }
}

pub fn take_token(token: Token) -> Message {
    Message::TakeToken {
        token,
        digest: OTHER_DIGEST,
        data: Vec::new(),
    }
}

/// A digest that differs from the digest of every table.
pub const OTHER_DIGEST: Digest = Digest { size: 1, hash: 0 };
