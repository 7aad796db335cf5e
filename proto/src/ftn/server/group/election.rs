//! The election of a leader (`docs/token-service/protocol/elections.md` E5 to E16).

use std::time::Duration;

use crate::time::Instant;

/// Vote of a server that votes for no server.
pub(crate) const NO_VOTE: i32 = -1;

/// State of an electing server.
#[derive(Debug, Clone, Hash)]
pub(crate) struct Election {
    since: Instant,
    /// Time of the last STATE.
    silent_since: Instant,
    /// Whether the server started just now. If this server started just now and all other servers are electing, it need
    /// not wait for the silence of a leader.
    is_start: bool,
    vote: Vote,
    next_elect: Instant,
    /// Last ELECT of each other server, by index.
    entries: Vec<Option<ReceivedElect>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Vote {
    Nobody,
    For {
        server: usize,
        since: Instant,
    },
    /// The server votes for no server until this time, because its last vote led to no leader.
    Pausing {
        until: Instant,
    },
}

/// The last ELECT of another server.
#[derive(Debug, Clone, Copy, Hash)]
struct ReceivedElect {
    seq: i128,
    vote: i32,
    at: Instant,
}

impl ReceivedElect {
    fn is_vote_for(&self, server: usize) -> bool {
        usize::try_from(self.vote) == Ok(server)
    }
}

/// Inputs of a server's vote.
pub(crate) struct Voter {
    pub(crate) now: Instant,
    pub(crate) index: usize,
    /// Seq that this server's ELECT contains.
    pub(crate) seq: i128,
    /// Whether the server may vote now.
    pub(crate) may_participate: bool,
    pub(crate) quorum: usize,
    pub(crate) heartbeat: Duration,
    pub(crate) server_timeout: Duration,
}

/// Next step of an electing server.
enum Decision {
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
            next_elect: now,
            // Votes of an earlier election do not count.
            entries: vec![None; servers],
        }
    }

    /// Returns the time of the server's next action.
    pub(crate) const fn due(&self) -> Instant {
        self.next_elect
    }

    /// If ELECT is due, returns `true`, and makes the next ELECT due after `period`.
    pub(crate) fn take_due(&mut self, now: Instant, period: Duration) -> bool {
        let is_due = self.next_elect <= now;
        if is_due {
            self.next_elect = now + period;
        }
        is_due
    }

    /// Returns the vote in the format of an ELECT.
    pub(crate) const fn vote(&self) -> i32 {
        match self.vote {
            // Cannot overflow: an index is below 32.
            #[expect(clippy::cast_possible_truncation, clippy::cast_possible_wrap)]
            Vote::For { server, .. } => server as i32,
            Vote::Nobody | Vote::Pausing { .. } => NO_VOTE,
        }
    }

    pub(crate) fn record_elect(&mut self, server: usize, seq: i128, vote: i32, at: Instant) {
        self.entries[server] = Some(ReceivedElect { seq, vote, at });
    }

    /// Votes, if the server may vote. Returns whether this server became the leader.
    pub(crate) fn decide(&mut self, voter: &Voter) -> bool {
        self.update_vote(voter);
        loop {
            // A vote for itself can make the server the leader in the same call.
            match self.decision(voter) {
                Decision::Wait => return false,
                Decision::Lead => return true,
                Decision::Vote(server) => {
                    let since = voter.now;
                    self.vote = Vote::For { server, since };
                }
            }
        }
    }

    /// Ends a vote after 2 HB. After the vote, this server votes for no server during HB. If all servers agree on the
    /// candidate, the same vote starts again without a pause. If such servers also paused, servers that began at
    /// different times would pause in turns, and no candidate would ever have Q votes.
    fn update_vote(&mut self, voter: &Voter) {
        let (now, heartbeat) = (voter.now, voter.heartbeat);
        match self.vote {
            // The candidate may be dead, so a vote for it must end.
            Vote::For { server, since } if now.since(since) >= 2 * heartbeat => {
                let recent = self.recent_elects(voter);
                let best = best(voter, &recent);
                self.vote = if best == server && is_unopposed(&recent, best) {
                    Vote::For { server, since: now }
                } else {
                    let until = now + heartbeat;
                    Vote::Pausing { until }
                };
            }
            Vote::Pausing { until } if until <= now => self.vote = Vote::Nobody,
            _ => {}
        }
    }

    /// Returns the ELECTs that arrived from other servers within the last HB.
    fn recent_elects(&self, voter: &Voter) -> Vec<(usize, ReceivedElect)> {
        (0..)
            .zip(&self.entries)
            .filter_map(|(server, entry)| Some((server, (*entry)?)))
            // A server that was silent for HB may be down, and must not block the election.
            .filter(|(_, entry)| voter.now.since(entry.at) <= voter.heartbeat)
            .collect()
    }

    fn decision(&self, voter: &Voter) -> Decision {
        let recent = self.recent_elects(voter);
        let unopposed = is_unopposed(&recent, voter.index);
        let silent = voter.now.since(self.silent_since) >= voter.server_timeout;
        // If all servers are electing, there is no leader whose silence they must await.
        let all_elect = self.is_start && unopposed && recent.len() + 1 == self.entries.len();
        let waited = voter.now.since(self.since) >= voter.heartbeat;
        // Other servers may know more, and their ELECTs need time to arrive.
        if !(waited && (silent || all_elect) && voter.may_participate) {
            return Decision::Wait;
        }
        let best = best(voter, &recent);
        match self.vote {
            Vote::Nobody if best != voter.index => Decision::Vote(best),
            // If another server names a leader, that leader may be alive, and this server may only be deaf.
            Vote::Nobody if unopposed => Decision::Vote(voter.index),
            Vote::For { server, .. } if server == voter.index && best == server && unopposed => {
                let followers = recent.iter().filter(|(_, entry)| entry.is_vote_for(server));
                if followers.count() + 1 >= voter.quorum {
                    Decision::Lead
                } else {
                    Decision::Wait
                }
            }
            _ => Decision::Wait,
        }
    }
}

/// Returns the best server among this server and the other servers that were heard.
fn best(voter: &Voter, recent: &[(usize, ReceivedElect)]) -> usize {
    let mine = (voter.seq, voter.index);
    let known = recent.iter().map(|(server, entry)| (entry.seq, *server));
    let (_, best) = known.fold(mine, |(seq, best), (other_seq, other)| {
        // The lowest index wins a tie, so that all servers choose the same candidate.
        let is_better = other_seq > seq || other_seq == seq && other < best;
        if is_better {
            (other_seq, other)
        } else {
            (seq, best)
        }
    });
    best
}

/// Whether each recent ELECT votes for this server or for no server.
fn is_unopposed(recent: &[(usize, ReceivedElect)], server: usize) -> bool {
    let agrees = |entry: &ReceivedElect| entry.vote < 0 || entry.is_vote_for(server);
    recent.iter().all(|(_, entry)| agrees(entry))
}
