//! Limits repeated log lines. The same filter handles the lines of all systems.

use std::cell::Cell;
use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::fmt::{self, Write as _};
use std::hash::{Hash, Hasher};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use ring_proto::time::Instant;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;

use super::{HiddenLines, RateLimit};

const KIND_LIMIT: RateLimit = RateLimit::new(20, Duration::from_secs(60));
/// The limit for the lines of all kinds together. Warnings have one such limit, and lines of lower levels have another.
/// Errors have no limit.
const TOTAL_LIMIT: RateLimit = RateLimit::new(200, Duration::from_millis(50));
/// Maximum number of kinds that the filter distinguishes. A maximum is necessary, because kinds contain names of
/// machines, which any sender can invent.
const KINDS_MAX: usize = 1_000;
/// The fields that distinguish the kinds of lines from one call site.
const KIND_FIELDS: [&str; 8] = [
    "event", "from", "to", "mac", "node", "server", "job", "grade",
];
/// Events that this filter does not limit. They have a separate limit, or a user requested them.
const UNLIMITED_EVENTS: [&str; 13] = [
    "command_output",
    "hook_output",
    "lock_granted",
    "lock_lost",
    "lock_released",
    "member_held",
    "member_holds",
    "session_introduced",
    "status",
    "status_detail",
    "token_granted",
    "token_lost",
    "token_returned",
];

thread_local! {
    /// For the line that this thread is logging: the number of hidden lines of the same kind.
    static HIDDEN_LINES: Cell<u64> = const { Cell::new(0) };
}

/// For the line that this thread is logging, returns the number of hidden lines of the same kind before this line.
pub(super) fn hidden_lines() -> HiddenLines {
    HiddenLines(HIDDEN_LINES.get())
}

/// A filter that limits the rate of log lines of each kind. Debug lines have no limit.
#[derive(Debug)]
pub(super) struct RepeatFilter {
    began: std::time::Instant,
    limits: Mutex<Limits>,
}

impl RepeatFilter {
    /// Creates a filter that has not seen any line.
    pub(super) fn new() -> Self {
        Self {
            began: std::time::Instant::now(),
            limits: Mutex::new(Limits::new()),
        }
    }
}

impl<S: Subscriber> Layer<S> for RepeatFilter {
    fn event_enabled(&self, event: &Event<'_>, _: Context<'_, S>) -> bool {
        HIDDEN_LINES.set(0);
        let level = *event.metadata().level();
        if level > Level::INFO {
            return true;
        }
        let mut kind = Kind::of(event);
        event.record(&mut kind);
        if kind.is_unlimited {
            return true;
        }
        let mut limits = self.limits.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::default() + self.began.elapsed();
        let admitted = limits.admit(now, &kind.hashes(), level);
        HIDDEN_LINES.set(admitted.unwrap_or(0));
        admitted.is_some()
    }
}

struct Kind {
    hasher: DefaultHasher,
    /// Hash of the kind without the fields that name machines, because any sender can invent such names.
    hash_without_names: DefaultHasher,
    is_unlimited: bool,
}

impl Kind {
    fn of(event: &Event<'_>) -> Self {
        let mut hasher = DefaultHasher::new();
        event.metadata().callsite().hash(&mut hasher);
        Self {
            hash_without_names: hasher.clone(),
            hasher,
            is_unlimited: false,
        }
    }

    fn hashes(&self) -> Hashes {
        Hashes {
            kind: self.hasher.finish(),
            hash_without_names: self.hash_without_names.finish(),
        }
    }
}

/// The keys of a line's kind.
#[derive(Debug, Clone, Copy)]
struct Hashes {
    kind: u64,
    /// Key that the filter uses after the number of kinds has reached the maximum.
    hash_without_names: u64,
}

impl Visit for Kind {
    fn record_str(&mut self, field: &Field, value: &str) {
        if KIND_FIELDS.contains(&field.name()) {
            value.hash(&mut self.hasher);
        }
        if field.name() == "event" {
            value.hash(&mut self.hash_without_names);
            self.is_unlimited |= UNLIMITED_EVENTS.contains(&value);
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if KIND_FIELDS.contains(&field.name()) {
            // The hash writer never fails.
            let _ = write!(HashWriter(&mut self.hasher), "{value:?}");
        }
    }
}

struct HashWriter<'a>(&'a mut DefaultHasher);

impl fmt::Write for HashWriter<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        text.hash(self.0);
        Ok(())
    }
}

#[derive(Debug)]
struct Limits {
    kinds: HashMap<u64, RateLimit>,
    warnings: RateLimit,
    others: RateLimit,
}

impl Limits {
    fn new() -> Self {
        Self {
            kinds: HashMap::new(),
            warnings: TOTAL_LIMIT,
            others: TOTAL_LIMIT,
        }
    }

    /// Handles a line. If the line may be shown, returns the number of hidden lines of the same kind since the last
    /// shown line. If the line must be hidden, returns `None`.
    fn admit(&mut self, now: Instant, hashes: &Hashes, level: Level) -> Option<u64> {
        let &Hashes {
            mut kind,
            hash_without_names,
        } = hashes;
        if self.kinds.len() >= KINDS_MAX && !self.kinds.contains_key(&kind) {
            self.kinds.retain(|_, limit| !limit.refill(now));
            if self.kinds.len() >= KINDS_MAX {
                kind = hash_without_names;
            }
        }
        let limit = self.kinds.entry(kind).or_insert(KIND_LIMIT);
        if !limit.allow(now) {
            return None;
        }
        let has_room = match level {
            Level::ERROR => true,
            Level::WARN => self.warnings.allow(now),
            _ => self.others.allow(now),
        };
        if !has_room {
            limit.refuse();
            return None;
        }
        Some(limit.take_refused())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use ring_proto::time::Instant;
    use tracing::Level;

    use super::{Hashes, KINDS_MAX, Limits};

    /// Makes the hashes of a kind that has a separate call site.
    fn kind(kind: u64) -> Hashes {
        let hash_without_names = kind;
        Hashes {
            kind,
            hash_without_names,
        }
    }

    const START: Instant = Instant::from_nanos(60_000_000_000);

    #[test]
    fn a_repeated_kind_gets_few_lines_and_counts_the_hidden_ones() {
        let mut limits = Limits::new();
        let shown = |limits: &mut Limits, seconds: std::ops::Range<u32>| -> Vec<u64> {
            let each = seconds.map(|at| START + Duration::from_secs(1) * at);
            each.filter_map(|now| limits.admit(now, &kind(7), Level::INFO))
                .collect()
        };
        assert_eq!(shown(&mut limits, 0..20), [0; 20]);
        let later = shown(&mut limits, 20..620);
        assert_eq!(later.len(), 10, "{later:?}");
        assert!(later[1..].iter().all(|&hidden| hidden == 59), "{later:?}");
        assert_eq!(
            limits.admit(START, &kind(8), Level::INFO),
            Some(0),
            "another kind"
        );
    }

    #[test]
    fn many_kinds_are_limited_together_warnings_separately_and_errors_never() {
        let mut limits = Limits::new();
        let shown = (1..=500).filter(|&it| limits.admit(START, &kind(it), Level::INFO).is_some());
        assert_eq!(shown.count(), 200);
        assert_eq!(limits.admit(START, &kind(501), Level::WARN), Some(0));
        let shown = (601..=999).filter(|&it| limits.admit(START, &kind(it), Level::WARN).is_some());
        assert_eq!(shown.count(), 199);
        assert_eq!(limits.admit(START, &kind(502), Level::ERROR), Some(0));
        let later = START + Duration::from_secs(1);
        assert_eq!(
            limits.admit(later, &kind(500), Level::INFO),
            Some(1),
            "the line was hidden"
        );
    }

    #[test]
    fn the_number_of_kinds_is_bounded_and_quiet_kinds_are_dropped() {
        let mut limits = Limits::new();
        // Kinds beyond the maximum have the same entry as the other kinds of their call site.
        let named = |it| Hashes {
            kind: it,
            hash_without_names: u64::MAX - it % 2,
        };
        for it in 1..=2 * KINDS_MAX as u64 {
            limits.admit(START, &named(it), Level::ERROR);
        }
        assert_eq!(limits.kinds.len(), KINDS_MAX + 2);
        assert_eq!(limits.admit(START, &named(1), Level::ERROR), Some(0));
        assert_eq!(limits.admit(START, &named(4_001), Level::ERROR), None);
        let later = START + Duration::from_secs(3_600);
        limits.admit(later, &kind(9_999), Level::ERROR);
        assert!(limits.kinds.len() < 10, "{}", limits.kinds.len());
    }
}
