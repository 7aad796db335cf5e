//! The members that confirm a tenure, and its grade.
//!
//! All of it belongs to one token, and a new token begins with none. It begins with the first heartbeat, which a
//! candidate sends before it is OWNER. The vectors keep their capacity, so that a new tenure allocates nothing.

use std::hash::Hash;
use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::Token;

use super::ANSWERS_PER_HEARTBEAT_MAX;
use crate::lab2::Grade;
use crate::lab2::machine::Writer;
use crate::time::Instant;

/// How many of the latest heartbeats may be answered.
const BEATS_KEPT: usize = 16;

/// A member's promise until a given time.
#[derive(Debug, Clone, Copy, Hash)]
struct Vote {
    mac: MacAddr,
    until: Instant,
}

/// Confirmations of the latest tenure that has sent a heartbeat.
#[derive(Debug, Clone)]
pub(super) struct Confirmations {
    token: Option<Token>,
    /// When the latest heartbeats were encoded, by number modulo [`BEATS_KEPT`].
    beats: [Option<Instant>; BEATS_KEPT],
    next_beat: u32,
    /// Sorted by MAC.
    votes: Vec<Vote>,
    /// The latest computed grade, and until when it holds.
    grade: Grade,
    until: Instant,
    /// Size of the ring at that time.
    ring_size: usize,
    /// The last reported grade.
    reported: Grade,
    /// Since when the tenure has had a view that was not reported.
    view_since: Option<Instant>,
    /// Buffer for the search of the time that a majority has promised.
    end_times: Vec<Instant>,
}

/// Whether a grade is to be reported.
pub(super) enum GradeReport {
    Old,
    /// Not yet: it must last until this time.
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

    /// Notes a heartbeat that leaves now. Returns its number.
    pub(super) fn note_heartbeat(&mut self, token: Token, now: Instant) -> u32 {
        if !self.has_token(token) {
            self.token = Some(token);
            self.beats = [None; BEATS_KEPT];
            self.next_beat = 0;
            // Promises name their token, so old ones do not count for a new tenure.
            self.votes.clear();
            self.grade = Grade::Alone;
            (self.reported, self.view_since) = (Grade::Alone, None);
        }
        let beat = self.next_beat;
        self.next_beat = beat.wrapping_add(1);
        self.beats[slot(beat)] = Some(now);
        beat
    }

    /// Replaces the tenure's token. All promises count for the new one.
    pub(super) fn replace_token(&mut self, old: Token, new: Token) {
        if self.has_token(old) {
            self.token = Some(new);
        }
    }

    fn has_token(&self, token: Token) -> bool {
        self.token == Some(token)
    }

    /// Returns when the heartbeat of this number left, if it is one of the tenure's latest.
    pub(super) fn sent_at(&self, token: Token, beat: u32) -> Option<Instant> {
        let age = self.next_beat.wrapping_sub(beat);
        let recent = age >= 1 && age <= u32::try_from(BEATS_KEPT).unwrap_or(u32::MAX);
        self.beats[slot(beat)].filter(|_| recent && self.has_token(token))
    }

    /// Returns when the tenure's latest heartbeat left.
    pub(super) fn last_sent_at(&self, token: Token) -> Option<Instant> {
        self.sent_at(token, self.next_beat.wrapping_sub(1))
    }

    /// Adds a member's promise until this time, in answer to a heartbeat of the tenure.
    pub(super) fn add(&mut self, mac: MacAddr, until: Instant) {
        match self.votes.binary_search_by_key(&mac, |vote| vote.mac) {
            Ok(at) => self.votes[at].until = self.votes[at].until.max(until),
            Err(at) => self.votes.insert(at, Vote { mac, until }),
        }
    }

    /// Returns until when a member has promised.
    pub(super) fn vote_of(&self, token: Token, mac: MacAddr) -> Option<Instant> {
        let at = self.votes.binary_search_by_key(&mac, |vote| vote.mac);
        at.ok()
            .filter(|_| self.has_token(token))
            .map(|at| self.votes[at].until)
    }

    /// Returns how many members' promises have not ended.
    pub(super) fn count_confirmations(&self, token: Token, now: Instant) -> usize {
        let votes = self.votes.iter().filter(|vote| vote.until > now);
        if self.has_token(token) {
            votes.count()
        } else {
            0
        }
    }

    /// Returns until when at least `count` members have promised. If `count` is 0 it returns `alone`; `None` if no
    /// heartbeat was sent.
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
        self.end_times.clear();
        self.end_times
            .extend(self.votes.iter().map(|vote| vote.until));
        let (_, &mut end, _) = self.end_times.select_nth_unstable_by(at, |a, b| b.cmp(a));
        Some(end)
    }

    /// Returns until when all of these members have promised; `None` if one has not, or if there are none.
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

    /// Returns the latest time at which a promise ends, or until which the application was told to rely on the token.
    pub(super) fn last_end(&self, token: Token) -> Option<Instant> {
        let votes = self.votes.iter().map(|vote| vote.until);
        votes
            .chain([self.until])
            .max()
            .filter(|_| self.has_token(token))
    }

    /// Stores the computed grade, until when it holds, and the size of the ring.
    pub(super) fn set_grade(&mut self, grade: Grade, until: Instant, ring_size: usize) {
        (self.grade, self.until, self.ring_size) = (grade, until, ring_size);
    }

    /// Returns the computed grade, and until when it holds; `None` if it is [`Grade::Alone`].
    pub(super) fn grade(&self, token: Token) -> Option<(Grade, Instant)> {
        let counts = self.has_token(token) && self.grade != Grade::Alone;
        counts.then_some((self.grade, self.until))
    }

    /// Whether the grade was computed for another size of the ring.
    pub(super) fn is_other_ring_size(&self, ring_size: usize) -> bool {
        self.grade != Grade::Alone && self.ring_size != ring_size
    }

    /// Returns whether the grade is to be reported.
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
            // The first answers to a heartbeat make a view, the next ones a quorum. So a view is reported only if it
            // lasts.
            let settled = *self.view_since.get_or_insert(now) + settles;
            if now < settled {
                return GradeReport::Later(settled.min(self.until.max(now)));
            }
        }
        (self.reported, self.view_since) = (self.grade, None);
        GradeReport::New
    }

    /// Writes the parts that rules read. A promise lasts for `promised`, and a view is reported after `settles`.
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
            // It equals the table's, or the grade would be computed again.
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
