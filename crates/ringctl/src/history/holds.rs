//! Joins the lines about the beginning and the end of each hold. The newest line comes first, so the collector can stop
//! after the wanted number of holds.

use std::collections::{HashMap, HashSet};

use ring_control::hold_history::{
    LOCK_GRANTED, LOCK_LOST, LOCK_RELEASED, MEMBER_HELD, MEMBER_HOLDS, STARTED,
};
use serde::Serialize;

use super::record::Record;

const NANOS_PER_MS: u64 = 1_000_000;
/// Two lines are about the same hold if their beginnings of the hold differ by at most this time.
const SAME_BEGINNING_MS: u64 = 2_000;

/// The locks whose holds are collected.
#[derive(Debug)]
pub(super) enum LockChoice {
    All,
    Token,
    Named(String),
}

/// The end of a hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Outcome {
    /// There is no line about the end of the hold, so the hold lasts.
    Held,
    Released,
    Lost,
    /// A hold of another machine ended. This machine does not know the reason of the end.
    Ended,
    /// The daemon of this machine ended during the hold, or the line about the end is missing.
    Unknown,
}

/// A program that had a lock.
#[derive(Debug, Serialize)]
pub(super) struct Hold {
    /// Name of the node on this machine that logged the hold.
    pub node: String,
    /// Name of the lock; `None` for the token.
    pub lock: Option<String>,
    /// Address of the member; `None` for this machine.
    pub member: Option<String>,
    pub member_name: Option<String>,
    pub program: String,
    pub job: Option<String>,
    pub pid: Option<i32>,
    pub uid: Option<u32>,
    pub user: Option<String>,
    pub fencing: Option<String>,
    /// Beginning, in milliseconds since 1970.
    pub from_ms: u64,
    /// Duration. `None` if the hold has not ended, or if its end is unknown.
    pub held_ns: Option<u64>,
    pub outcome: Outcome,
    pub exit: Option<u8>,
    pub reason: Option<String>,
}

/// Key of a hold: lines with the same key are about the same hold.
#[derive(Debug, PartialEq, Eq, Hash)]
struct HoldKey {
    node: String,
    lock: Option<String>,
    member: Option<String>,
    fencing: Option<String>,
    program: Option<String>,
    pid: Option<i32>,
}

/// A hold for which older lines may contain the beginning.
#[derive(Debug)]
struct OpenHold {
    from_ms: u64,
    /// Index of the hold in the list. `None` if the hold is not in the list.
    at: Option<usize>,
}

/// Collects holds from records. The newest record of each node comes first.
#[derive(Debug)]
pub(super) struct Collector {
    choice: LockChoice,
    since_ms: u64,
    limit: usize,
    holds: Vec<Hold>,
    open: HashMap<HoldKey, OpenHold>,
    /// The nodes whose programs may still have a lock.
    nodes: HashSet<String>,
    /// The nodes that were started later than the current record.
    restarted: HashSet<String>,
    /// The nodes on which a program got the token later than the current record.
    granted_token: HashSet<String>,
}

impl Collector {
    /// Creates a collector of at most `limit` holds that have not ended, or that ended after `since_ms`. `nodes` are
    /// the known nodes of this machine. The collector adds further nodes from the records.
    pub(super) fn new(
        choice: LockChoice,
        since_ms: u64,
        limit: usize,
        nodes: HashSet<String>,
    ) -> Self {
        Self {
            choice,
            since_ms,
            limit,
            holds: Vec::new(),
            open: HashMap::new(),
            nodes,
            restarted: HashSet::new(),
            granted_token: HashSet::new(),
        }
    }

    /// Adds a record. Returns whether older records are needed too.
    pub(super) fn add(&mut self, record: Record) -> bool {
        let has_all_ended = self.has_all_ended(record.time_ms);
        if !self.nodes.contains(&record.node) {
            self.nodes.insert(record.node.clone());
        }
        let is_chosen = match &self.choice {
            LockChoice::All => true,
            LockChoice::Token => record.name.is_none(),
            LockChoice::Named(name) => record.name.as_ref() == Some(name),
        };
        match record.event.as_str() {
            STARTED => {
                self.restarted.insert(record.node);
            }
            _ if !is_chosen => {}
            LOCK_RELEASED => self.add_hold(record, Outcome::Released),
            LOCK_LOST => self.add_hold(record, Outcome::Lost),
            MEMBER_HELD => self.add_end_of_member(record),
            LOCK_GRANTED => self.add_grant(record),
            MEMBER_HOLDS => self.add_beginning_of_member(record),
            _ => {}
        }
        // A hold that has not ended may have begun long ago, but not before the start of its daemon. So older records
        // are needed until all daemons' starts are found.
        !(has_all_ended && self.nodes.is_subset(&self.restarted))
    }

    /// Returns the holds, the oldest first.
    pub(super) fn into_holds(mut self) -> Vec<Hold> {
        // First put the holds that have not ended: they count as newer than all others.
        self.holds.sort_by_key(|hold| hold.outcome != Outcome::Held);
        self.holds.truncate(self.limit);
        self.holds.reverse();
        self.holds.sort_by_key(|hold| hold.from_ms);
        self.holds
    }

    /// Whether the list contains all wanted holds that have ended. `time_ms` is the time of the current record.
    fn has_all_ended(&self, time_ms: u64) -> bool {
        self.holds.len() >= self.limit || time_ms < self.since_ms
    }

    fn add_grant(&mut self, record: Record) {
        // If there is a line about the end, it already contains the exact beginning.
        if self.open.remove(&key(&record)).is_none() {
            // If the line about the end is missing, a later grant of the token shows that the hold has ended.
            let is_over = record.name.is_none() && self.granted_token.contains(&record.node);
            self.add_beginning(record, is_over);
        }
    }

    fn add_beginning_of_member(&mut self, record: Record) {
        let Some(open) = self.open.get_mut(&key(&record)) else {
            return self.add_beginning(record, false);
        };
        // A daemon that was restarted logs the beginning again, with a later time.
        open.from_ms = open.from_ms.min(beginning_ms(&record));
        if let Some(at) = open.at {
            let hold = &mut self.holds[at];
            let earlier_ms = hold.from_ms - open.from_ms;
            hold.from_ms = open.from_ms;
            hold.held_ns = hold.held_ns.map(|held| held + earlier_ms * NANOS_PER_MS);
        }
    }

    fn add_end_of_member(&mut self, record: Record) {
        let from_ms = beginning_ms(&record);
        let is_same = |open: &OpenHold| open.from_ms.abs_diff(from_ms) <= SAME_BEGINNING_MS;
        // If a daemon did not hear the owner for a while, it logs an end. Later it logs the beginning of the same hold
        // again.
        if !self.open.get(&key(&record)).is_some_and(is_same) {
            self.add_hold(record, Outcome::Ended);
        }
    }

    /// Adds a hold that has no line about its end. `is_over` is `true` if other lines show that the hold has ended.
    fn add_beginning(&mut self, record: Record, is_over: bool) {
        let outcome = if is_over || self.restarted.contains(&record.node) {
            Outcome::Unknown
        } else {
            Outcome::Held
        };
        self.add_hold(record, outcome);
    }

    fn add_hold(&mut self, record: Record, outcome: Outcome) {
        let is_listed = outcome == Outcome::Held || !self.has_all_ended(record.time_ms);
        let from_ms = beginning_ms(&record);
        if record.event != LOCK_GRANTED {
            let at = is_listed.then_some(self.holds.len());
            self.open.insert(key(&record), OpenHold { from_ms, at });
        }
        if record.mac.is_none() && record.name.is_none() {
            self.granted_token.insert(record.node.clone());
        }
        if !is_listed {
            return;
        }
        let has_ended = !matches!(outcome, Outcome::Held | Outcome::Unknown);
        self.holds.push(Hold {
            from_ms,
            held_ns: record.held_ns.filter(|_| has_ended),
            node: record.node,
            lock: record.name,
            member: record.mac,
            member_name: record.host,
            program: record.label.unwrap_or_default(),
            job: record.job,
            pid: record.pid,
            uid: record.uid,
            user: record.user,
            fencing: record.token,
            outcome,
            exit: record.exit,
            reason: record.reason,
        });
    }
}

/// Returns the time at which a record's hold began.
fn beginning_ms(record: &Record) -> u64 {
    let held_ms = record.held_ns.unwrap_or_default() / NANOS_PER_MS;
    record.time_ms.saturating_sub(held_ms)
}

fn key(record: &Record) -> HoldKey {
    HoldKey {
        node: record.node.clone(),
        lock: record.name.clone(),
        member: record.mac.clone(),
        fencing: record.token.clone(),
        program: record.label.clone(),
        pid: record.pid,
    }
}

#[cfg(test)]
mod tests;
