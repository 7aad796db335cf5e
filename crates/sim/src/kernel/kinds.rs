//! Kinds of fault, and the sets of kinds that the command line accepts.

use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;
use std::time::Duration;

/// An effect that the kernel has on messages, connections or processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FaultEffect {
    /// A copy of a message was lost.
    Drop,
    /// A message arrived twice.
    Duplicate,
    /// A copy arrived later than its message.
    Reorder,
    /// A message took longer.
    Delay,
    /// Bits of a copy flipped. If a checksum found the flipped bits, the copy was lost.
    Corrupt,
    /// One node does not hear another.
    OneWay,
    /// Two nodes are in different parts of a split network.
    Partition,
    /// No message reaches a node.
    Deaf,
    /// A unicast was lost, or the sender's interface refused it.
    Unicast,
    /// A broadcast did not reach a node.
    Broadcast,
    /// A message was longer than the network can carry.
    Narrow,
    /// A captured message was sent again.
    Replay,
    /// A send queue refused a message.
    Refuse,
    /// A connection is never answered.
    Unanswered,
    /// The bytes of a connection arrive one by one.
    Dribble,
    /// A connection is reset.
    Reset,
    /// A connection stalls, and no more bytes arrive on it.
    Stall,
    /// One direction of a connection ends.
    Half,
    /// A process was stalled.
    Pause,
    /// Each loop iteration of a process takes long.
    Slow,
    /// A process's clock runs at a wrong rate.
    Clock,
    /// The keys of a node changed.
    Keys,
    /// The attacker sent a message.
    Attack,
}

/// The kinds of fault of one system, at most 64.
pub trait Kind: Copy + Ord + 'static {
    /// Every kind, at the index [`number`](Self::number).
    const KINDS: &'static [Self];

    /// Returns the index in [`KINDS`](Self::KINDS).
    fn number(self) -> usize;
    /// Returns the spelling of the kind on the command line.
    fn name(self) -> &'static str;
    /// Returns the explanation of the kind for the help.
    fn help(self) -> &'static str;
    /// Returns the kind that counts a kernel effect, or `None` if this system does not count it.
    fn of_effect(trouble: FaultEffect) -> Option<Self>;
    /// Returns the effect of the kernel that is counted under this kind; `None` if there is no such effect.
    fn effect(self) -> Option<FaultEffect>;
}

/// Declares `FaultKind`, a system's kinds of fault. The form of a declaration is `Name "word" "What it does.",`, or
/// `Name(Trouble) …` if the kernel causes the fault.
macro_rules! kinds {
    ($($name:ident $(($trouble:ident))? $word:literal $help:literal,)*) => {
        /// A kind of fault or of user action that a run may contain.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum FaultKind {
            $(#[doc = $help] $name,)*
        }

        impl FaultKind {
            /// Every kind.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];
        }

        impl $crate::kernel::kinds::Kind for FaultKind {
            const KINDS: &'static [Self] = Self::ALL;

            fn number(self) -> usize {
                self as usize
            }

            fn name(self) -> &'static str {
                match self {
                    $(Self::$name => $word,)*
                }
            }

            fn help(self) -> &'static str {
                match self {
                    $(Self::$name => $help,)*
                }
            }

            fn of_effect(trouble: $crate::kernel::kinds::FaultEffect) -> Option<Self> {
                match trouble {
                    $($($crate::kernel::kinds::FaultEffect::$trouble => Some(Self::$name),)?)*
                    _ => None,
                }
            }

            fn effect(self) -> Option<$crate::kernel::kinds::FaultEffect> {
                match self {
                    $($(Self::$name => Some($crate::kernel::kinds::FaultEffect::$trouble),)?)*
                    _ => None,
                }
            }
        }
    };
}
pub(crate) use kinds;

/// The settings that determine a whole run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings<K> {
    /// The seed of all random numbers.
    pub seed: u64,
    /// The number of nodes. If the number is `None`, the seed chooses the number.
    pub nodes: Option<usize>,
    /// The duration of the faults; the recovery follows.
    pub time: Duration,
    /// The kinds of fault that may occur.
    pub faults: Faults<K>,
}

/// A set of kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Faults<K>(u64, PhantomData<K>);

impl<K: Kind> Faults<K> {
    /// The empty set: no faults and no user actions.
    pub const NONE: Self = Self(0, PhantomData);

    /// Returns the set of every kind.
    pub fn all() -> Self {
        K::KINDS.iter().copied().collect()
    }

    /// Returns the set of one kind.
    pub fn only(kind: K) -> Self {
        Self(1 << kind.number(), PhantomData)
    }

    /// Whether a kind is in the set.
    pub fn contains(self, kind: K) -> bool {
        self.0 >> kind.number() & 1 == 1
    }

    /// Returns the kinds in the set.
    pub fn iter(self) -> impl Iterator<Item = K> {
        let all = K::KINDS.iter().copied();
        all.filter(move |&kind| self.contains(kind))
    }
}

impl<K: Kind> Default for Faults<K> {
    fn default() -> Self {
        Self::NONE
    }
}

impl<K: Kind> FromIterator<K> for Faults<K> {
    fn from_iter<I: IntoIterator<Item = K>>(kinds: I) -> Self {
        let bits = kinds.into_iter().map(|kind| 1 << kind.number());
        Self(bits.fold(0, |set, bit: u64| set | bit), PhantomData)
    }
}

impl<K: Kind> FromStr for Faults<K> {
    type Err = String;

    /// Reads `all`, `none`, or kinds separated by commas. A kind after a `-` is removed, as in `all,-pause`.
    fn from_str(text: &str) -> Result<Self, String> {
        let mut set = Self::NONE;
        for word in text.split(',').map(str::trim) {
            let (taken, word) = match word.strip_prefix('-') {
                Some(rest) => (true, rest),
                None => (false, word),
            };
            let named = match word {
                "all" => Self::all(),
                "none" => Self::NONE,
                _ => {
                    let kind = K::KINDS.iter().find(|kind| kind.name() == word);
                    Self::only(*kind.ok_or_else(|| unknown_word_error::<K>(word))?)
                }
            };
            let bits = if taken {
                set.0 & !named.0
            } else {
                set.0 | named.0
            };
            set = Self(bits, PhantomData);
        }
        Ok(set)
    }
}

fn unknown_word_error<K: Kind>(word: &str) -> String {
    let words: Vec<_> = K::KINDS.iter().map(|kind| kind.name()).collect();
    format!(
        "there is no fault '{word}': give all, none or some of {}, with commas between them",
        words.join(", ")
    )
}

impl<K: Kind> fmt::Display for Faults<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == 0 {
            return f.write_str("none");
        }
        if self.0 == Self::all().0 {
            return f.write_str("all");
        }
        for (at, kind) in self.iter().enumerate() {
            let comma = if at == 0 { "" } else { "," };
            write!(f, "{comma}{}", kind.name())?;
        }
        Ok(())
    }
}

#[cfg(test)]
#[expect(
    unreachable_pub,
    reason = "the macro declares items that systems export"
)]
mod tests {
    kinds! {
        Drop(Drop) "drop" "Messages are lost.",
        Pause(Pause) "pause" "A process stands still.",
        Run "run" "Programs run.",
    }

    type Faults = super::Faults<FaultKind>;

    #[test]
    fn sets_are_read_as_they_are_written() {
        for text in ["all", "none", "drop", "drop,run"] {
            let set: Faults = text.parse().unwrap();
            assert_eq!(set.to_string(), text);
        }
        let set: Faults = "all,-pause".parse().unwrap();
        assert!(!set.contains(FaultKind::Pause) && set.contains(FaultKind::Drop));
    }

    #[test]
    fn an_unknown_kind_is_refused_with_a_list_of_all() {
        let error = "drop,gremlins".parse::<Faults>().unwrap_err();
        let all = "no fault 'gremlins': give all, none or some of drop, pause, run,";
        assert!(error.contains(all), "{error}");
    }
}
