//! A member of the ring by a second, small implementation, which shares no code with `ringd`.
//!
//! It takes the token, holds it for as long as it has work and hands it on; it looks for the token
//! when it is lost, but never stands for election. `docs/protocol.md` is what it follows.

mod passing;
mod runner;
mod table;
#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use ring_segment::{MacAddr, Message, Seen, Timing, Token};

use passing::Passing;
pub use runner::{Handle, Says, start};
use table::Table;

/// TAKE_ATTEMPTS.
const ATTEMPTS: u32 = 3;

/// A message and whom it is for.
pub type Letter = (MacAddr, Message);

/// What the member is.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Role {
    /// Asks for the token at this time.
    Looser {
        ask: Duration,
    },
    Waiter,
    Owner(Tenure),
}

/// The token in hand.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Tenure {
    token: Token,
    /// The next heartbeat.
    heartbeat: Duration,
    /// The last one.
    told: Duration,
    /// The work is done.
    done: Duration,
    passing: Option<Passing>,
}

/// The member, without a socket and a clock.
#[derive(Debug)]
pub struct Member {
    mac: MacAddr,
    timing: Timing,
    table: Table,
    /// The strongest token seen, its holder and its data.
    known: Option<(Token, MacAddr)>,
    /// When that was strengthened, or its holder last spoke for itself.
    confirmed: Duration,
    /// The last objection to a weaker token, and the last answer to a weaker claim.
    objected: Option<Duration>,
    answered: Option<Duration>,
    data: Vec<u8>,
    /// heardAboutToken.
    heard: Duration,
    /// The last broadcast TOKEN_IS_HERE of anybody.
    heartbeat_heard: Duration,
    /// currentMyTokenNumber.
    number: u32,
    role: Role,
    wanting: BTreeSet<MacAddr>,
    /// Members that did not take the token, until when they are passed over.
    shunned: HashMap<MacAddr, Duration>,
    /// Members that say that they hear nobody.
    deaf: BTreeSet<MacAddr>,
    /// How long the token shall be held when it comes, and the next WANT_TOKEN.
    wish: Option<(Duration, Duration)>,
}

impl Member {
    /// A LOOSER that knows itself alone.
    pub fn new(mac: MacAddr, ip: [u8; 16], timing: Timing, now: Duration) -> Self {
        Self {
            mac,
            timing,
            table: Table::new(mac, ip),
            known: None,
            confirmed: Duration::ZERO,
            objected: None,
            answered: None,
            data: Vec::new(),
            heard: Duration::ZERO,
            heartbeat_heard: Duration::ZERO,
            number: 0,
            role: Role::Looser { ask: now },
            wanting: BTreeSet::new(),
            shunned: HashMap::new(),
            deaf: BTreeSet::new(),
            wish: None,
        }
    }

    /// Its state as the protocol spells it.
    pub fn state(&self) -> &'static str {
        match self.role {
            Role::Looser { .. } => "LOOSER",
            Role::Waiter => "WAITER",
            Role::Owner(_) => "OWNER",
        }
    }

    /// Whether it wants the token and has not got it yet.
    pub fn wants(&self) -> bool {
        self.wish.is_some()
    }

    /// Wants the token, to hold it for a while: at once if it has it.
    pub fn want(&mut self, now: Duration, hold: Duration) {
        match &mut self.role {
            Role::Owner(tenure) if tenure.passing.is_none() => tenure.done = now + hold,
            _ => {
                self.wish.get_or_insert((hold, now));
            }
        }
    }

    /// When [`Member::wake`] has something to do.
    pub fn deadline(&self) -> Duration {
        let own = match &self.role {
            Role::Looser { ask } => *ask,
            Role::Waiter => self.heard + self.timing.waiter_timeout(),
            Role::Owner(tenure) => {
                let next = tenure.passing.as_ref().map_or(tenure.done, Passing::due);
                next.min(tenure.heartbeat)
            }
        };
        self.wish.map_or(own, |(_, ask)| own.min(ask))
    }

    /// Does what is due.
    pub fn wake(&mut self, now: Duration) -> Vec<Letter> {
        let mut out = Vec::new();
        if let Some((_, ask)) = &mut self.wish
            && now >= *ask
        {
            *ask = now + self.timing.heartbeat;
            out.push((MacAddr::broadcast(), Message::WantToken));
        }
        match &self.role {
            Role::Looser { ask } if now >= *ask => self.ask(now, &mut out),
            Role::Waiter if now >= self.heard + self.timing.waiter_timeout() => {
                self.ask(now, &mut out);
            }
            Role::Owner(tenure) if now >= tenure.told + self.timing.waiter_timeout() => {
                // The others have given this one up: so has it itself.
                self.ask(now, &mut out);
            }
            Role::Owner(_) => self.rule(now, &mut out),
            Role::Looser { .. } | Role::Waiter => {}
        }
        out
    }

    /// Takes a frame that arrived at `seen.at` and is read at `now`.
    pub fn hear(&mut self, now: Duration, seen: &Seen) -> Vec<Letter> {
        let mut out = Vec::new();
        let author = seen.author;
        if matches!(seen.message, Message::Invalid(_)) || author == self.mac {
            return out;
        }
        self.table.meet(author);
        self.shunned.remove(&author);
        match seen.author_is_deaf() {
            Some(true) => _ = self.deaf.insert(author),
            Some(false) => _ = self.deaf.remove(&author),
            None => {}
        }
        if self.deaf.contains(&author) {
            // What it says of the token has nobody's answer, but an answer may be what it waits for.
            if matches!(seen.message, Message::TokenIsHere { .. })
                && self.table.may_tell(now, author, self.timing.heartbeat)
            {
                out.push((author, self.table.ping()));
            }
            return out;
        }
        match &seen.message {
            Message::TokenIsHere { token, data, .. } => {
                self.object(now, *token, author, &mut out);
                self.hear_of(now, *token, author, Some(data));
                self.heard = self.heard.max(seen.at);
                if seen.is_broadcast() {
                    self.heartbeat_heard = seen.at;
                }
                self.wanting.remove(&author);
                self.token_is_here(now, *token, author, &mut out);
            }
            Message::TakeToken { token, data, .. } => {
                self.wanting.remove(&author);
                let fresh = now.saturating_sub(seen.at) <= self.timing.take_timeout;
                if seen.dst == self.mac && fresh {
                    self.take(now, *token, author, data, &mut out);
                }
            }
            Message::TokenWasHereRecently { token, holder } => {
                let weaker = self.tenure_beaten_by(*token);
                self.hear_of(now, *token, *holder, None);
                if !self.complete(now, *token) && weaker {
                    self.outdo(now, *token, &mut out);
                }
            }
            Message::WhereIsToken => out.extend(self.whereabouts(author)),
            Message::GeneratingToken { .. } => {
                out.extend(self.whereabouts(author));
                if let Role::Owner(tenure) = &self.role {
                    out.push((MacAddr::broadcast(), self.here(tenure.token)));
                }
            }
            Message::WantToken => {
                self.wanting.insert(author);
            }
            Message::Leaving => {
                self.wanting.remove(&author);
            }
            Message::Ping { .. }
            | Message::RingMembers { .. }
            | Message::Stamps { .. }
            | Message::Forget { .. }
            | Message::Invalid(_) => {}
        }
        let (owner, period) = (matches!(self.role, Role::Owner(_)), self.timing.heartbeat);
        out.extend(self.table.hear(now, seen, owner, period));
        out
    }

    fn ask(&mut self, now: Duration, out: &mut Vec<Letter>) {
        let ask = now + self.timing.looser_timeout();
        self.role = Role::Looser { ask };
        out.push((MacAddr::broadcast(), Message::WhereIsToken));
    }

    /// Remembers the strongest token.
    fn hear_of(&mut self, now: Duration, token: Token, holder: MacAddr, data: Option<&[u8]>) {
        if self.known.is_some_and(|(known, _)| known == token) && data.is_some() {
            self.confirmed = now;
        }
        if self.known.is_none_or(|(known, _)| token.beats(&known)) {
            self.known = Some((token, holder));
            self.confirmed = now;
            if let Some(data) = data {
                self.data = data.to_vec();
            }
        }
    }

    /// Tells the holder of a weaker token of a stronger one whose holder is silent.
    fn object(&mut self, now: Duration, token: Token, holder: MacAddr, out: &mut Vec<Letter>) {
        let Some((known, last)) = self.known else {
            return;
        };
        let silence = self.timing.heartbeat + self.timing.take_timeout * 2;
        let rival = known.beats(&token) && known.chain() != token.chain();
        let silent = now >= self.confirmed + silence;
        let due = silent && is_over(self.objected, self.timing.heartbeat, now);
        if rival && due && !matches!(self.role, Role::Owner(_)) {
            self.objected = Some(now);
            let message = Message::TokenWasHereRecently {
                token: known,
                holder: last,
            };
            out.push((holder, message));
        }
    }

    fn token_is_here(&mut self, now: Duration, token: Token, from: MacAddr, out: &mut Vec<Letter>) {
        if self.complete(now, token) {
            return;
        }
        let Role::Owner(tenure) = &mut self.role else {
            self.role = Role::Waiter;
            return;
        };
        if token.chain() == tenure.token.chain() && !token.beats(&tenure.token) {
            // A heartbeat that the token has overtaken on its way.
            return;
        }
        if token.beats(&tenure.token) {
            self.role = Role::Waiter;
            out.push((from, self.table.ping()));
        } else if is_over(self.answered, self.timing.take_timeout, now) {
            let own = tenure.token;
            self.answered = Some(now);
            (tenure.told, tenure.heartbeat) = (now, now + self.timing.heartbeat);
            out.push((from, self.here(own)));
            out.push((MacAddr::broadcast(), self.here(own)));
        }
    }

    /// Takes an offered token, or says why not.
    fn take(
        &mut self,
        now: Duration,
        token: Token,
        from: MacAddr,
        data: &[u8],
        out: &mut Vec<Letter>,
    ) {
        // While it passes a token on, the strongest that it knows is the one that it offers.
        if self.known.is_some_and(|(known, _)| !token.beats(&known)) {
            let outgrown = matches!(&self.role, Role::Owner(it) if token.beats(&it.token));
            self.complete(now, token);
            out.extend(if outgrown {
                self.what_is_known(from)
            } else {
                self.whereabouts(from)
            });
            return;
        }
        self.hear_of(now, token, self.mac, Some(data));
        self.heard = now;
        let hold = self
            .wish
            .take()
            .map_or(self.timing.idle_hold, |(hold, _)| hold);
        out.push((from, self.here(token)));
        let silent = now >= self.heartbeat_heard + self.timing.heartbeat;
        if silent {
            out.push((MacAddr::broadcast(), self.here(token)));
            self.heartbeat_heard = now;
        }
        self.role = Role::Owner(Tenure {
            token,
            heartbeat: self.heartbeat_heard + self.timing.heartbeat,
            told: now,
            done: now + hold,
            passing: None,
        });
    }

    /// What to tell someone who looks for the token.
    fn whereabouts(&self, to: MacAddr) -> Option<Letter> {
        match &self.role {
            Role::Owner(tenure) => Some((to, self.here(tenure.token))),
            Role::Waiter => self.what_is_known(to),
            Role::Looser { .. } => None,
        }
    }

    fn what_is_known(&self, to: MacAddr) -> Option<Letter> {
        let (token, holder) = self.known?;
        Some((to, Message::TokenWasHereRecently { token, holder }))
    }

    fn here(&self, token: Token) -> Message {
        Message::TokenIsHere {
            token,
            digest: self.table.digest(),
            data: self.data.clone(),
        }
    }
}

/// Whether a while has passed since something was last done, if it was.
fn is_over(last: Option<Duration>, pause: Duration, now: Duration) -> bool {
    last.is_none_or(|last| now >= last + pause)
}
