//! The members that confirm a tenure, and the grade of the tenure.
//!
//! All stored confirmations belong to one token. A new token begins without confirmations. Members can confirm a tenure
//! from its first heartbeat on. A candidate sends its first heartbeat before it is OWNER. The vectors keep their
//! capacity, so a new tenure needs no allocation.

use std::hash::Hash;
use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::Token;

use super::ANSWERS_PER_HEARTBEAT_MAX;
use crate::lab2::Grade;
use crate::lab2::machine::Writer;
use crate::time::Instant;

/// The number of latest heartbeats that count. A member's answer counts only if it answers one of them.
const BEATS_KEPT: usize = 16;

/// A member's promise. It ends at `until`.
#[derive(Debug, Clone, Copy, Hash, serde::Serialize, serde::Deserialize)]
struct Vote {
    mac: MacAddr,
    until: Instant,
}

/// The confirmations of the latest tenure in which this node sent a heartbeat.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
pub(super) struct Confirmations {
    token: Option<Token>,
    /// Times at which the node encoded the latest heartbeats. The index is the heartbeat's number modulo
    /// [`BEATS_KEPT`].
    beats: [Option<Instant>; BEATS_KEPT],
    next_beat: u32,
    /// The latest promise of each member, sorted by MAC address.
    votes: Vec<Vote>,
    /// Latest computed grade.
    grade: Grade,
    /// Time until which the grade holds.
    until: Instant,
    /// Size of the ring when the grade was computed.
    ring_size: usize,
    reported: Grade,
    /// Time at which the tenure got the grade `all-heard`, if this grade is not reported yet.
    view_since: Option<Instant>,
    /// Buffer for `promised_by_count`.
    end_times: Vec<Instant>,
}

/// The decision whether to report a grade.
pub(super) enum GradeReport {
    Old,
    /// The grade is new. The node reports it only if it lasts until this time.
    Later(Instant),
    New,
}

impl Confirmations {
    pub(super) fn new() -> Self {
        Self {
            token: None,
            beats: [None; BEATS_KEPT],
            next_beat: 0,
            votes: Vec::with_capacity(ANSWERS_PER_HEARTBEAT_MAX),
            grade: Grade::Alone,
            until: Instant::from_nanos(0),
            ring_size: 0,
            reported: Grade::Alone,
            view_since: None,
            end_times: Vec::with_capacity(ANSWERS_PER_HEARTBEAT_MAX),
        }
    }

    /// Notes that this node sends a heartbeat now. Returns the number of this heartbeat within the tenure.
    pub(super) fn note_heartbeat(&mut self, token: Token, now: Instant) -> u32 {
        if !self.has_token(token) {
            self.token = Some(token);
            self.beats = [None; BEATS_KEPT];
            self.next_beat = 0;
            // Each promise names a token, so old promises do not count for a new tenure.
            self.votes.clear();
            self.grade = Grade::Alone;
            (self.reported, self.view_since) = (Grade::Alone, None);
        }
        let beat = self.next_beat;
        self.next_beat = beat.wrapping_add(1);
        self.beats[slot(beat)] = Some(now);
        beat
    }

    /// Forgets the confirmations of an earlier tenure with this token. Only a token with the largest progress comes
    /// back unchanged.
    pub(super) fn begin_tenure(&mut self, token: Token) {
        if self.has_token(token) {
            self.token = None;
        }
    }

    /// Replaces the token `old` of the tenure by `new`. All promises for the old token also count for the new token.
    pub(super) fn replace_token(&mut self, old: Token, new: Token) {
        if self.has_token(old) {
            self.token = Some(new);
        }
    }

    fn has_token(&self, token: Token) -> bool {
        self.token == Some(token)
    }

    /// Returns the sending time of the heartbeat with this number. Returns `None` if the heartbeat is not among the
    /// latest heartbeats of the tenure.
    pub(super) fn sent_at(&self, token: Token, beat: u32) -> Option<Instant> {
        let age = self.next_beat.wrapping_sub(beat);
        let recent = age >= 1 && age <= u32::try_from(BEATS_KEPT).unwrap_or(u32::MAX);
        self.beats[slot(beat)].filter(|_| recent && self.has_token(token))
    }

    /// Returns the sending time of the tenure's latest heartbeat.
    pub(super) fn last_sent_at(&self, token: Token) -> Option<Instant> {
        self.sent_at(token, self.next_beat.wrapping_sub(1))
    }

    /// Adds a member's promise. The member sent it in answer to a heartbeat of the tenure. The promise ends at `until`.
    pub(super) fn add(&mut self, mac: MacAddr, until: Instant) {
        match self.votes.binary_search_by_key(&mac, |vote| vote.mac) {
            // Answers may arrive in a different order from their heartbeats.
            Ok(at) => self.votes[at].until = self.votes[at].until.max(until),
            Err(at) => self.votes.insert(at, Vote { mac, until }),
        }
    }

    /// Returns the end of a member's promise.
    pub(super) fn vote_of(&self, token: Token, mac: MacAddr) -> Option<Instant> {
        let at = self.votes.binary_search_by_key(&mac, |vote| vote.mac);
        at.ok()
            .filter(|_| self.has_token(token))
            .map(|at| self.votes[at].until)
    }

    /// Returns the number of members whose promises have not ended.
    pub(super) fn count_confirmations(&self, token: Token, now: Instant) -> usize {
        let votes = self.votes.iter().filter(|vote| vote.until > now);
        if self.has_token(token) {
            votes.count()
        } else {
            0
        }
    }

    /// Returns the time until which promises of at least `count` members last. If `count` is 0, returns the argument
    /// `alone`. Returns `None` if the node sent no heartbeat in the tenure, or if fewer members promised.
    pub(super) fn promised_by_count(
        &mut self,
        token: Token,
        count: usize,
        alone: Option<Instant>,
    ) -> Option<Instant> {
        if !self.has_token(token) {
            return None;
        }
        let Some(at) = count.checked_sub(1) else {
            return alone;
        };
        if at >= self.votes.len() {
            return None;
        }
        // The promises are sorted by MAC address, not by end time. So a selection finds the end time at the place
        // `count`.
        self.end_times.clear();
        self.end_times
            .extend(self.votes.iter().map(|vote| vote.until));
        let (_, &mut end, _) = self.end_times.select_nth_unstable_by(at, |a, b| b.cmp(a));
        Some(end)
    }

    /// Returns the time until which the promises of all these members last. Returns `None` if one of these members did
    /// not promise, or if `members` is empty.
    pub(super) fn promised_by_all(
        &self,
        token: Token,
        members: impl IntoIterator<Item = MacAddr>,
    ) -> Option<Instant> {
        let mut end = None;
        for mac in members {
            let vote = self.vote_of(token, mac)?;
            end = Some(end.map_or(vote, |end: Instant| end.min(vote)));
        }
        end
    }

    /// Returns the later of two times: the end of the last promise, and the end of the grade.
    pub(super) fn last_end(&self, token: Token) -> Option<Instant> {
        let votes = self.votes.iter().map(|vote| vote.until);
        votes
            .chain([self.until])
            .max()
            .filter(|_| self.has_token(token))
    }

    /// Stores the computed grade, the time until which the grade holds, and the size of the ring for which it was
    /// computed.
    pub(super) fn set_grade(&mut self, grade: Grade, until: Instant, ring_size: usize) {
        (self.grade, self.until, self.ring_size) = (grade, until, ring_size);
    }

    /// Returns the computed grade, and the end of the grade. Returns `None` if the grade is [`Grade::Alone`].
    pub(super) fn grade(&self, token: Token) -> Option<(Grade, Instant)> {
        let counts = self.has_token(token) && self.grade != Grade::Alone;
        counts.then_some((self.grade, self.until))
    }

    /// Whether the grade was computed for a different size of the ring.
    pub(super) fn is_other_ring_size(&self, ring_size: usize) -> bool {
        self.grade != Grade::Alone && self.ring_size != ring_size
    }

    /// Returns whether the caller must report the grade. If the grade must be reported, it counts as reported from now
    /// on.
    pub(super) fn take_report(
        &mut self,
        token: Token,
        now: Instant,
        settles: Duration,
    ) -> GradeReport {
        if !self.has_token(token) {
            return GradeReport::Old;
        }
        if self.grade == self.reported {
            self.view_since = None;
            return GradeReport::Old;
        }
        if (self.reported, self.grade) == (Grade::Alone, Grade::AllHeard) {
            // The first answers to a heartbeat often give the grade `all-heard`, and the next answers give a quorum. So
            // `all-heard` is reported only if it lasts.
            let settled = *self.view_since.get_or_insert(now) + settles;
            if now < settled {
                return GradeReport::Later(settled.min(self.until.max(now)));
            }
        }
        (self.reported, self.view_since) = (self.grade, None);
        GradeReport::New
    }

    /// Writes the fields that affect rules. `promised` is the length of a promise. `settles` is the minimum duration of
    /// the grade `all-heard` before a report.
    pub(super) fn snapshot(
        &self,
        writer: &mut Writer,
        token: Token,
        promised: Duration,
        settles: Duration,
    ) {
        let Self {
            token: of,
            beats,
            next_beat,
            votes,
            grade,
            until,
            reported,
            view_since,
            // This size equals the present size of the ring, because the node computes the grade again after each
            // change of the size.
            ring_size: _,
            end_times: _,
        } = self;
        if *of != Some(token) {
            return;
        }
        let now = writer.now;
        (next_beat, grade, reported, until.since(now), votes.len()).hash(writer);
        writer.age_up_to(*view_since, settles);
        for beat in beats {
            writer.age_up_to(*beat, promised);
        }
        for vote in votes {
            (vote.mac, vote.until.since(now)).hash(writer);
        }
    }
}

fn slot(beat: u32) -> usize {
    beat as usize % BEATS_KEPT
}
