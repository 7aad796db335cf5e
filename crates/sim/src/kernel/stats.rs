//! The counters of runs, and the reports that show them.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::time::Duration;

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::kinds::{FaultEffect, Kind};

/// An event that the kernel counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Count {
    /// An event of the simulation.
    Event,
    /// A message arrived for a stalled process whose queue is full.
    Overflowed,
    /// A fault took effect.
    Effect(FaultEffect),
}

/// The counters that a system adds.
pub trait Counters: Default {
    /// Adds the counters of another run.
    fn add(&mut self, other: &Self);
    /// Returns the text of the counter with this name in a report.
    fn value(&self, name: &str) -> Option<String>;
}

/// Declares a system's `Counters`. The counters of `sums` are added up when several runs are combined. Each counter of
/// `most` and of `longest` keeps its largest value.
macro_rules! counters {
    (
        sums { $($(#[$sum_doc:meta])* $sum:ident,)* }
        most { $($(#[$most_doc:meta])* $most:ident,)* }
        longest { $($(#[$time_doc:meta])* $time:ident,)* }
    ) => {
        /// The counters of this system.
        #[derive(Debug, Clone, Default, PartialEq, Eq)]
        #[allow(missing_docs, reason = "most names explain the counters")]
        pub struct Counters {
            $($(#[$sum_doc])* pub $sum: u64,)*
            $($(#[$most_doc])* pub $most: u64,)*
            $($(#[$time_doc])* pub $time: Option<std::time::Duration>,)*
        }

        impl $crate::kernel::stats::Counters for Counters {
            fn add(&mut self, other: &Self) {
                $(self.$sum += other.$sum;)*
                $(self.$most = self.$most.max(other.$most);)*
                $(self.$time = self.$time.max(other.$time);)*
            }

            fn value(&self, name: &str) -> Option<String> {
                match name {
                    $(stringify!($sum) => Some(self.$sum.to_string()),)*
                    $(stringify!($most) => Some(self.$most.to_string()),)*
                    $(stringify!($time) => Some($crate::kernel::stats::format_seconds(self.$time)),)*
                    _ => None,
                }
            }
        }
    };
}
pub(crate) use counters;

/// Formats a duration for a report.
pub(crate) fn format_seconds(time: Option<Duration>) -> String {
    time.map_or("-".into(), |time| format!("{:.3} s", time.as_secs_f64()))
}

/// The counters of a run: `K` is the type of its kinds of fault, `E` of its excuses, and `C` of its system's counters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stats<K, E, C> {
    /// Messages from nodes, by the names of their kinds.
    pub sent: BTreeMap<&'static str, u64>,
    /// Messages that do not come from nodes: messages of strangers, and replays.
    pub injected: u64,
    /// Messages that nodes have read.
    pub delivered: u64,
    /// Messages that nodes have received and dropped.
    pub dropped: u64,
    /// Messages for a stalled process whose queue was full.
    pub overflowed: u64,
    /// The number of effects of each kind of fault.
    pub fault_counts: BTreeMap<K, u64>,
    /// Number of times that each excuse was used.
    pub excused: BTreeMap<E, u64>,
    /// The counters of the system.
    pub counters: C,
    /// Events of the simulation.
    pub events: u64,
    /// The simulated duration of the run.
    pub time: Duration,
    /// A hash over all messages and their times. Equal runs have equal fingerprints.
    pub fingerprint: u64,
}

/// A derived impl would require `Default` of the kinds and excuses.
impl<K, E, C: Default> Default for Stats<K, E, C> {
    fn default() -> Self {
        Self {
            sent: BTreeMap::new(),
            injected: 0,
            delivered: 0,
            dropped: 0,
            overflowed: 0,
            fault_counts: BTreeMap::new(),
            excused: BTreeMap::new(),
            counters: C::default(),
            events: 0,
            time: Duration::ZERO,
            fingerprint: 0,
        }
    }
}

impl<K: Kind, E: Copy + Ord + Display, C: Counters> Stats<K, E, C> {
    /// Returns the number of messages of a kind that nodes have sent.
    pub fn sent(&self, kind: &str) -> u64 {
        self.sent.get(kind).copied().unwrap_or(0)
    }

    /// Returns the number of effects of a kind of fault.
    pub fn fault_count(&self, kind: K) -> u64 {
        self.fault_counts.get(&kind).copied().unwrap_or(0)
    }

    /// Returns the number of times that an excuse was used.
    pub fn excuse_count(&self, excuse: E) -> u64 {
        self.excused.get(&excuse).copied().unwrap_or(0)
    }

    /// Counts an effect of a fault.
    pub fn count_fault(&mut self, kind: K) {
        *self.fault_counts.entry(kind).or_default() += 1;
    }

    /// Counts a message. If a node sent the message, counts it by its kind.
    pub fn note_carried(&mut self, kind: Option<&'static str>) {
        match kind {
            Some(kind) => *self.sent.entry(kind).or_default() += 1,
            None => self.injected += 1,
        }
    }

    /// Counts an event of the kernel.
    pub fn count(&mut self, what: Count) {
        match what {
            Count::Event => self.events += 1,
            Count::Overflowed => self.overflowed += 1,
            Count::Effect(trouble) => {
                if let Some(kind) = K::of_effect(trouble) {
                    self.count_fault(kind);
                }
            }
        }
    }

    /// Adds bytes and their time to the fingerprint.
    pub fn mix(&mut self, at: u64, bytes: &[u8]) {
        self.fingerprint = xxh3_64_with_seed(bytes, self.fingerprint ^ at);
    }

    fn value(&self, name: &str) -> Option<String> {
        if let Some(kind) = name.strip_prefix("sent ") {
            return Some(self.sent(kind).to_string());
        }
        Some(match name {
            "sent" => self.sent.values().sum::<u64>().to_string(),
            "injected" => self.injected.to_string(),
            "delivered" => self.delivered.to_string(),
            "dropped" => self.dropped.to_string(),
            "overflowed" => self.overflowed.to_string(),
            "met" => format_counts(
                self.fault_counts
                    .iter()
                    .map(|(kind, count)| (kind.name(), count)),
            ),
            "excused" => format_counts(&self.excused),
            "time" => format!("{:?}", self.time),
            "fingerprint" => format!("{:016x}", self.fingerprint),
            _ => return self.counters.value(name),
        })
    }
}

/// Counters that a report can print.
pub trait Tally: Default {
    /// Adds the counters of another run.
    fn add(&mut self, other: &Self);
    /// Replaces each `{name}` of a report by the counter of this name, and `{sent KIND}` by the number of messages of a
    /// kind. Unknown names stay unchanged.
    fn fill(&self, report: &str) -> String;
}

impl<K: Kind, E: Copy + Ord + Display, C: Counters> Tally for Stats<K, E, C> {
    fn add(&mut self, other: &Self) {
        add(&mut self.sent, &other.sent);
        add(&mut self.fault_counts, &other.fault_counts);
        add(&mut self.excused, &other.excused);
        self.injected += other.injected;
        self.delivered += other.delivered;
        self.dropped += other.dropped;
        self.overflowed += other.overflowed;
        self.events += other.events;
        self.counters.add(&other.counters);
        self.time += other.time;
        // A sum does not depend on the order in which the threads finish their seeds.
        self.fingerprint = self.fingerprint.wrapping_add(other.fingerprint);
    }

    fn fill(&self, report: &str) -> String {
        let mut parts = report.split('{');
        let text = parts.next().unwrap_or_default().to_owned();
        parts.fold(text, |text, part| {
            let (name, rest) = part.split_once('}').unwrap_or((part, ""));
            let value = self.value(name).unwrap_or_else(|| format!("{{{name}}}"));
            text + &value + rest
        })
    }
}

fn add<N: Copy + Ord>(sums: &mut BTreeMap<N, u64>, others: &BTreeMap<N, u64>) {
    for (&name, count) in others {
        *sums.entry(name).or_default() += count;
    }
}

fn format_counts<'a>(counts: impl IntoIterator<Item = (impl Display, &'a u64)>) -> String {
    let counts = counts.into_iter();
    let counts: Vec<_> = counts
        .map(|(name, count)| format!("{name} {count}"))
        .collect();
    if counts.is_empty() {
        "none".into()
    } else {
        counts.join(", ")
    }
}

#[cfg(test)]
#[expect(
    unreachable_pub,
    reason = "the macro declares items that systems export"
)]
mod tests {
    use std::time::Duration;

    use super::Counters as _;

    counters! {
        sums { runs, }
        most { waited, }
        longest { ready_after, }
    }

    #[test]
    fn sums_are_added_and_the_largest_of_the_others_is_kept() {
        let mut all = Counters::default();
        assert_eq!(all.value("ready_after").unwrap(), "-");
        for ms in [700, 1_500, 3] {
            all.add(&Counters {
                runs: 1,
                waited: ms,
                ready_after: Some(Duration::from_millis(ms)),
            });
        }
        let values = ["runs", "waited", "ready_after", "walked"].map(|name| all.value(name));
        let wanted = [Some("3"), Some("1500"), Some("1.500 s"), None];
        assert_eq!(values, wanted.map(|value| value.map(str::to_owned)));
    }
}
