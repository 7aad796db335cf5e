//! One log line a change. What prints nothing formats nothing.

#[cfg(test)]
mod tests;

use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::Token;
use tracing::field::display;
use tracing::{debug, error, info, warn};

use super::RateLimit;
use super::text::{drop_reason, reason};
use super::words::{Hidden, Ip, Members, TokenId, TokenWords};
use crate::driver::Observe;
use crate::proto::lab2::{DropReason, Event, Grade, Reason, State};
use crate::proto::time::{Instant, Now};

/// Changes of all kinds: what a storm of them gets at once, and in the long run.
const CHANGES: RateLimit = RateLimit::new(200, Duration::from_millis(50));
/// The token's plain rotation.
const TURNS: RateLimit = RateLimit::new(1, Duration::from_secs(1));
/// Dropped frames, and members that found no room.
const DROPS: RateLimit = RateLimit::new(1, Duration::from_secs(1));

/// Prints a line a change through `tracing`.
#[derive(Debug)]
pub struct Log {
    verbose: bool,
    members: usize,
    /// This node's state.
    state: State,
    /// The last token that was spoken of.
    known: Option<Token>,
    turns: RateLimit,
    turns_hidden: u64,
    changes: RateLimit,
    drops: RateLimit,
    full: RateLimit,
}

impl Log {
    /// Plain rotation is shown at most once a second; if `verbose`, each turn of it, and why
    /// frames are dropped.
    #[must_use]
    pub fn new(verbose: bool) -> Self {
        Self {
            verbose,
            members: 0,
            state: State::Looser,
            known: None,
            turns: TURNS,
            turns_hidden: 0,
            changes: CHANGES,
            drops: DROPS,
            full: DROPS,
        }
    }

    /// Whether a turn of the plain rotation is shown; `mine`: this node's own.
    fn admit_turn(&mut self, now: Instant, mine: bool) -> Option<Hidden> {
        if self.verbose || self.turns.allow(now) {
            let turns = std::mem::take(&mut self.turns_hidden);
            return Some(Hidden { turns, lines: 0 });
        }
        self.turns_hidden += u64::from(mine);
        None
    }

    /// Whether any other change is shown.
    fn admit(&mut self, now: Instant) -> Option<Hidden> {
        self.changes.allow(now).then(|| Hidden {
            turns: std::mem::take(&mut self.turns_hidden),
            lines: self.changes.take_refused(),
        })
    }

    fn state_changed(&mut self, now: Instant, from: State, to: State, why: Reason) {
        let admitted = if is_rotation(from, to, why) {
            self.admit_turn(now, to == State::Owner)
        } else {
            self.admit(now)
        };
        let Some(hidden) = admitted else {
            return;
        };
        let (key, text) = reason(why);
        let (from, to) = (from.name(), to.name());
        let (words, members) = (TokenWords(self.known), Members(self.members));
        let token = self.known.map(TokenId).map(display);
        macro_rules! line {
            ($level:ident) => {
                $level!(
                    event = "state_changed",
                    from,
                    to,
                    reason = key,
                    token,
                    members = self.members,
                    "{from} -> {to}: {text}; {words}, {members}{hidden}"
                )
            };
        }
        if matches!(why, Reason::StrongerToken | Reason::LeaseExpired) {
            line!(warn);
        } else {
            line!(info);
        }
    }

    fn owner_changed(&mut self, now: Instant, owner: Option<MacAddr>, token: Option<Token>) {
        let same_chain = self
            .known
            .zip(token)
            .is_some_and(|(known, token)| known.same_chain(&token));
        self.known = token.or(self.known);
        if self.state == State::Owner {
            // The change of state has said so.
            return;
        }
        let admitted = if owner.is_some() && same_chain {
            self.admit_turn(now, false)
        } else {
            self.admit(now)
        };
        let Some(hidden) = admitted else {
            return;
        };
        let (event, words) = ("owner_changed", TokenWords(self.known));
        let token = self.known.map(TokenId).map(display);
        if let Some(owner) = owner {
            info!(event, %owner, token, "owner is {owner}; {words}{hidden}");
        } else {
            info!(event, token, "owner is unknown; {words}{hidden}");
        }
    }

    /// In a ring that rotates a grade comes and goes with the turns.
    fn grade_changed(&mut self, now: Instant, grade: Grade, token: Token) {
        if let Some(hidden) = self.admit_turn(now, false) {
            let (grade, words) = (grade.name(), TokenWords(Some(token)));
            let token = TokenId(token);
            info!(
                event = "grade_changed", grade, %token,
                "the token is held at grade {grade}; {words}{hidden}"
            );
        }
    }

    fn hand_over_failed(&mut self, now: Instant, to: MacAddr, in_a_row: u32, minted: Token) {
        self.known = Some(minted);
        if let Some(hidden) = self.admit(now) {
            let token = TokenId(minted);
            warn!(
                event = "hand_over_failed", %to, in_a_row, %token,
                "{to} did not take the token, failure {in_a_row} in a row; minted token {token} \
                 in its place{hidden}"
            );
        }
    }

    fn member(&mut self, now: Instant, event: &Event) {
        let Some(hidden) = self.admit(now) else {
            return;
        };
        let members = Members(self.members);
        match *event {
            Event::MemberAdded {
                mac,
                members: count,
            } => info!(
                event = "member_added", %mac, members = count,
                "member {mac} added; {members}{hidden}"
            ),
            Event::MemberMoved { mac, ip } => {
                let ip = Ip(ip);
                info!(event = "member_moved", %mac, %ip, "member {mac} has ip {ip}{hidden}");
            }
            Event::MemberLeft { mac } => {
                info!(event = "member_left", %mac, "member {mac} is leaving{hidden}");
            }
            _ => {}
        }
    }

    fn table_full(&mut self, now: Instant, author: MacAddr) {
        if self.full.allow(now) {
            let lines = self.full.take_refused();
            let hidden = Hidden { turns: 0, lines };
            warn!(
                event = "table_full", %author,
                "the member table is full, {author} is not remembered; raise --max-members if it \
                 is real{hidden}"
            );
        }
    }

    fn dropped(&mut self, now: Instant, why: DropReason) {
        if self.verbose && self.drops.allow(now) {
            let (key, text) = drop_reason(why);
            let lines = self.drops.take_refused();
            let hidden = Hidden { turns: 0, lines };
            debug!(
                event = "dropped",
                reason = key,
                "dropped a frame: {text}{hidden}"
            );
        }
    }
}

impl Observe<Event> for Log {
    fn observe(&mut self, now: Now, event: &Event) {
        let now = now.monotonic;
        match *event {
            Event::StateChanged {
                from,
                to,
                reason,
                token,
            } => {
                self.state = to;
                self.known = token.or(self.known);
                self.state_changed(now, from, to, reason);
            }
            Event::OwnerChanged { owner, token } => self.owner_changed(now, owner, token),
            Event::GradeChanged { grade, token } => self.grade_changed(now, grade, token),
            Event::HandedOver { to, latency } => {
                if self.verbose {
                    let latency_ns = crate::proto::time::nanos(latency);
                    debug!(event = "handed_over", %to, latency_ns, "{to} took it in {latency:?}");
                }
            }
            Event::HandOverFailed {
                to,
                in_a_row,
                minted,
            } => self.hand_over_failed(now, to, in_a_row, minted),
            Event::ProgressExhausted => {
                if self.admit(now).is_some() {
                    error!(
                        event = "progress_exhausted",
                        "the token's progress has reached 2^63 - 1: it cannot be handed over"
                    );
                }
            }
            Event::DataRefused { len, may_use } => {
                if self.admit(now).is_some() {
                    let why = if may_use {
                        "a token carries 1024 at most"
                    } else {
                        "this node may not use the token just now"
                    };
                    warn!(
                        event = "data_refused",
                        len, "{len} bytes of data refused: {why}"
                    );
                }
            }
            Event::MemberAdded { members, .. } => {
                self.members = members;
                self.member(now, event);
            }
            Event::MemberMoved { .. } | Event::MemberLeft { .. } => self.member(now, event),
            Event::TableFull { author } => self.table_full(now, author),
            Event::Dropped { reason } => self.dropped(now, reason),
            Event::Received { .. } | Event::Transmitted { .. } | Event::TransmitFailed { .. } => {}
        }
    }
}

/// Whether the token only goes its way round the ring.
fn is_rotation(from: State, to: State, why: Reason) -> bool {
    matches!(
        (from, to, why),
        (State::Waiter, State::Owner, Reason::TokenTaken)
            | (State::Owner, State::Waiter, Reason::TokenHandedOver)
    )
}
