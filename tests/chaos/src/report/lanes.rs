//! What each station was at what time, from the daemons' own logs and what was done to them.

use std::collections::HashMap;
use std::time::Duration;

use ring_segment::{MacAddr, Message, Seen, Token, is_claim};

use crate::check::{Change, Evidence, Span};

/// What a station was, in the order in which they are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Mood {
    /// Its state.
    Waiter,
    /// Its state.
    Owner,
    /// Its state.
    Looser,
    /// Its state.
    Generating,
    /// Stopped by SIGSTOP.
    Stopped,
    /// Killed and not started again yet.
    Dead,
}

impl Mood {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Waiter,
        Self::Owner,
        Self::Looser,
        Self::Generating,
        Self::Stopped,
        Self::Dead,
    ];

    /// Its name and its colour.
    #[must_use]
    pub fn look(self) -> (&'static str, &'static str) {
        match self {
            Self::Owner => ("OWNER", "#1457c8"),
            Self::Waiter => ("WAITER", "#d3ead6"),
            Self::Looser => ("LOOSER", "#f2b632"),
            Self::Generating => ("GENERATING", "#c0307f"),
            Self::Stopped => ("stopped", "#9aa3ad"),
            Self::Dead => ("dead", "#31363c"),
        }
    }

    fn of_state(name: &str) -> Option<Self> {
        let mut all = Self::ALL.into_iter();
        all.find(|mood| mood.look().0 == name)
    }
}

/// A station's moods, one after the other.
#[derive(Debug, Clone)]
pub struct Lane {
    /// What to call it.
    pub name: String,
    /// Without gaps from the first log line on.
    pub moods: Vec<(Span, Mood)>,
}

/// The lanes of all stations in the ring.
#[must_use]
pub fn lanes(evidence: &Evidence) -> Vec<Lane> {
    let places = evidence.cast.ring().into_iter();
    places
        .map(|place| Lane {
            name: evidence.cast.name(place).to_owned(),
            moods: moods(evidence, place),
        })
        .collect()
}

fn moods(evidence: &Evidence, place: usize) -> Vec<(Span, Mood)> {
    let mut moods = states(&evidence.logs[place], evidence.end);
    let faults = evidence.faults.iter();
    let of_this = faults.filter(|done| done.stations.contains(&place));
    for done in of_this {
        match done.kind.as_str() {
            "stop" => paint(&mut moods, done.span, Mood::Stopped),
            "kill" | "amnesia" => paint(&mut moods, done.span, Mood::Dead),
            _ => {}
        }
    }
    let crashes = evidence.cycles.iter().flat_map(|cycle| &cycle.crashes);
    for crash in crashes.filter(|crash| crash.station == place) {
        paint(&mut moods, crash.span, Mood::Dead);
    }
    moods
}

fn states(log: &[Change], end: Duration) -> Vec<(Span, Mood)> {
    let mut moods: Vec<(Span, Mood)> = Vec::new();
    for change in log {
        let mood = match change.event.as_str() {
            "started" => Some(Mood::Looser),
            _ => change.to.as_deref().and_then(Mood::of_state),
        };
        let Some(mood) = mood else { continue };
        if let Some((span, _)) = moods.last_mut() {
            span.to = change.at;
        }
        let span = Span {
            from: change.at,
            to: end,
        };
        moods.push((span, mood));
    }
    moods
}

/// Lays a mood over what is there.
fn paint(moods: &mut Vec<(Span, Mood)>, over: Span, mood: Mood) {
    let mut painted = Vec::with_capacity(moods.len() + 2);
    for (span, old) in moods.drain(..) {
        let before = Span {
            to: span.to.min(over.from),
            ..span
        };
        let after = Span {
            from: span.from.max(over.to),
            ..span
        };
        let rest = [before, after].into_iter().filter(|it| it.from < it.to);
        painted.extend(rest.map(|span| (span, old)));
    }
    painted.push((over, mood));
    painted.sort_by_key(|(span, _)| span.from);
    *moods = painted;
}

/// How the token came to a new holder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// It was handed over.
    Handed,
    /// Its holder made a new one, since a hand-over had failed.
    Minted,
    /// Its holder was elected.
    Elected,
}

/// The token at a new holder, or anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hop {
    /// When it was first said.
    pub at: Duration,
    /// The lane of its last holder, or of its maker.
    pub from: usize,
    /// The lane of its holder.
    pub to: usize,
    /// How.
    pub way: Way,
}

/// All ways of all tokens, by what their holders said: of each chain its newest holder is known.
#[must_use]
pub fn hops(evidence: &Evidence) -> Vec<Hop> {
    let mut hops = Vec::new();
    let mut newest: HashMap<(MacAddr, u32), (usize, u64)> = HashMap::new();
    let mut stood: HashMap<(MacAddr, u32), Duration> = HashMap::new();
    // A candidate that was not elected leaves its number to the next chain.
    let election = evidence.timing.answer_timeout() * 2;
    for seen in &evidence.sent {
        if let Message::GeneratingToken { token } = seen.message {
            stood.insert(token.chain(), seen.at);
        }
        let Some(token) = held(seen) else { continue };
        let before = newest.get(&token.chain()).copied();
        if before.is_some_and(|(_, progress)| token.progress <= progress) {
            continue;
        }
        newest.insert(token.chain(), (seen.port, token.progress));
        let (from, way) = match before {
            Some((place, _)) if place == seen.port => continue,
            Some((place, _)) => (place, Way::Handed),
            None => {
                let stood = stood.get(&token.chain());
                let elected = stood.is_some_and(|stood| seen.at <= *stood + election);
                (seen.port, if elected { Way::Elected } else { Way::Minted })
            }
        };
        hops.push(Hop {
            at: seen.at,
            from,
            to: seen.port,
            way,
        });
    }
    hops
}

fn held(seen: &Seen) -> Option<Token> {
    let token = seen.message.token().filter(|_| is_claim(seen))?;
    let offered = matches!(seen.message, Message::TakeToken { .. });
    Some(Token {
        progress: token.progress.saturating_sub(u64::from(offered)),
        ..token
    })
}

#[cfg(test)]
mod tests {
    use super::{Mood, paint, states};
    use crate::check::{Change, Span};
    use std::time::Duration;

    fn change(at: u64, event: &str, to: &str) -> Change {
        Change {
            at: Duration::from_secs(at),
            event: event.to_owned(),
            to: Some(to.to_owned()),
            reason: None,
            late: Duration::ZERO,
        }
    }

    fn span(from: u64, to: u64) -> Span {
        Span {
            from: Duration::from_secs(from),
            to: Duration::from_secs(to),
        }
    }

    #[test]
    fn a_kill_lies_over_the_last_state_until_the_new_start() {
        let log = [
            change(1, "started", ""),
            change(2, "state_changed", "OWNER"),
            change(6, "started", ""),
        ];
        let mut moods = states(&log, Duration::from_secs(9));
        paint(&mut moods, span(4, 6), Mood::Dead);
        let expected = [
            (span(1, 2), Mood::Looser),
            (span(2, 4), Mood::Owner),
            (span(4, 6), Mood::Dead),
            (span(6, 9), Mood::Looser),
        ];
        assert_eq!(moods, expected);
    }
}
