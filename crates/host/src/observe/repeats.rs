//! Keeps a line that is logged again and again from filling the log: one limiter for all lines of all systems.

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

use super::{NotShown, RateLimit};

/// So many lines of one kind are logged at once, and one each period in the long run.
const ONE_KIND: RateLimit = RateLimit::new(20, Duration::from_secs(60));
/// The same for lines of all kinds together: one limit for warnings, and one for the rest. Errors have none.
const ALL_KINDS: RateLimit = RateLimit::new(200, Duration::from_millis(50));
/// So many kinds are told apart. Kinds name machines, and somebody may invent those.
const KINDS: usize = 1_000;
/// Lines of one kind differ in other fields than these.
const KIND: [&str; 8] = [
    "event", "from", "to", "mac", "node", "server", "job", "grade",
];
/// What these events log has a limit of its own, or was asked for.
const NOT_LIMITED: [&str; 11] = [
    "command_said",
    "hook_said",
    "lock_granted",
    "lock_lost",
    "lock_released",
    "session_introduced",
    "status",
    "status_detail",
    "token_granted",
    "token_lost",
    "token_returned",
];

thread_local! {
    /// How many lines were not shown before the one that this thread logs now.
    static NOT_SHOWN: Cell<u64> = const { Cell::new(0) };
}

/// Returns how many lines like the one that this thread logs now were not shown before it.
pub(super) fn not_shown() -> NotShown {
    NotShown(NOT_SHOWN.get())
}

/// Limits how often lines of one kind are logged. Lines for debugging are not limited.
#[derive(Debug)]
pub(super) struct Repeats {
    began: std::time::Instant,
    limits: Mutex<Limits>,
}

impl Repeats {
    /// Makes a limiter that has seen no lines.
    pub(super) fn new() -> Self {
        Self {
            began: std::time::Instant::now(),
            limits: Mutex::new(Limits::new()),
        }
    }
}

impl<S: Subscriber> Layer<S> for Repeats {
    fn event_enabled(&self, event: &Event<'_>, _: Context<'_, S>) -> bool {
        NOT_SHOWN.set(0);
        let level = *event.metadata().level();
        if level > Level::INFO {
            return true;
        }
        let mut kind = Kind::of(event);
        event.record(&mut kind);
        if kind.is_not_limited {
            return true;
        }
        let mut limits = self.limits.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::default() + self.began.elapsed();
        let admitted = limits.admit(now, &kind.hashes(), level);
        NOT_SHOWN.set(admitted.unwrap_or(0));
        admitted.is_some()
    }
}

/// What tells lines of one kind from others.
struct Kind {
    hasher: DefaultHasher,
    /// Without the fields that name machines, because anybody can invent those.
    nameless: DefaultHasher,
    is_not_limited: bool,
}

impl Kind {
    fn of(event: &Event<'_>) -> Self {
        let mut hasher = DefaultHasher::new();
        event.metadata().callsite().hash(&mut hasher);
        Self {
            nameless: hasher.clone(),
            hasher,
            is_not_limited: false,
        }
    }

    fn hashes(&self) -> Hashes {
        Hashes {
            kind: self.hasher.finish(),
            nameless: self.nameless.finish(),
        }
    }
}

/// The place of a line among the limits.
#[derive(Debug, Clone, Copy)]
struct Hashes {
    kind: u64,
    /// Used when there is no room for another kind.
    nameless: u64,
}

impl Visit for Kind {
    fn record_str(&mut self, field: &Field, value: &str) {
        if KIND.contains(&field.name()) {
            value.hash(&mut self.hasher);
        }
        if field.name() == "event" {
            value.hash(&mut self.nameless);
            self.is_not_limited |= NOT_LIMITED.contains(&value);
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if KIND.contains(&field.name()) {
            // Hashing does not fail.
            let _ = write!(Hashed(&mut self.hasher), "{value:?}");
        }
    }
}

struct Hashed<'a>(&'a mut DefaultHasher);

impl fmt::Write for Hashed<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        text.hash(self.0);
        Ok(())
    }
}

/// The limits of all kinds of lines.
#[derive(Debug)]
struct Limits {
    kinds: HashMap<u64, RateLimit>,
    warnings: RateLimit,
    rest: RateLimit,
}

impl Limits {
    fn new() -> Self {
        Self {
            kinds: HashMap::new(),
            warnings: ALL_KINDS,
            rest: ALL_KINDS,
        }
    }

    /// Returns how many lines of a kind were not shown since the last one, if one more is; `None`: it is not.
    fn admit(&mut self, now: Instant, hashes: &Hashes, level: Level) -> Option<u64> {
        let &Hashes { mut kind, nameless } = hashes;
        if self.kinds.len() >= KINDS && !self.kinds.contains_key(&kind) {
            self.kinds.retain(|_, limit| !limit.is_rested(now));
            if self.kinds.len() >= KINDS {
                kind = nameless;
            }
        }
        let limit = self.kinds.entry(kind).or_insert(ONE_KIND);
        if !limit.allow(now) {
            return None;
        }
        let has_room = match level {
            Level::ERROR => true,
            Level::WARN => self.warnings.allow(now),
            _ => self.rest.allow(now),
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

    use super::{Hashes, KINDS, Limits};

    /// A kind of line. Its call site logs nothing else.
    fn kind(kind: u64) -> Hashes {
        let nameless = kind;
        Hashes { kind, nameless }
    }

    const START: Instant = Instant::from_nanos(60_000_000_000);

    #[test]
    fn a_kind_that_is_logged_without_end_gets_few_lines_and_says_how_many_it_did_not_get() {
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
    fn lines_of_many_kinds_are_limited_together_warnings_apart_and_errors_never() {
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
            "it was hidden"
        );
    }

    #[test]
    fn no_number_of_kinds_takes_more_room_and_quiet_ones_make_room() {
        let mut limits = Limits::new();
        // Those that there is no room for share the place of their call site.
        let named = |it| Hashes {
            kind: it,
            nameless: u64::MAX - it % 2,
        };
        for it in 1..=2 * KINDS as u64 {
            limits.admit(START, &named(it), Level::ERROR);
        }
        assert_eq!(limits.kinds.len(), KINDS + 2);
        assert_eq!(limits.admit(START, &named(1), Level::ERROR), Some(0));
        assert_eq!(limits.admit(START, &named(4_001), Level::ERROR), None);
        let later = START + Duration::from_secs(3_600);
        limits.admit(later, &kind(9_999), Level::ERROR);
        assert!(limits.kinds.len() < 10, "{}", limits.kinds.len());
    }
}
