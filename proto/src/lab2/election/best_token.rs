//! The strongest known token with its holder and data, and the number of this node's last chain. Only this module
//! changes the state that must survive a restart, so each change is stored.

use std::hash::Hash;
use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::{DATA_LEN_MAX, PROGRESS_MAX, Token};

use crate::lab2::StoredState;
use crate::lab2::machine::{Context, Writer};
use crate::time::{Instant, nanos};

/// How far a wall clock may raise a token's progress above the known one.
const CLOCK_LEAD_MAX: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// The year 2001, in nanoseconds since 1970. A token of less progress was not raised by a clock, and tells no time.
const CLOCK_PROGRESS_MIN: u64 = 1_000_000_000_000_000_000;
/// The year 2116, in nanoseconds since 1970: the most that a wall clock gives. Half of all progress is left then.
const CLOCK_PROGRESS_MAX: u64 = 1 << 62;

/// `known`, the strongest token seen, with its holder and data; currentMyTokenNumber and heardAboutToken.
#[derive(Debug, Clone)]
pub(crate) struct BestToken {
    token: Option<Token>,
    holder: MacAddr,
    data: Vec<u8>,
    /// currentMyTokenNumber.
    own_number: u32,
    /// heardAboutToken.
    heard: Option<Instant>,
    /// When the token was last strengthened, or heard of as alive.
    last_alive: Option<Instant>,
    /// The member that is heard to hold the token.
    owner: Option<MacAddr>,
    /// When a broadcast TOKEN_IS_HERE was last heard or sent.
    last_heartbeat: Option<Instant>,
    /// Whether it must be stored.
    unstored: bool,
    /// The token and the number that were stored last.
    stored: (Option<Token>, u32),
}

impl BestToken {
    /// Creates the state from the stored one. Holder and data are not stored.
    pub(crate) fn new(stored: &StoredState) -> Self {
        Self {
            token: stored.known,
            holder: author_of(stored.known),
            data: Vec::with_capacity(DATA_LEN_MAX),
            own_number: stored.my_token_number,
            heard: None,
            last_alive: None,
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

    /// Returns the member that is heard to hold the token.
    pub(crate) const fn owner(&self) -> Option<MacAddr> {
        self.owner
    }

    /// Notes the member that is heard to hold the token. Returns whether it has changed.
    pub(crate) fn set_owner(&mut self, owner: Option<MacAddr>) -> bool {
        std::mem::replace(&mut self.owner, owner) != owner
    }

    /// Returns when a broadcast TOKEN_IS_HERE was last heard or sent.
    pub(crate) const fn last_heartbeat(&self) -> Option<Instant> {
        self.last_heartbeat
    }

    /// Notes that a broadcast TOKEN_IS_HERE was heard or sent.
    pub(crate) fn note_heartbeat(&mut self, at: Instant) {
        self.last_heartbeat = self.last_heartbeat.max(Some(at));
    }

    /// Forgets the last heartbeat, because the link was down since.
    pub(crate) fn forget_heartbeat(&mut self) {
        self.last_heartbeat = None;
    }

    /// Whether `token` is stronger than the known one.
    pub(crate) fn is_outdone_by(&self, token: &Token) -> bool {
        self.token
            .is_none_or(|known| token.is_stronger_than(&known))
    }

    /// Takes a token that is at least as strong as the known one. Returns whether it is stronger: then it must be
    /// stored.
    pub(crate) fn learn(
        &mut self,
        now: Instant,
        token: Token,
        holder: MacAddr,
        data: Option<&[u8]>,
    ) -> bool {
        let stronger = self.is_outdone_by(&token);
        // The holder of an equal token may have changed the data.
        if stronger || self.token == Some(token) {
            self.token = Some(token);
            self.holder = holder;
            if let Some(data) = data {
                self.set_data(data);
            }
        }
        if stronger {
            // Frames may name it soon, and a restart must not forget it.
            self.unstored = true;
            self.last_alive = Some(now);
        }
        stronger
    }

    /// Uses up a chain number. It is stored, so that it is never used again.
    fn take_number(&mut self, number: u32) {
        self.own_number = number;
        self.unstored = true;
    }

    const fn next_number(&self) -> u32 {
        self.own_number.wrapping_add(1)
    }

    /// Mints a token of a new chain that is stronger than all known ones. Its progress is `least` or more.
    pub(crate) fn mint(&mut self, author: MacAddr, least: u64) -> Token {
        let number = self.next_number();
        self.take_number(number);
        let known = self.token.map_or(0, |known| known.progress);
        Token {
            progress: least.max(known + 1).min(PROGRESS_MAX),
            author,
            number,
        }
    }

    /// Returns this node's candidate: (`known.progress` + 1, its MAC address, currentMyTokenNumber + 1).
    pub(crate) fn candidate(&self, context: &Context) -> Token {
        Token {
            progress: self
                .token
                .map_or(1, |known| (known.progress + 1).min(PROGRESS_MAX)),
            author: context.me(),
            number: self.next_number(),
        }
    }

    /// Creates the token of a candidate that no member has objected to. Also returns by how much the wall clock is
    /// ahead, if that is too much.
    pub(crate) fn create_token(
        &mut self,
        wall: u64,
        candidate: Token,
    ) -> (Token, Option<Duration>) {
        // A token that could not be sent is created again as it was, even if the wall clock was set meanwhile.
        let again =
            |known: &Token| known.same_chain(&candidate) && known.progress >= candidate.progress;
        let before = self.token.filter(again);
        let (floor, ahead) =
            before.map_or_else(|| self.clock_floor(wall), |known| (known.progress, None));
        let progress = candidate.progress.max(floor).min(PROGRESS_MAX);
        self.take_number(candidate.number);
        let token = Token {
            progress,
            ..candidate
        };
        (token, ahead)
    }

    /// Returns the lowest progress that the wall clock asks for, and by how much the clock is too far ahead.
    fn clock_floor(&self, wall: u64) -> (u64, Option<Duration>) {
        let known = self.token.map_or(0, |known| known.progress);
        // Without a known time there is no way to see that the clock is wrong.
        let most = if known < CLOCK_PROGRESS_MIN {
            CLOCK_PROGRESS_MAX
        } else {
            known
                .saturating_add(nanos(CLOCK_LEAD_MAX))
                .min(CLOCK_PROGRESS_MAX)
        };
        let ahead = Duration::from_nanos(wall.saturating_sub(known));
        (wall.min(most), (wall > most).then_some(ahead))
    }

    /// Returns heardAboutToken.
    pub(crate) const fn heard(&self) -> Option<Instant> {
        self.heard
    }

    /// Notes that the token was heard of.
    pub(crate) fn note_heard(&mut self, at: Instant) {
        self.heard = self.heard.max(Some(at));
    }

    /// Notes that a holder of the token was heard.
    pub(crate) fn note_alive(&mut self, now: Instant) {
        self.last_alive = Some(now);
    }

    /// Whether a holder of the token was heard recently.
    pub(crate) fn is_known_alive(&self, context: &Context) -> bool {
        let lately = alive_for(context);
        self.last_alive
            .is_some_and(|at| context.now().since(at) < lately)
    }

    /// Returns the state that must survive a restart.
    pub(crate) fn durable(&self) -> StoredState {
        StoredState {
            my_token_number: self.own_number,
            known: self.token,
            stamp: None,
        }
    }

    /// Returns whether the state must be stored, and counts it as stored until it changes.
    pub(crate) fn take_unstored(&mut self) -> bool {
        std::mem::take(&mut self.unstored)
    }

    /// Requests another attempt to store the state.
    pub(crate) fn store_again(&mut self) {
        self.unstored = true;
    }

    /// Notes that the present state was stored.
    pub(crate) fn note_stored(&mut self) {
        self.stored = (self.token, self.own_number);
    }

    /// Forgets a token that could not be stored.
    pub(crate) fn restore(&mut self) {
        let (token, _) = self.stored;
        if self.token != token {
            self.token = token;
            // The holder was not stored. The author is the best guess.
            self.holder = author_of(token);
        }
    }

    /// Times beyond the rules' limits count as equal. The stored state matters only while writes fail.
    pub(crate) fn snapshot(&self, writer: &mut Writer, context: &Context, is_unstored: bool) {
        let Self {
            token,
            holder,
            data,
            own_number,
            heard,
            last_alive,
            owner,
            last_heartbeat,
            unstored,
            stored,
        } = self;
        (token, holder, data, own_number, unstored, owner).hash(writer);
        is_unstored.then_some(stored).hash(writer);
        writer.age_up_to(*heard, context.waiter_timeout());
        writer.within(*last_alive, alive_for(context));
        writer.within(*last_heartbeat, context.constants().heartbeat);
    }
}

/// Returns how long a token counts as alive after it was heard of.
fn alive_for(context: &Context) -> Duration {
    let constants = context.constants();
    constants.heartbeat + 2 * constants.take_timeout
}

fn author_of(token: Option<Token>) -> MacAddr {
    token.map_or_else(MacAddr::default, |token| token.author)
}
