//! Joins the lines about the beginning and the end of each hold. The lines come newest first, so the number of holds
//! limits the memory and the time.

use std::collections::{HashMap, HashSet};

use ring_control::hold_history::{
    LOCK_GRANTED, LOCK_LOST, LOCK_RELEASED, MEMBER_HELD, MEMBER_HOLDS, STARTED,
};
use serde::Serialize;

use super::record::Record;

const NANOS_PER_MS: u64 = 1_000_000;

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
    /// No line about the end exists.
    Held,
    Released,
    Lost,
    /// The hold of another machine ended, and this machine does not know how.
    Ended,
    /// The daemon of this machine ended during the hold.
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
    /// Duration; `None` if the hold lasts, or if its end is unknown.
    pub held_ns: Option<u64>,
    pub outcome: Outcome,
    pub exit: Option<u8>,
    pub reason: Option<String>,
}

/// Identity of a hold in the log.
#[derive(Debug, PartialEq, Eq, Hash)]
struct HoldKey {
    node: String,
    lock: Option<String>,
    member: Option<String>,
    fencing: Option<String>,
    program: Option<String>,
    pid: Option<i32>,
}

/// Collects holds from records. The newest record comes first.
#[derive(Debug)]
pub(super) struct Collector {
    choice: LockChoice,
    limit: usize,
    holds: Vec<Hold>,
    /// The index of each hold whose beginning may follow.
    open: HashMap<HoldKey, usize>,
    /// The nodes that were started after the current record.
    restarted: HashSet<String>,
}

impl Collector {
    /// Makes a collector of at most `limit` holds.
    pub(super) fn new(choice: LockChoice, limit: usize) -> Self {
        Self {
            choice,
            limit,
            holds: Vec::new(),
            open: HashMap::new(),
            restarted: HashSet::new(),
        }
    }

    /// Adds a record. Returns whether older records can add something.
    pub(super) fn add(&mut self, record: Record) -> bool {
        let is_chosen = match &self.choice {
            LockChoice::All => true,
            LockChoice::Token => record.name.is_none(),
            LockChoice::Named(name) => record.name.as_ref() == Some(name),
        };
        match record.event.as_str() {
            STARTED => {
                self.restarted.insert(record.node);
                true
            }
            _ if !is_chosen => true,
            LOCK_RELEASED => self.add_hold(record, Outcome::Released),
            LOCK_LOST => self.add_hold(record, Outcome::Lost),
            MEMBER_HELD => self.add_hold(record, Outcome::Ended),
            LOCK_GRANTED | MEMBER_HOLDS => self.add_beginning(record),
            _ => true,
        }
    }

    /// Returns the holds, the oldest first.
    pub(super) fn into_holds(mut self) -> Vec<Hold> {
        self.holds.reverse();
        self.holds.sort_by_key(|hold| hold.from_ms);
        self.holds
    }

    fn add_beginning(&mut self, record: Record) -> bool {
        let key = key(&record);
        if record.event == LOCK_GRANTED {
            // The line of the end has the exact beginning.
            if self.open.remove(&key).is_some() {
                return true;
            }
        } else if let Some(&at) = self.open.get(&key) {
            // A restarted daemon logs the beginning again.
            let hold = &mut self.holds[at];
            let end_ms = hold.held_ns.map(|held| hold.from_ms + held / NANOS_PER_MS);
            hold.from_ms = hold.from_ms.min(beginning_ms(&record));
            hold.held_ns = end_ms.map(|end| (end - hold.from_ms) * NANOS_PER_MS);
            return true;
        }
        let is_over = self.restarted.contains(&record.node);
        let outcome = if is_over {
            Outcome::Unknown
        } else {
            Outcome::Held
        };
        self.add_hold(record, outcome)
    }

    fn add_hold(&mut self, record: Record, outcome: Outcome) -> bool {
        if self.holds.len() == self.limit {
            return false;
        }
        self.open.insert(key(&record), self.holds.len());
        let from_ms = beginning_ms(&record);
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
        true
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
mod tests {
    use super::{Collector, Hold, LockChoice, Outcome, Record};

    fn record(time_ms: u64, event: &str, token: &str) -> Record {
        Record {
            time_ms,
            node: "eth0".to_owned(),
            event: event.to_owned(),
            label: Some("tar".to_owned()),
            token: Some(token.to_owned()),
            ..Record::default()
        }
    }

    fn ended(time_ms: u64, event: &str, token: &str, held_ms: u64) -> Record {
        Record {
            held_ns: Some(held_ms * 1_000_000),
            ..record(time_ms, event, token)
        }
    }

    fn of_member(record: Record) -> Record {
        Record {
            mac: Some("02:00:00:00:00:07".to_owned()),
            ..record
        }
    }

    /// Collects records, which are in the order of the log.
    fn collect(limit: usize, records: &[Record]) -> Vec<Hold> {
        let mut collector = Collector::new(LockChoice::All, limit);
        for record in records.iter().rev() {
            if !collector.add(record.clone()) {
                break;
            }
        }
        collector.into_holds()
    }

    fn summary(holds: &[Hold]) -> Vec<(u64, Outcome)> {
        holds
            .iter()
            .map(|hold| (hold.from_ms, hold.outcome))
            .collect()
    }

    #[test]
    fn two_lines_are_one_hold() {
        let found = collect(
            9,
            &[
                record(100, "lock_granted", "1"),
                ended(200, "lock_released", "1", 100),
                record(300, "lock_granted", "2"),
                ended(350, "lock_lost", "2", 51),
                record(400, "lock_granted", "3"),
            ],
        );
        let expected = [
            (100, Outcome::Released),
            (299, Outcome::Lost),
            (400, Outcome::Held),
        ];
        assert_eq!(summary(&found), expected);
    }

    #[test]
    fn a_program_may_hold_twice_under_one_token() {
        let found = collect(
            9,
            &[
                record(100, "lock_granted", "1"),
                record(300, "lock_granted", "1"),
                ended(400, "lock_released", "1", 100),
            ],
        );
        assert_eq!(
            summary(&found),
            [(100, Outcome::Held), (300, Outcome::Released)]
        );
    }

    #[test]
    fn the_end_of_a_hold_during_a_restart_is_unknown() {
        let other = Record {
            node: "eth1".to_owned(),
            ..record(110, "lock_granted", "1")
        };
        let found = collect(
            9,
            &[
                record(100, "lock_granted", "1"),
                other,
                record(150, "started", ""),
            ],
        );
        assert_eq!(
            summary(&found),
            [(100, Outcome::Unknown), (110, Outcome::Held)]
        );
    }

    #[test]
    fn a_restarted_daemon_continues_the_hold_of_another_machine() {
        let begun = |at| of_member(ended(at, "member_holds", "1", 10));
        let found = collect(
            9,
            &[
                begun(110),
                record(150, "started", ""),
                begun(210),
                of_member(ended(300, "member_held", "1", 100)),
            ],
        );
        assert_eq!(summary(&found), [(100, Outcome::Ended)]);
        assert_eq!(found[0].held_ns, Some(200_000_000));
        assert_eq!(summary(&collect(9, &[begun(110)])), [(100, Outcome::Held)]);
    }

    #[test]
    fn the_newest_holds_of_the_chosen_lock_count() {
        let named = |at| Record {
            name: Some("backup".to_owned()),
            ..ended(at, "lock_released", "1", 1)
        };
        let records = [
            named(100),
            ended(150, "lock_released", "2", 1),
            named(200),
            named(300),
        ];
        let found = collect(2, &records);
        assert_eq!(
            found.iter().map(|it| it.from_ms).collect::<Vec<_>>(),
            [199, 299]
        );
        for (choice, expected) in [
            (LockChoice::Token, vec![149]),
            (LockChoice::Named("backup".to_owned()), vec![99, 199, 299]),
            (LockChoice::Named("token".to_owned()), vec![]),
        ] {
            let mut collector = Collector::new(choice, 9);
            assert!(
                records
                    .iter()
                    .rev()
                    .all(|record| collector.add(record.clone()))
            );
            let found = collector.into_holds();
            assert_eq!(
                found.iter().map(|it| it.from_ms).collect::<Vec<_>>(),
                expected
            );
        }
    }
}
