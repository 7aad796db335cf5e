//! What was broken, when and where, and what else a run has come to.

use std::fmt;
use std::time::Duration;

/// Declares a list of rules or of excuses, each with its text.
macro_rules! texts {
    ($(#[$meta:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident $text:literal,)* }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name {
            $($(#[$doc])* #[doc = concat!("In words: ", $text, ".")] $variant,)*
        }

        impl $name {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// In words.
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

/// After so many violations a run has shown what it can.
pub const MAX_VIOLATIONS: usize = 8;

/// Something that must not happen, and did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation<R> {
    /// When, from the beginning of the world.
    pub at: Duration,
    /// At which node, if at one.
    pub node: Option<usize>,
    /// What was broken.
    pub rule: R,
    /// The circumstances.
    pub what: String,
}

impl<R: fmt::Display> fmt::Display for Violation<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            at,
            node,
            rule,
            what,
        } = self;
        let (seconds, nanos) = (at.as_secs(), at.subsec_nanos());
        write!(f, "{seconds}.{nanos:09} s")?;
        if let Some(node) = node {
            write!(f, " n{node}")?;
        }
        write!(f, ": {rule}: {what}")
    }
}

/// What a run has come to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome<R, S> {
    /// What was broken, in order of time. At most [`MAX_VIOLATIONS`]; then the run ends.
    pub violations: Vec<Violation<R>>,
    /// What happened.
    pub stats: S,
}

impl<R: Copy + Eq, S: Default> Outcome<R, S> {
    /// A machine has panicked with this message, in a run whose faults last so long, in microseconds.
    pub fn panicked(time_us: u64, rule: R, what: String) -> Self {
        let violation = Violation {
            at: Duration::from_micros(time_us),
            node: None,
            rule,
            what,
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
