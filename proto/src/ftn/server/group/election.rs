//! Electing a leader (`docs/ftn.md`, section 4).

use std::time::Duration;

use crate::time::Instant;

/// The vote of who votes for nobody.
pub(crate) const NOBODY: i32 = -1;

/// What an electing server knows of the others.
#[derive(Debug, Clone, Hash)]
pub(crate) struct Election {
    since: Instant,
    /// Since when no STATE has come.
    silent_since: Instant,
    /// The server has just started: it need not wait for silence if all others are electing too.
    is_start: bool,
    vote: Vote,
    next: Instant,
    /// By index; the own one stays empty.
    entries: Vec<Option<Entry>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Vote {
    Nobody,
    For {
        server: usize,
        since: Instant,
    },
    /// For nobody until then: the last vote has led to nothing.
    Resting {
        until: Instant,
    },
}

/// The last ELECT of another server.
#[derive(Debug, Clone, Copy, Hash)]
struct Entry {
    seq: i128,
    vote: i32,
    at: Instant,
}

impl Entry {
    fn names(&self, server: usize) -> bool {
        usize::try_from(self.vote) == Ok(server)
    }
}

/// What an electing server is while it decides for whom it votes.
pub(crate) struct Voter {
    pub(crate) now: Instant,
    pub(crate) index: usize,
    /// What its ELECT says that it knows.
    pub(crate) seq: i128,
    /// Whether it may say anything yet.
    pub(crate) may_speak: bool,
    pub(crate) quorum: usize,
    pub(crate) heartbeat: Duration,
    pub(crate) server_timeout: Duration,
}

/// What an electing server does next.
enum Verdict {
    Wait,
    Vote(usize),
    Lead,
}

impl Election {
    pub(crate) fn new(now: Instant, silent_since: Instant, is_start: bool, servers: usize) -> Self {
        Self {
            since: now,
            silent_since,
            is_start,
            vote: Vote::Nobody,
            next: now,
            entries: vec![None; servers],
        }
    }

    /// When something is to be done.
    pub(crate) const fn due(&self) -> Instant {
        self.next
    }

    /// Whether ELECT is to be said now. If so, it is to be said again after `period`.
    pub(crate) fn take_due(&mut self, now: Instant, period: Duration) -> bool {
        let is_due = self.next <= now;
        if is_due {
            self.next = now + period;
        }
        is_due
    }

    /// The vote as ELECT says it.
    pub(crate) const fn vote(&self) -> i32 {
        match self.vote {
            // An index is below 32.
            #[expect(clippy::cast_possible_truncation, clippy::cast_possible_wrap)]
            Vote::For { server, .. } => server as i32,
            Vote::Nobody | Vote::Resting { .. } => NOBODY,
        }
    }

    /// Another server has said ELECT.
    pub(crate) fn note(&mut self, server: usize, seq: i128, vote: i32, at: Instant) {
        self.entries[server] = Some(Entry { seq, vote, at });
    }

    /// Votes, if the server may. Returns `true` if it leads from now on.
    pub(crate) fn decide(&mut self, voter: &Voter) -> bool {
        self.age_vote(voter);
        loop {
            match self.verdict(voter) {
                Verdict::Wait => return false,
                Verdict::Lead => return true,
                Verdict::Vote(server) => {
                    let since = voter.now;
                    self.vote = Vote::For { server, since };
                }
            }
        }
    }

    /// A vote is kept for 2 HB, then there is none for HB. It begins anew where all agree: servers that look for a leader at
    /// different times would rest in turns, without end.
    fn age_vote(&mut self, voter: &Voter) {
        let (now, heartbeat) = (voter.now, voter.heartbeat);
        match self.vote {
            Vote::For { server, since } if now.since(since) >= 2 * heartbeat => {
                let fresh = self.fresh(voter);
                let best = best(voter, &fresh);
                self.vote = if best == server && is_unopposed(&fresh, best) {
                    Vote::For { server, since: now }
                } else {
                    let until = now + heartbeat;
                    Vote::Resting { until }
                };
            }
            Vote::Resting { until } if until <= now => self.vote = Vote::Nobody,
            _ => {}
        }
    }

    /// What was heard of others within HB.
    fn fresh(&self, voter: &Voter) -> Vec<(usize, Entry)> {
        (0..)
            .zip(&self.entries)
            .filter_map(|(server, entry)| Some((server, (*entry)?)))
            .filter(|(_, entry)| voter.now.since(entry.at) <= voter.heartbeat)
            .collect()
    }

    fn verdict(&self, voter: &Voter) -> Verdict {
        let fresh = self.fresh(voter);
        let unopposed = is_unopposed(&fresh, voter.index);
        let silent = voter.now.since(self.silent_since) >= voter.server_timeout;
        let all_elect = self.is_start && unopposed && fresh.len() + 1 == self.entries.len();
        let waited = voter.now.since(self.since) >= voter.heartbeat;
        if !(waited && (silent || all_elect) && voter.may_speak) {
            return Verdict::Wait;
        }
        let best = best(voter, &fresh);
        match self.vote {
            Vote::Nobody if best != voter.index => Verdict::Vote(best),
            Vote::Nobody if unopposed => Verdict::Vote(voter.index),
            Vote::For { server, .. } if server == voter.index && best == server && unopposed => {
                let followers = fresh.iter().filter(|(_, entry)| entry.names(server));
                if followers.count() + 1 >= voter.quorum {
                    Verdict::Lead
                } else {
                    Verdict::Wait
                }
            }
            _ => Verdict::Wait,
        }
    }
}

/// The best of those that are heard and this server.
fn best(voter: &Voter, fresh: &[(usize, Entry)]) -> usize {
    let mine = (voter.seq, voter.index);
    let known = fresh.iter().map(|(server, entry)| (entry.seq, *server));
    let (_, best) = known.fold(mine, |(seq, best), (other_seq, other)| {
        let is_better = other_seq > seq || other_seq == seq && other < best;
        if is_better {
            (other_seq, other)
        } else {
            (seq, best)
        }
    });
    best
}

/// Whether all vote for this server or for nobody.
fn is_unopposed(fresh: &[(usize, Entry)], server: usize) -> bool {
    let agrees = |entry: &Entry| entry.vote < 0 || entry.names(server);
    fresh.iter().all(|(_, entry)| agrees(entry))
}
