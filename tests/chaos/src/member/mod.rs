//! A small second implementation of a member, which shares no code with `ringd`.
//!
//! The member follows `docs/reference/lab2/README.md`. The member takes the token, holds it while there is work, and
//! hands it over. The member searches for a lost token, but never stands for election.

mod passing;
mod runner;
mod table;
#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use ring_segment::{MacAddr, Message, Seen, Timing, Token};

use passing::Passing;
pub use runner::{MemberHandle, MemberOutputs, start};
pub(crate) use table::Table;

const TAKE_ATTEMPTS: u32 = 3;

/// A message and its destination.
pub type Outgoing = (MacAddr, Message);

#[derive(Debug, Clone, PartialEq, Eq)]
enum MemberState {
    /// A LOOSER. It asks for the token at this time.
    Looser {
        ask: Duration,
    },
    Waiter,
    Owner(Tenure),
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Tenure {
    token: Token,
    heartbeat: Duration,
    told: Duration,
    done: Duration,
    passing: Option<Passing>,
}

/// State of a member, without a socket and a clock.
#[derive(Debug)]
pub struct Member {
    mac: MacAddr,
    timing: Timing,
    table: Table,
    /// The strongest known token, its holder and its data.
    known: Option<(Token, MacAddr)>,
    /// Time at which this member last heard of a stronger token, or last heard the holder of the strongest known token.
    confirmed: Duration,
    /// Time of this member's last objection to a weaker token, and time of its last answer to a weaker claim.
    objected: Option<Duration>,
    answered: Option<Duration>,
    data: Vec<u8>,
    /// heardAboutToken.
    heard: Duration,
    /// Time at which this member last received a broadcast TOKEN_IS_HERE.
    heartbeat_heard: Duration,
    /// currentMyTokenNumber.
    number: u32,
    role: MemberState,
    wanting: BTreeSet<MacAddr>,
    /// Members that did not take the token, and the end of the time in which this member skips each of them.
    skipped_until: HashMap<MacAddr, Duration>,
    /// Members that report that they hear no other member.
    deaf: BTreeSet<MacAddr>,
    /// If the member wants the token: the time for which it wants to hold the token, and the time of its next
    /// WANT_TOKEN.
    request: Option<(Duration, Duration)>,
}

impl Member {
    /// Makes a LOOSER that knows only itself.
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
            role: MemberState::Looser { ask: now },
            wanting: BTreeSet::new(),
            skipped_until: HashMap::new(),
            deaf: BTreeSet::new(),
            request: None,
        }
    }

    /// Returns the state in the protocol's spelling.
    pub fn state(&self) -> &'static str {
        match self.role {
            MemberState::Looser { .. } => "LOOSER",
            MemberState::Waiter => "WAITER",
            MemberState::Owner(_) => "OWNER",
        }
    }

    /// Whether the member wants the token and does not hold it.
    pub fn wants(&self) -> bool {
        self.request.is_some()
    }

    /// Makes the member want the token for a while. If the member already holds the token, the work begins at once.
    pub fn want(&mut self, now: Duration, hold: Duration) {
        match &mut self.role {
            MemberState::Owner(tenure) if tenure.passing.is_none() => tenure.done = now + hold,
            _ => {
                self.request.get_or_insert((hold, now));
            }
        }
    }

    /// Returns the time of the next [`Member::on_timeout`].
    pub fn deadline(&self) -> Duration {
        let own = match &self.role {
            MemberState::Looser { ask } => *ask,
            MemberState::Waiter => self.heard + self.timing.waiter_timeout(),
            MemberState::Owner(tenure) => {
                let next = tenure.passing.as_ref().map_or(tenure.done, Passing::due);
                next.min(tenure.heartbeat)
            }
        };
        self.request.map_or(own, |(_, ask)| own.min(ask))
    }

    /// Does all actions that are due.
    pub fn on_timeout(&mut self, now: Duration) -> Vec<Outgoing> {
        let mut out = Vec::new();
        if let Some((_, ask)) = &mut self.request
            && now >= *ask
        {
            *ask = now + self.timing.heartbeat;
            out.push((MacAddr::broadcast(), Message::WantToken));
        }
        match &self.role {
            MemberState::Looser { ask } if now >= *ask => self.ask(now, &mut out),
            MemberState::Waiter if now >= self.heard + self.timing.waiter_timeout() => {
                self.ask(now, &mut out);
            }
            MemberState::Owner(tenure) if now >= tenure.told + self.timing.waiter_timeout() => {
                // The other members no longer wait for this member, so it asks for the token.
                self.ask(now, &mut out);
            }
            MemberState::Owner(_) => self.act_as_owner(now, &mut out),
            MemberState::Looser { .. } | MemberState::Waiter => {}
        }
        out
    }

    /// Handles a frame that arrived at `seen.at` and is read at `now`.
    pub fn on_frame(&mut self, now: Duration, seen: &Seen) -> Vec<Outgoing> {
        let mut out = Vec::new();
        let author = seen.author;
        if matches!(seen.message, Message::Invalid(_)) || author == self.mac {
            return out;
        }
        self.table.add_author(author);
        self.skipped_until.remove(&author);
        match seen.author_is_deaf() {
            Some(true) => _ = self.deaf.insert(author),
            Some(false) => _ = self.deaf.remove(&author),
            None => {}
        }
        if self.deaf.contains(&author) {
            // A token message needs no answer about the table, but it may be the answer for which the table waits.
            if matches!(seen.message, Message::TokenIsHere { .. })
                && self.table.allow_message(now, author, self.timing.heartbeat)
            {
                out.push((author, self.table.ping()));
            }
            return out;
        }
        match &seen.message {
            Message::TokenIsHere { token, data, .. } => {
                self.object_to(now, *token, author, &mut out);
                self.note_token(now, *token, author, Some(data));
                self.heard = self.heard.max(seen.at);
                if seen.is_broadcast() {
                    self.heartbeat_heard = seen.at;
                }
                self.wanting.remove(&author);
                self.on_token_is_here(now, *token, author, &mut out);
            }
            Message::TakeToken { token, data, .. } => {
                self.wanting.remove(&author);
                let fresh = now.saturating_sub(seen.at) <= self.timing.take_timeout;
                if seen.dst == self.mac && fresh {
                    self.take(now, *token, author, data, &mut out);
                }
            }
            Message::TokenWasHereRecently { token, holder } => {
                let weaker = self.is_beaten_by(*token);
                self.note_token(now, *token, *holder, None);
                if !self.completes_handover(now, *token) && weaker {
                    self.replace_token(now, *token, &mut out);
                }
            }
            Message::WhereIsToken => out.extend(self.location_answer(author)),
            Message::GeneratingToken { .. } => {
                out.extend(self.location_answer(author));
                if let MemberState::Owner(tenure) = &self.role {
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
            | Message::Locks { .. }
            | Message::LocksQuestion { .. }
            | Message::OfSurvey { .. }
            | Message::Invalid(_) => {}
        }
        let (owner, period) = (
            matches!(self.role, MemberState::Owner(_)),
            self.timing.heartbeat,
        );
        out.extend(self.table.on_frame(now, seen, owner, period));
        out
    }

    fn ask(&mut self, now: Duration, out: &mut Vec<Outgoing>) {
        let ask = now + self.timing.looser_timeout();
        self.role = MemberState::Looser { ask };
        out.push((MacAddr::broadcast(), Message::WhereIsToken));
    }

    fn note_token(&mut self, now: Duration, token: Token, holder: MacAddr, data: Option<&[u8]>) {
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

    /// If the strongest known token beats the token of `holder`, and the owner of the stronger token is silent, informs
    /// `holder` about the stronger token.
    fn object_to(&mut self, now: Duration, token: Token, holder: MacAddr, out: &mut Vec<Outgoing>) {
        let Some((known, last)) = self.known else {
            return;
        };
        let silence = self.timing.heartbeat + self.timing.take_timeout * 2;
        let rival = known.beats(&token) && known.chain() != token.chain();
        let silent = now >= self.confirmed + silence;
        let due = silent && is_over(self.objected, self.timing.heartbeat, now);
        if rival && due && !matches!(self.role, MemberState::Owner(_)) {
            self.objected = Some(now);
            let message = Message::TokenWasHereRecently {
                token: known,
                holder: last,
            };
            out.push((holder, message));
        }
    }

    fn on_token_is_here(
        &mut self,
        now: Duration,
        token: Token,
        from: MacAddr,
        out: &mut Vec<Outgoing>,
    ) {
        if self.completes_handover(now, token) {
            return;
        }
        let MemberState::Owner(tenure) = &mut self.role else {
            self.role = MemberState::Waiter;
            return;
        };
        if token.chain() == tenure.token.chain() && !token.beats(&tenure.token) {
            // The token has overtaken this heartbeat.
            return;
        }
        if token.beats(&tenure.token) {
            self.role = MemberState::Waiter;
            out.push((from, self.table.ping()));
        } else if is_over(self.answered, self.timing.take_timeout, now) {
            let own = tenure.token;
            self.answered = Some(now);
            (tenure.told, tenure.heartbeat) = (now, now + self.timing.heartbeat);
            out.push((from, self.here(own)));
            out.push((MacAddr::broadcast(), self.here(own)));
        }
    }

    /// Takes an offered token, or answers with the reason why it does not take the token.
    fn take(
        &mut self,
        now: Duration,
        token: Token,
        from: MacAddr,
        data: &[u8],
        out: &mut Vec<Outgoing>,
    ) {
        // During a handover the strongest known token is the token that this member offers.
        if self.known.is_some_and(|(known, _)| !token.beats(&known)) {
            let outgrown = matches!(&self.role, MemberState::Owner(it) if token.beats(&it.token));
            self.completes_handover(now, token);
            out.extend(if outgrown {
                self.known_token_answer(from)
            } else {
                self.location_answer(from)
            });
            return;
        }
        self.note_token(now, token, self.mac, Some(data));
        self.heard = now;
        let hold = self
            .request
            .take()
            .map_or(self.timing.idle_hold, |(hold, _)| hold);
        out.push((from, self.here(token)));
        let silent = now >= self.heartbeat_heard + self.timing.heartbeat;
        if silent {
            out.push((MacAddr::broadcast(), self.here(token)));
            self.heartbeat_heard = now;
        }
        self.role = MemberState::Owner(Tenure {
            token,
            heartbeat: self.heartbeat_heard + self.timing.heartbeat,
            told: now,
            done: now + hold,
            passing: None,
        });
    }

    /// Returns the answer to a member that looks for the token.
    fn location_answer(&self, to: MacAddr) -> Option<Outgoing> {
        match &self.role {
            MemberState::Owner(tenure) => Some((to, self.here(tenure.token))),
            MemberState::Waiter => self.known_token_answer(to),
            MemberState::Looser { .. } => None,
        }
    }

    fn known_token_answer(&self, to: MacAddr) -> Option<Outgoing> {
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

/// Whether at least `pause` has passed since `last`. Returns `false` if `last` is `None`.
fn is_over(last: Option<Duration>, pause: Duration, now: Duration) -> bool {
    last.is_none_or(|last| now >= last + pause)
}
