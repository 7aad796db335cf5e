//! Who confirms a tenure, and what was found out and told of it. All of it is asked by the tenure's token:
//! a new tenure has none of it. Only the room is kept, so that a tenure allocates nothing; and it begins
//! with the first heartbeat, which a candidate sends before it is OWNER.

use std::hash::Hash;
use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::Token;

use super::LISTENERS;
use crate::lab2::Grade;
use crate::lab2::machine::Writer;
use crate::time::Instant;

/// So many of the latest heartbeats may be answered.
const BEATS: usize = 16;

/// A member that has promised to help no other holder until then.
#[derive(Debug, Clone, Copy, Hash)]
struct Vote {
    mac: MacAddr,
    until: Instant,
}

/// What is known of those who confirm the latest tenure of which a heartbeat has left.
#[derive(Debug, Clone)]
pub(super) struct Support {
    /// The tenure.
    token: Option<Token>,
    /// When the latest heartbeats of it were about to leave, by their numbers.
    beats: [Option<Instant>; BEATS],
    /// The next heartbeat's number.
    next_beat: u32,
    /// By MAC.
    votes: Vec<Vote>,
    /// The grade when it was last looked at, and how long that holds.
    grade: Grade,
    until: Instant,
    /// How many members made up the ring then.
    roster: usize,
    /// The grade that people were told of.
    told: Grade,
    /// Since when the tenure has had a view that they were not told of.
    viewed: Option<Instant>,
    /// To find the latest time that a majority has promised: room that is kept.
    ends: Vec<Instant>,
}

/// Whether people are to be told of a grade.
pub(super) enum News {
    Old,
    /// Not before it has lasted: it is to be looked at again then.
    NotYet(Instant),
    New,
}

impl Support {
    pub(super) fn new() -> Self {
        Self {
            token: None,
            beats: [None; BEATS],
            next_beat: 0,
            votes: Vec::with_capacity(LISTENERS),
            grade: Grade::Alone,
            until: Instant::from_nanos(0),
            roster: 0,
            told: Grade::Alone,
            viewed: None,
            ends: Vec::with_capacity(LISTENERS),
        }
    }

    /// A heartbeat of a tenure leaves now: its number.
    pub(super) fn begin_beat(&mut self, token: Token, now: Instant) -> u32 {
        if !self.is_of(token) {
            self.token = Some(token);
            self.beats = [None; BEATS];
            self.next_beat = 0;
            self.votes.clear();
            self.grade = Grade::Alone;
            (self.told, self.viewed) = (Grade::Alone, None);
        }
        let beat = self.next_beat;
        self.next_beat = beat.wrapping_add(1);
        self.beats[place(beat)] = Some(now);
        beat
    }

    /// The tenure goes on with another token, and all that was promised to it counts.
    pub(super) fn rename(&mut self, old: Token, new: Token) {
        if self.is_of(old) {
            self.token = Some(new);
        }
    }

    fn is_of(&self, token: Token) -> bool {
        self.token == Some(token)
    }

    /// When the heartbeat of this number left, if it is one of the tenure's latest.
    pub(super) fn left_at(&self, token: Token, beat: u32) -> Option<Instant> {
        let age = self.next_beat.wrapping_sub(beat);
        let recent = age >= 1 && age <= u32::try_from(BEATS).unwrap_or(u32::MAX);
        self.beats[place(beat)].filter(|_| recent && self.is_of(token))
    }

    /// When the tenure's latest heartbeat left.
    pub(super) fn last_left_at(&self, token: Token) -> Option<Instant> {
        self.left_at(token, self.next_beat.wrapping_sub(1))
    }

    /// A member has promised until then, in answer to a heartbeat of the tenure.
    pub(super) fn add(&mut self, mac: MacAddr, until: Instant) {
        match self.votes.binary_search_by_key(&mac, |vote| vote.mac) {
            Ok(at) => self.votes[at].until = self.votes[at].until.max(until),
            Err(at) => self.votes.insert(at, Vote { mac, until }),
        }
    }

    /// Until when a member has promised.
    pub(super) fn vote_of(&self, token: Token, mac: MacAddr) -> Option<Instant> {
        let at = self.votes.binary_search_by_key(&mac, |vote| vote.mac);
        at.ok()
            .filter(|_| self.is_of(token))
            .map(|at| self.votes[at].until)
    }

    /// How many members' promises have not ended.
    pub(super) fn confirmed(&self, token: Token, now: Instant) -> usize {
        let votes = self.votes.iter().filter(|vote| vote.until > now);
        if self.is_of(token) { votes.count() } else { 0 }
    }

    /// Until when `count` members have promised at the same time, `alone` if that asks for none; nothing
    /// if nobody was asked yet.
    pub(super) fn promised_by(
        &mut self,
        token: Token,
        count: usize,
        alone: Option<Instant>,
    ) -> Option<Instant> {
        if !self.is_of(token) {
            return None;
        }
        let Some(at) = count.checked_sub(1) else {
            return alone;
        };
        if at >= self.votes.len() {
            return None;
        }
        self.ends.clear();
        self.ends.extend(self.votes.iter().map(|vote| vote.until));
        let (_, &mut end, _) = self.ends.select_nth_unstable_by(at, |a, b| b.cmp(a));
        Some(end)
    }

    /// Until when all of these members have promised; `None` if one has not, or there is none.
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

    /// Until when the last of those who have promised has, or the application was told to rely on it.
    pub(super) fn ends(&self, token: Token) -> Option<Instant> {
        let votes = self.votes.iter().map(|vote| vote.until);
        votes
            .chain([self.until])
            .max()
            .filter(|_| self.is_of(token))
    }

    /// The grade was found out, in a ring of so many, and how long it holds.
    pub(super) fn set_grade(&mut self, grade: Grade, until: Instant, roster: usize) {
        (self.grade, self.until, self.roster) = (grade, until, roster);
    }

    /// The grade that was found out last, and until when it holds; `None`: nobody helps.
    pub(super) fn grade(&self, token: Token) -> Option<(Grade, Instant)> {
        let counts = self.is_of(token) && self.grade != Grade::Alone;
        counts.then_some((self.grade, self.until))
    }

    /// Whether a grade was found out in a ring of another size.
    pub(super) fn is_miscounted(&self, roster: usize) -> bool {
        self.grade != Grade::Alone && self.roster != roster
    }

    /// Whether people are to be told of the grade. The first answers to a heartbeat confirm a view, if
    /// nobody else was heard lately, and the next ones a quorum: a view is news once the others have had
    /// time to answer, and it settles.
    pub(super) fn news(&mut self, token: Token, now: Instant, settles: Duration) -> News {
        if !self.is_of(token) {
            return News::Old;
        }
        if self.grade == self.told {
            self.viewed = None;
            return News::Old;
        }
        if (self.told, self.grade) == (Grade::Alone, Grade::View) {
            let settled = *self.viewed.get_or_insert(now) + settles;
            if now < settled {
                return News::NotYet(settled.min(self.until.max(now)));
            }
        }
        (self.told, self.viewed) = (self.grade, None);
        News::New
    }

    /// What the future depends on, under this tenure: a promise lasts for `promised`, and a view is
    /// news when it `settles`.
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
            told,
            viewed,
            // As the table has it, or the grade would have been found out anew.
            roster: _,
            ends: _,
        } = self;
        if *of != Some(token) {
            return;
        }
        let now = writer.now;
        (next_beat, grade, told, until.since(now), votes.len()).hash(writer);
        writer.age_up_to(*viewed, settles);
        for beat in beats {
            writer.age_up_to(*beat, promised);
        }
        for vote in votes {
            (vote.mac, vote.until.since(now)).hash(writer);
        }
    }
}

fn place(beat: u32) -> usize {
    beat as usize % BEATS
}
