//! Kinds of fault: what the kernel does, what a system calls it, and sets of them as a command line gives them.

use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;
use std::time::Duration;

/// What the kernel does to messages, connections and processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Trouble {
    /// A copy of a message was lost.
    Drop,
    /// It came twice.
    Duplicate,
    /// It came later than its message.
    Reorder,
    /// A message took longer.
    Delay,
    /// A copy was changed, or lost because that was found out.
    Corrupt,
    /// A node is not heard by another.
    OneWay,
    /// Two nodes are in different parts of a cut network.
    Partition,
    /// Nothing reaches a node.
    Deaf,
    /// A message to a single station was lost, or refused by the sender's interface.
    Unicast,
    /// A message to all does not reach a node.
    Broadcast,
    /// A message was longer than what gets through.
    Narrow,
    /// A captured message was sent again.
    Replay,
    /// A send queue refused a message.
    Refuse,
    /// A connection is never answered.
    Unanswered,
    /// Its bytes arrive one by one.
    Dribble,
    /// It is reset.
    Reset,
    /// Nothing arrives on it any longer.
    Stall,
    /// One of its ways ends.
    Half,
    /// A process was stopped.
    Pause,
    /// Each of its turns takes long.
    Slow,
    /// Its clock runs at another rate.
    Clock,
}

/// A system's kinds of fault, of which there are 64 at most.
pub trait Kind: Copy + Ord + 'static {
    /// Every kind, each at its own number.
    const KINDS: &'static [Self];

    /// Its place among them.
    fn number(self) -> usize;
    /// How it is spelled on the command line.
    fn name(self) -> &'static str;
    /// What it does.
    fn what(self) -> &'static str;
    /// The kind as which the kernel's doing counts; `None`: it is of no matter in this system.
    fn of(trouble: Trouble) -> Option<Self>;
    /// The kernel's doing that counts as it, if any does.
    fn trouble(self) -> Option<Trouble>;
}

/// Declares a system's kinds of fault, `FaultKind`, and how they are spelled and explained: `Name "word" "What it does.",`,
/// or `Name(Trouble) …` where the kernel does it.
macro_rules! kinds {
    ($($name:ident $(($trouble:ident))? $word:literal $what:literal,)*) => {
        /// A kind of fault, or of a user's doing, that a run may contain.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum FaultKind {
            $(#[doc = $what] $name,)*
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

            fn what(self) -> &'static str {
                match self {
                    $(Self::$name => $what,)*
                }
            }

            fn of(trouble: $crate::kernel::kinds::Trouble) -> Option<Self> {
                match trouble {
                    $($($crate::kernel::kinds::Trouble::$trouble => Some(Self::$name),)?)*
                    _ => None,
                }
            }

            fn trouble(self) -> Option<$crate::kernel::kinds::Trouble> {
                match self {
                    $($(Self::$name => Some($crate::kernel::kinds::Trouble::$trouble),)?)*
                    _ => None,
                }
            }
        }
    };
}
pub(crate) use kinds;

/// One run: everything else follows from this.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings<K> {
    /// Where all chance comes from.
    pub seed: u64,
    /// How many nodes there are; `None`: the seed chooses.
    pub nodes: Option<usize>,
    /// How long the faults last. Recovering from them comes on top.
    pub time: Duration,
    /// What may go wrong.
    pub faults: Faults<K>,
}

/// A set of kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Faults<K>(u64, PhantomData<K>);

impl<K: Kind> Faults<K> {
    /// Nothing goes wrong, and nobody wants anything.
    pub const NONE: Self = Self(0, PhantomData);

    /// Every kind.
    pub fn all() -> Self {
        K::KINDS.iter().copied().collect()
    }

    /// Just one kind.
    pub fn only(kind: K) -> Self {
        Self(1 << kind.number(), PhantomData)
    }

    /// Whether a kind is in the set.
    pub fn contains(self, kind: K) -> bool {
        self.0 >> kind.number() & 1 == 1
    }

    /// The kinds in the set.
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

    /// `all`, `none`, or kinds with commas between them; `-` before one takes it out again, as in
    /// `all,-pause`.
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
                    Self::only(*kind.ok_or_else(|| unknown::<K>(word))?)
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

fn unknown<K: Kind>(word: &str) -> String {
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
#[expect(unreachable_pub, reason = "the macro makes what worlds export")]
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
    fn a_word_that_is_none_of_them_is_answered_with_all_of_them() {
        let error = "drop,gremlins".parse::<Faults>().unwrap_err();
        let all = "no fault 'gremlins': give all, none or some of drop, pause, run,";
        assert!(error.contains(all), "{error}");
    }
}
