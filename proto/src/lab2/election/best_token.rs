//! The strongest known token with its holder and data, and the number of this node's last chain. The token and the
//! number must survive a restart. Only this module changes the token and the number, so it notes each change that must
//! be stored.

use std::hash::Hash;
use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::{DATA_LEN_MAX, PROGRESS_MAX, Token};

use crate::lab2::StoredState;
use crate::lab2::machine::{Context, Writer};
use crate::time::{Instant, nanos};

/// The maximum amount by which a wall clock may raise a new token's progress above the known progress.
const CLOCK_LEAD_MAX: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// A time in 2001, in nanoseconds since 1970. A smaller progress never came from a clock, so it is not a time.
const CLOCK_PROGRESS_MIN: u64 = 1_000_000_000_000_000_000;
/// A time in 2116, in nanoseconds since 1970. A wall clock never raises progress above this value. So half of the range
/// of progress stays free.
const CLOCK_PROGRESS_MAX: u64 = 1 << 62;

/// Three values that a node keeps about tokens: `known` (the strongest token seen, with its holder and data),
/// currentMyTokenNumber and heardAboutToken.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
pub(crate) struct BestToken {
    token: Option<Token>,
    holder: MacAddr,
    data: Vec<u8>,
    /// currentMyTokenNumber: the number of the last chain that this node minted.
    own_number: u32,
    /// heardAboutToken: the time at which this node last heard about the token.
    heard: Option<Instant>,
    /// The last time at which `token` became stronger, or at which its holder was heard.
    last_alive: Option<Instant>,
    /// The member that was last heard to hold the token.
    owner: Option<MacAddr>,
    /// The time at which a broadcast TOKEN_IS_HERE was last heard or sent.
    last_heartbeat: Option<Instant>,
    /// Whether the token and the number have unstored changes.
    unstored: bool,
    /// The stored token and the stored number.
    stored: (Option<Token>, u32),
}

impl BestToken {
    /// Creates the state of a node that starts from `stored`. The stored state contains no holder and no data.
    pub(crate) fn new(stored: &StoredState) -> Self {
        Self {
            token: stored.known,
            holder: author_of(stored.known),
            // Room for the longest data, so that a hop allocates no memory.
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

    /// Returns the member that was last heard to hold the token.
    pub(crate) const fn owner(&self) -> Option<MacAddr> {
        self.owner
    }

    /// Records the member that was last heard to hold the token. Returns whether this member differs from the
    /// previously recorded member.
    pub(crate) fn set_owner(&mut self, owner: Option<MacAddr>) -> bool {
        std::mem::replace(&mut self.owner, owner) != owner
    }

    /// Returns the time at which a broadcast TOKEN_IS_HERE was last heard or sent.
    pub(crate) const fn last_heartbeat(&self) -> Option<Instant> {
        self.last_heartbeat
    }

    /// Notes that a broadcast TOKEN_IS_HERE was heard or sent.
    pub(crate) fn note_heartbeat(&mut self, at: Instant) {
        // A frame that waited in the queue may be older than a heartbeat that this node has sent meanwhile.
        self.last_heartbeat = self.last_heartbeat.max(Some(at));
    }

    /// Forgets the last heartbeat. Call this function when the link went down after this heartbeat.
    pub(crate) fn forget_heartbeat(&mut self) {
        self.last_heartbeat = None;
    }

    /// Whether `token` is stronger than the known token.
    pub(crate) fn is_outdone_by(&self, token: &Token) -> bool {
        self.token
            .is_none_or(|known| token.is_stronger_than(&known))
    }

    /// Replaces the known token by an equal or stronger token. Returns whether the new token is stronger and therefore
    /// must be stored.
    pub(crate) fn learn(
        &mut self,
        now: Instant,
        token: Token,
        holder: MacAddr,
        data: Option<&[u8]>,
    ) -> bool {
        let stronger = self.is_outdone_by(&token);
        // For an equal token, the holder may have changed the data.
        if stronger || self.token == Some(token) {
            self.token = Some(token);
            self.holder = holder;
            if let Some(data) = data {
                self.set_data(data);
            }
        }
        if stronger {
            // The next frames may name this token, so this node must still know it after a restart.
            self.unstored = true;
            self.last_alive = Some(now);
        }
        stronger
    }

    /// Notes that a chain number is used. The node stores the number, so it never uses this number for a second chain.
    fn take_number(&mut self, number: u32) {
        self.own_number = number;
        self.unstored = true;
    }

    const fn next_number(&self) -> u32 {
        // After 2^32 chains the numbers repeat, but the tokens still differ in their progress.
        self.own_number.wrapping_add(1)
    }

    /// Mints a token of a new chain. The new token is stronger than all known tokens, and its progress is at least
    /// `least`.
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

    /// Returns this node's candidate: (`known.progress` + 1, this node's MAC address, currentMyTokenNumber + 1).
    pub(crate) fn candidate(&self, context: &Context) -> Token {
        Token {
            progress: self
                .token
                .map_or(1, |known| (known.progress + 1).min(PROGRESS_MAX)),
            author: context.me(),
            number: self.next_number(),
        }
    }

    /// Creates the token of this node's candidate. The members did not object to this candidate. If the wall clock is
    /// too far ahead of the known progress, also returns the lead of the clock.
    pub(crate) fn create_token(
        &mut self,
        wall: u64,
        candidate: Token,
    ) -> (Token, Option<Duration>) {
        // If the first heartbeat could not be sent, the same token is created again, even if the wall clock was changed
        // meanwhile.
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

    /// Returns the progress that the wall clock gives to a new token. If the wall clock is too far ahead of the known
    /// progress, also returns the lead of the clock.
    fn clock_floor(&self, wall: u64) -> (u64, Option<Duration>) {
        let known = self.token.map_or(0, |known| known.progress);
        // If the progress of the known token is not a time, this node cannot see that its clock is wrong.
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
    pub(crate) const fn last_heard(&self) -> Option<Instant> {
        self.heard
    }

    /// Notes that this node has heard about the token at this time.
    pub(crate) fn note_heard(&mut self, at: Instant) {
        // `at` is the time of arrival, which may be earlier than the last handover of this node.
        self.heard = self.heard.max(Some(at));
    }

    /// Notes that the holder of the strongest known token was heard.
    pub(crate) fn note_alive(&mut self, now: Instant) {
        self.last_alive = Some(now);
    }

    /// Whether the holder of the strongest known token was heard recently.
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

    /// Returns whether the state has unstored changes. From now on, these changes count as stored.
    pub(crate) fn take_unstored(&mut self) -> bool {
        std::mem::take(&mut self.unstored)
    }

    /// Requests a further attempt to store the state.
    pub(crate) fn store_again(&mut self) {
        self.unstored = true;
    }

    /// Notes that the present state is stored now.
    pub(crate) fn note_stored(&mut self) {
        self.stored = (self.token, self.own_number);
    }

    /// Forgets a token that could not be stored.
    pub(crate) fn restore(&mut self) {
        // The number is not restored, because a number that is skipped does no harm.
        let (token, _) = self.stored;
        if self.token != token {
            self.token = token;
            // The holder is not stored. The author of the token is the best guess.
            self.holder = author_of(token);
        }
    }

    /// Writes the state. If a time is so old that all rules treat it alike, the snapshot does not distinguish it from
    /// older times. The stored values are included only while writes fail, because they matter only while writes fail.
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

/// Returns how long a token counts as alive after its holder was last heard.
fn alive_for(context: &Context) -> Duration {
    let constants = context.constants();
    // The holder of a living token sends a heartbeat within this time, even if a handover delays the heartbeat.
    constants.heartbeat + 2 * constants.take_timeout
}

fn author_of(token: Option<Token>) -> MacAddr {
    token.map_or_else(MacAddr::default, |token| token.author)
}
