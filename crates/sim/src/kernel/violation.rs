//! Violations, and the outcome of a run.

use std::fmt;
use std::time::Duration;

/// Declares a list of rules or excuses, each with its text.
macro_rules! texts {
    ($(#[$meta:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident $text:literal,)* }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name {
            $($(#[$doc])* #[doc = concat!("In words: ", $text, ".")] $variant,)*
        }

        impl $name {
            /// Every variant.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// Returns the text.
            pub const fn text(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)*
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.text())
            }
        }
    };
}
pub(crate) use texts;

/// The number of violations after which a run ends.
pub const MAX_VIOLATIONS: usize = 8;

/// A broken rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation<R> {
    /// The time from the start of the run.
    pub at: Duration,
    /// The node, if the violation concerns one node.
    pub node: Option<usize>,
    /// The rule.
    pub rule: R,
    /// The circumstances.
    pub details: String,
}

impl<R: fmt::Display> fmt::Display for Violation<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            at,
            node,
            rule,
            details,
        } = self;
        let (seconds, nanos) = (at.as_secs(), at.subsec_nanos());
        write!(f, "{seconds}.{nanos:09} s")?;
        if let Some(node) = node {
            write!(f, " n{node}")?;
        }
        write!(f, ": {rule}: {details}")
    }
}

/// The outcome of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome<R, S> {
    /// The violations, in order of time, at most [`MAX_VIOLATIONS`].
    pub violations: Vec<Violation<R>>,
    /// The counters.
    pub stats: S,
}

impl<R: Copy + Eq, S: Default> Outcome<R, S> {
    /// Returns the outcome of a run whose state machine panicked with the message `details`. The faults of the run last
    /// `time_us` microseconds.
    pub fn from_panic(time_us: u64, rule: R, details: String) -> Self {
        let violation = Violation {
            at: Duration::from_micros(time_us),
            node: None,
            rule,
            details,
        };
        Self {
            violations: vec![violation],
            stats: S::default(),
        }
    }

    /// Whether a rule is broken.
    pub fn breaks(&self, rule: R) -> bool {
        let mut broken = self.violations.iter();
        broken.any(|violation| violation.rule == rule)
    }
}
