//! What a machine's future depends on, as bytes: two machines of one ring with equal snapshots do
//! the same from here on, whenever and by whatever way they got there. So a model checker knows a
//! state again.
//!
//! Points of time are told as time to go or time gone by, never as such: a machine has no sense
//! of the date. Where a rule asks only whether something was at least so long ago, what was longer
//! ago counts as never. Left out are the constants, which all members of a ring share, and what
//! only people see: when a member was last heard beyond the rules' own use of it, and how long a
//! hand-over took.
//!
//! Every structure is taken apart in full, without `..`, here or beside it where its fields are its own: a
//! new field does not compile until it is decided what it means for the future.

use std::hash::{Hash, Hasher};
use std::time::Duration;

use crate::lab2::Lab2;
use crate::lab2::jobs::once::{Jobs, Once};
use crate::lab2::jobs::stamps::{Age, Entry, Stamps};
use crate::lab2::jobs::telling::TELLING;
use crate::lab2::machine::storage::Storage;
use crate::lab2::members::hearing::Hearing;
use crate::lab2::members::peer::{Notes, Peer};
use crate::lab2::members::removed::{self, Removed};
use crate::lab2::members::sweep::Sweep;
use crate::lab2::members::table::Table;
use crate::lab2::tenure::role::{AckState, Announced, Offer, Role, Search, Tenure, Wait};
use crate::time::Instant;
use crate::timers::TimerKind;

impl Lab2 {
    /// What the machine's future depends on. Equal bytes, equal future; in whole only, since the
    /// encoding is this module's own and may change.
    #[must_use]
    pub fn snapshot(&self) -> Vec<u8> {
        let Self {
            context,
            role,
            table,
            known,
            owner,
            last_broadcast,
            support,
            promise,
            want,
            asked,
            paused,
            middle,
            apart,
            corrections,
            rivals,
            contest,
            // Which people and applications are told of, and no rule looks at.
            troubles: _,
            cards: _,
            sweep,
            jobs,
            hearing,
            silence,
            shutdown,
            storage:
                Storage {
                    stored,
                    failed,
                    told,
                },
            out,
        } = self;
        let constants = context.constants();
        let (heartbeat, patience) = (constants.heartbeat, context.waiter_timeout());
        let mut writer = Writer {
            now: context.now(), // the wall clock is told anew with every input
            bytes: Vec::with_capacity(512),
        };
        context.link.snapshot(&mut writer);
        known.snapshot(&mut writer, patience, self.hearsay_lasts());
        (owner, want, paused, shutdown, middle, apart).hash(&mut writer);
        (failed, told).hash(&mut writer);
        if *failed {
            (stored.my_token_number, stored.known).hash(&mut writer);
        }
        let quiet = self.silence();
        let objected = constants.objected_within();
        writer.role(role, (constants.take_timeout, objected), quiet);
        writer.table(table, heartbeat, patience, (quiet, constants.forget));
        let forgets = constants.forget.is_some();
        writer.hearing(hearing, context.deaf_after(), quiet, forgets);
        silence.snapshot(&mut writer, quiet);
        contest.snapshot(&mut writer, self.token(), heartbeat);
        writer.within(*last_broadcast, heartbeat);
        writer.age_up_to(*asked, patience);
        let promised = self.promise_lasts(self.roster());
        writer.age_up_to(context.started(), self.quiet(self.roster()));
        if let Role::Owner(tenure) = role {
            support.snapshot(&mut writer, tenure.token, promised, self.view_settles());
        }
        let promise = promise.filter(|promise| promise.until > context.now());
        promise
            .map(|it| (it.token, it.holder, it.until.since(context.now())))
            .hash(&mut writer);
        writer.within(corrections.last(), heartbeat);
        let pause = heartbeat.max(constants.take_timeout);
        rivals.snapshot(&mut writer, patience, pause, heartbeat);
        writer.sweep(sweep, heartbeat);
        writer.jobs(jobs, heartbeat);
        out.snapshot(&mut writer);
        writer.bytes
    }
}

/// Takes down all that is hashed into it, so that nothing is lost.
pub(crate) struct Writer {
    pub(crate) now: Instant,
    bytes: Vec<u8>,
}

impl Hasher for Writer {
    fn write(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Not a hash: whoever needs one takes it from the bytes.
    fn finish(&self) -> u64 {
        0
    }
}

impl Writer {
    /// A stamp of which a rule asks whether it is at most `limit` ago.
    pub(crate) fn within(&mut self, stamp: Option<Instant>, limit: Duration) {
        let age = stamp.map(|at| self.now.since(at));
        age.filter(|&age| age <= limit).hash(self);
    }

    /// A stamp that means something else than none at any age, but the same beyond `limit`.
    pub(crate) fn age_up_to(&mut self, stamp: Option<Instant>, limit: Duration) {
        stamp.map(|at| self.now.since(at).min(limit)).hash(self);
    }

    /// A node is deaf after `earshot`.
    fn hearing(&mut self, hearing: &Hearing, earshot: Duration, silence: Duration, forgets: bool) {
        let Hearing {
            last,
            since,
            deaf,
            // Which only people are told of.
            told: _,
            unfit,
            probe,
        } = hearing;
        self.age_up_to(*last, earshot);
        // Asked for only where members are forgotten.
        self.age_up_to(since.filter(|_| forgets), silence);
        (deaf, unfit, probe).hash(self);
    }

    fn role(
        &mut self,
        role: &Role,
        (take_timeout, objected): (Duration, Duration),
        silence: Duration,
    ) {
        role.state().hash(self);
        match role {
            // By when it is due only people are told.
            Role::Waiter(Wait { unacknowledged }) => unacknowledged.map(|owed| owed.to).hash(self),
            Role::Looser(Search {
                rival,
                against,
                in_turn,
            }) => (rival, against, in_turn.map(TimerKind::index)).hash(self),
            Role::Generating(candidate) => candidate.hash(self),
            Role::Owner(Tenure {
                token,
                known_before,
                next_progress,
                unsent,
                offer,
                unacknowledged,
                ack,
                failing,
                refusals,
                rests_until,
                giver,
                ahead,
                interrupted,
                is_used,
            }) => {
                (token, known_before, next_progress, offer.is_some()).hash(self);
                (unacknowledged, is_used).hash(self);
                let (step, at) = match *ack {
                    AckState::Settled => (0, self.now),
                    AckState::Due(by) => (1, by),
                    AckState::Sent(by) => (2, by),
                    AckState::Unsure(Announced::No) => (3, self.now),
                    AckState::Unsure(Announced::Leaving) => (4, self.now),
                    AckState::Unsure(Announced::At(at)) if at + objected <= self.now => {
                        (0, self.now)
                    }
                    AckState::Unsure(Announced::At(at)) => (5, at + objected),
                };
                (step, at.since(self.now)).hash(self);
                (rests_until.since(self.now), giver, ahead, interrupted).hash(self);
                failing.map(|failing| failing.count).hash(self);
                self.age_up_to(failing.map(|failing| failing.since), silence);
                let refused = refusals.map(|refusals| (refusals.count, refusals.is_asked));
                refused.hash(self);
                self.age_up_to(refusals.map(|refusals| refusals.since), silence);
                unsent.map(|unsent| (unsent.to, unsent.times)).hash(self);
                self.age_up_to(unsent.map(|unsent| unsent.at), take_timeout);
                if let Some(Offer {
                    to,
                    token,
                    attempts,
                    since,
                    // Known as soon as the frames that were sent with it have left.
                    departs: _,
                }) = offer
                {
                    (to, token, attempts).hash(self);
                    // A heartbeat waits for TAKE_TIMEOUT from here; nothing waits for longer.
                    self.age_up_to(Some(*since), take_timeout);
                }
            }
        }
    }

    fn table(
        &mut self,
        table: &Table,
        heartbeat: Duration,
        patience: Duration,
        remembered: (Duration, Option<Duration>),
    ) {
        let Table {
            members,
            peers,
            max,
            notes,
            profiles,
            // Which only people are told of.
            versions: _,
            // These follow from what is taken down; a table that small is in order.
            hash: _,
            in_order: _,
            latest: _,
            wanting: _,
            failed: _,
            heard: _,
            removed: Removed { entries, told },
        } = table;
        (max, members.len()).hash(self);
        for (member, peer) in members.iter().zip(peers) {
            (member.mac, member.ip).hash(self);
            self.peer(peer, patience, remembered);
        }
        let now = self.now;
        self.age_up_to(told.last(), heartbeat);
        for removed::Entry { mac, until, tell } in entries.iter().filter(|entry| entry.until > now)
        {
            (mac, until.since(now), tell).hash(self);
        }
        for (mac, notes) in notes {
            mac.hash(self);
            self.notes(notes, heartbeat, patience);
        }
        profiles.hash(self);
    }

    /// Whether it is silent is asked of one that was heard, whether it is to be removed of all.
    fn peer(
        &mut self,
        peer: &Peer,
        patience: Duration,
        (silence, forget): (Duration, Option<Duration>),
    ) {
        let Peer {
            penalty,
            seen: _, // which the method tells in full
            wants,
            overdue,
            owed_ping,
            has_none,
            paused,
            failed,
            deaf,
            left,
            noted,
            heard,
            // Which only people are told of.
            told_silent: _,
            told_version: _,
        } = peer;
        (penalty, wants, owed_ping, has_none, paused, failed, left).hash(self);
        (noted, heard, deaf, overdue).hash(self);
        let asked_of = forget.map_or(silence, |forget| forget.max(silence));
        let since = Some(peer.silent_since()).filter(|_| *heard || forget.is_some());
        self.age_up_to(since, asked_of.max(patience));
    }

    fn notes(&mut self, notes: &Notes, heartbeat: Duration, patience: Duration) {
        let Notes {
            pinged,
            answered,
            returned,
            disputed_since,
            disputed,
            refused,
            // Which only people are told of.
            moves: _,
            cursor,
        } = notes;
        cursor.hash(self);
        for once_a_period in [pinged, answered, returned, disputed, refused] {
            self.within(once_a_period.last(), heartbeat);
        }
        self.age_up_to(*disputed_since, patience);
    }

    fn sweep(&mut self, sweep: &Sweep, heartbeat: Duration) {
        let Sweep {
            digest,
            end,
            by,
            parts,
            periods,
            asked,
        } = sweep;
        (digest.size, digest.hash, end, by, parts).hash(self);
        self.within(periods.last(), heartbeat);
        self.within(asked.last(), heartbeat);
    }

    fn jobs(&mut self, jobs: &Jobs, heartbeat: Duration) {
        let Jobs {
            stamps,
            once,
            serial,
            told,
            lacking,
            answered,
            owes,
        } = jobs;
        let Stamps {
            entries,
            unstored,
            storing,
            recalled,
            // The sum of what is taken down.
            digest: _,
            wire: _,
        } = stamps;
        (entries.len(), unstored, storing, recalled).hash(self);
        if entries.is_empty() && once.is_none() {
            // Nothing is told or asked: what was is of no consequence.
            return;
        }
        for Entry { stamp, age, before } in entries {
            let Age {
                then: _,
                at: _,
                is_guess,
            } = age;
            (stamp, age.now(self.now), is_guess).hash(self);
            let before = before.map(|before| (before.now(self.now), before.is_guess));
            before.hash(self);
        }
        (serial, lacking, owes).hash(self);
        self.age_up_to(told.last(), heartbeat * TELLING);
        self.within(answered.last(), heartbeat);
        if let Some(Once {
            request,
            token,
            phase,
            since,
            asked,
            first,
            agreed,
        }) = once
        {
            (request, token, phase, asked, first, agreed).hash(self);
            self.now.since(*since).hash(self);
        }
    }
}
