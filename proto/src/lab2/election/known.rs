//! What the node knows of the token: the strongest that it has seen, who holds it, and its own part in it. What must
//! survive a restart changes here alone, and is stored because it has changed.

use std::hash::Hash;
use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::{MAX_DATA_LEN, MAX_PROGRESS, Token};

use crate::lab2::Durable;
use crate::lab2::machine::{Context, Writer};
use crate::time::{Instant, nanos};

/// By so much a wall clock takes a token ahead of what is known, at the most.
const MOST_AHEAD: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// In a token of less progress no clock had a say, in nanoseconds since 1970: the year 2001. It says nothing of the
/// time.
const FIRST: u64 = 1_000_000_000_000_000_000;
/// No wall clock takes a token further, in nanoseconds since 1970: the year 2116. Half of all progress is left
/// then.
const LATEST: u64 = 1 << 62;

/// `known`, the token with its holder and data; and currentMyTokenNumber and heardAboutToken.
#[derive(Debug, Clone)]
pub(crate) struct Known {
    token: Option<Token>,
    holder: MacAddr,
    data: Vec<u8>,
    /// currentMyTokenNumber.
    own_number: u32,
    /// heardAboutToken.
    heard: Option<Instant>,
    /// When the token was last strengthened, or heard of as alive.
    vouched: Option<Instant>,
    /// Who is heard to hold the token.
    owner: Option<MacAddr>,
    /// When a broadcast TOKEN_IS_HERE was last heard or sent.
    last_heartbeat: Option<Instant>,
    /// It is to be stored.
    unstored: bool,
    /// The token that was stored last, with the number.
    stored: (Option<Token>, u32),
}

impl Known {
    /// What an earlier run has stored: its holder and data are no longer known.
    pub(crate) fn new(stored: &Durable) -> Self {
        Self {
            token: stored.known,
            holder: author_of(stored.known),
            data: Vec::with_capacity(MAX_DATA_LEN),
            own_number: stored.my_token_number,
            heard: None,
            vouched: None,
            owner: None,
            last_heartbeat: None,
            unstored: false,
            stored: (stored.known, stored.my_token_number),
        }
    }

    pub(crate) const fn token(&self) -> Option<Token> {
        self.token
    }

    pub(crate) const fn holder(&self) -> MacAddr {
        self.holder
    }

    pub(crate) fn data(&self) -> &[u8] {
        &self.data
    }

    pub(crate) fn set_data(&mut self, data: &[u8]) {
        self.data.clear();
        self.data.extend_from_slice(data);
    }

    /// Who is heard to hold the token.
    pub(crate) const fn owner(&self) -> Option<MacAddr> {
        self.owner
    }

    /// Notes who is heard to hold the token. Returns whether that is another than before.
    pub(crate) fn set_owner(&mut self, owner: Option<MacAddr>) -> bool {
        std::mem::replace(&mut self.owner, owner) != owner
    }

    /// When a broadcast TOKEN_IS_HERE was last heard or sent.
    pub(crate) const fn last_heartbeat(&self) -> Option<Instant> {
        self.last_heartbeat
    }

    /// A broadcast TOKEN_IS_HERE was heard, or sent.
    pub(crate) fn note_heartbeat(&mut self, at: Instant) {
        self.last_heartbeat = self.last_heartbeat.max(Some(at));
    }

    /// Heartbeats of before the link came up are of no use.
    pub(crate) fn forget_heartbeat(&mut self) {
        self.last_heartbeat = None;
    }

    /// Whether `token` is stronger than what is known.
    pub(crate) fn is_outdone_by(&self, token: &Token) -> bool {
        self.token
            .is_none_or(|known| token.is_stronger_than(&known))
    }

    /// Takes over a token that is not weaker, and says whether it is stronger: then it is to be stored.
    pub(crate) fn learn(
        &mut self,
        now: Instant,
        token: Token,
        holder: MacAddr,
        data: Option<&[u8]>,
    ) -> bool {
        let stronger = self.is_outdone_by(&token);
        if stronger || self.token == Some(token) {
            self.token = Some(token);
            self.holder = holder;
            if let Some(data) = data {
                self.set_data(data);
            }
        }
        if stronger {
            self.unstored = true;
            self.vouched = Some(now);
        }
        stronger
    }

    /// The next token that this node makes has this number, and none has after it.
    fn use_number(&mut self, number: u32) {
        self.own_number = number;
        self.unstored = true;
    }

    const fn next_number(&self) -> u32 {
        self.own_number.wrapping_add(1)
    }

    /// Makes a token of a new chain, stronger than all that is known here, with a progress of `least` or more.
    pub(crate) fn mint(&mut self, author: MacAddr, least: u64) -> Token {
        let number = self.next_number();
        self.use_number(number);
        let known = self.token.map_or(0, |known| known.progress);
        Token {
            progress: least.max(known + 1).min(MAX_PROGRESS),
            author,
            number,
        }
    }

    /// What this node would generate: (`known.progress` + 1, own MAC, currentMyTokenNumber + 1).
    pub(crate) fn candidate(&self, context: &Context) -> Token {
        Token {
            progress: self
                .token
                .map_or(1, |known| (known.progress + 1).min(MAX_PROGRESS)),
            author: context.me(),
            number: self.next_number(),
        }
    }

    /// Makes the token of a candidate to whom nobody has objected. The wall clock keeps generated tokens ahead of forgotten
    /// ones, and is not to be trusted in more than that (`docs/protocol.md`, "The order of tokens"): returns as well how far it
    /// is ahead, if that is too far.
    pub(crate) fn generate(&mut self, wall: u64, candidate: Token) -> (Token, Option<Duration>) {
        // It is made again if it could not be sent, as it was: the wall clock may have been set.
        let again =
            |known: &Token| known.same_chain(&candidate) && known.progress >= candidate.progress;
        let before = self.token.filter(again);
        let (floor, ahead) =
            before.map_or_else(|| self.clock_floor(wall), |known| (known.progress, None));
        let progress = candidate.progress.max(floor).min(MAX_PROGRESS);
        self.use_number(candidate.number);
        let token = Token {
            progress,
            ..candidate
        };
        (token, ahead)
    }

    /// The least progress of a token that this node generates now, as far as its clock has a say.
    fn clock_floor(&self, wall: u64) -> (u64, Option<Duration>) {
        let known = self.token.map_or(0, |known| known.progress);
        let most = if known < FIRST {
            LATEST
        } else {
            known.saturating_add(nanos(MOST_AHEAD)).min(LATEST)
        };
        let ahead = Duration::from_nanos(wall.saturating_sub(known));
        (wall.min(most), (wall > most).then_some(ahead))
    }

    /// heardAboutToken.
    pub(crate) const fn heard(&self) -> Option<Instant> {
        self.heard
    }

    /// The token was heard of.
    pub(crate) fn hear(&mut self, at: Instant) {
        self.heard = self.heard.max(Some(at));
    }

    /// Somebody has spoken for the token.
    pub(crate) fn vouch(&mut self, now: Instant) {
        self.vouched = Some(now);
    }

    /// Whether somebody has spoken for the token not long ago.
    pub(crate) fn is_vouched_for(&self, context: &Context) -> bool {
        let lately = hearsay_lasts(context);
        self.vouched
            .is_some_and(|at| context.now().since(at) < lately)
    }

    /// What must survive a restart, as it is now.
    pub(crate) fn durable(&self) -> Durable {
        Durable {
            my_token_number: self.own_number,
            known: self.token,
            stamp: None,
        }
    }

    /// Whether it is to be stored: not again until it changes.
    pub(crate) fn take_unstored(&mut self) -> bool {
        std::mem::take(&mut self.unstored)
    }

    /// Has it stored, though it has not changed.
    pub(crate) fn store_again(&mut self) {
        self.unstored = true;
    }

    /// It was stored as it is now.
    pub(crate) fn note_stored(&mut self) {
        self.stored = (self.token, self.own_number);
    }

    /// Forgets the token that could not be stored.
    pub(crate) fn restore(&mut self) {
        let (token, _) = self.stored;
        if self.token != token {
            self.token = token;
            self.holder = author_of(token);
        }
    }

    /// A WAITER's patience that has run out can run out no further, nor is it asked who has spoken for the token long
    /// ago. What was stored is of use only while nothing can be.
    pub(crate) fn snapshot(&self, writer: &mut Writer, context: &Context, is_unstored: bool) {
        let Self {
            token,
            holder,
            data,
            own_number,
            heard,
            vouched,
            owner,
            last_heartbeat,
            unstored,
            stored,
        } = self;
        (token, holder, data, own_number, unstored, owner).hash(writer);
        is_unstored.then_some(stored).hash(writer);
        writer.age_up_to(*heard, context.waiter_timeout());
        writer.within(*vouched, hearsay_lasts(context));
        writer.within(*last_heartbeat, context.constants().heartbeat);
    }
}

/// For how long a token counts as alive that was heard of.
fn hearsay_lasts(context: &Context) -> Duration {
    let constants = context.constants();
    constants.heartbeat + 2 * constants.take_timeout
}

fn author_of(token: Option<Token>) -> MacAddr {
    token.map_or_else(MacAddr::default, |token| token.author)
}
