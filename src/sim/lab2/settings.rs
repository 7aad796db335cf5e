//! What a run is to be like.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// One run: everything else follows from this.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Where all chance comes from.
    pub seed: u64,
    /// How many nodes there are.
    pub nodes: usize,
    /// How long the faults last. Recovering from them comes on top.
    pub time: Duration,
    /// What may go wrong.
    pub faults: Faults,
    /// IDLE_HOLD; `None`: the seed chooses.
    pub idle_hold: Option<Duration>,
}

/// Declares the kinds of fault, and how they are spelled and explained.
macro_rules! kinds {
    ($($name:ident $word:literal $what:literal,)*) => {
        /// A kind of fault, or of a user's doing, that a run may contain.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum FaultKind {
            $(#[doc = $what] $name,)*
        }

        impl FaultKind {
            /// Every kind.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// How it is spelled on the command line.
            #[must_use]
            pub const fn word(self) -> &'static str {
                match self {
                    $(Self::$name => $word,)*
                }
            }

            /// What it does.
            #[must_use]
            pub const fn what(self) -> &'static str {
                match self {
                    $(Self::$name => $what,)*
                }
            }
        }
    };
}

kinds! {
    Drop "drop" "Frames are lost.",
    Duplicate "duplicate" "Frames arrive twice, the second time perhaps at everybody.",
    Reorder "reorder" "Single copies of frames are overtaken by later ones.",
    Delay "delay" "All frames take longer, with jitter.",
    Corrupt "corrupt" "Bits of frames flip; checksums catch most of it, not all.",
    Oneway "oneway" "A node is not heard by another, but hears it.",
    Partition "partition" "The segment is cut into parts, heals and is cut again.",
    Pause "pause" "A process stands still, then finds its queue and a late clock.",
    Crash "crash" "A process dies and starts again with its state file.",
    Forget "forget" "A process dies and starts again without its state file.",
    Clock "clock" "Clocks run fast or slow; wall clocks are set forward and back.",
    Slow "slow" "Every turn of a process takes long.",
    Refuse "refuse" "A full send queue refuses frames.",
    Twin "twin" "Two nodes have one MAC address for a while.",
    Replay "replay" "Frames captured long ago are sent again.",
    Stranger "stranger" "A station speaks the protocol wrongly, and claims weak tokens.",
    Constants "constants" "A node runs with other constants than the ring.",
    Work "work" "Members want the token, work with it, change its data.",
    Leave "leave" "Nodes are shut down in order and started again.",
    Address "address" "Nodes get another ip address.",
    Yield "yield" "Owners are told to hand the token over, whatever their work.",
    HoldOff "hold-off" "Nodes are told to own nothing for a while: maintenance.",
    Link "link" "A node has no link for a while.",
    Card "card" "A node gets another MAC address for good: another network card.",
    Unresponsive "unresponsive" "A station asks for the token all the time and never takes it.",
    Disk "disk" "A node cannot write its state file for a while.",
    Mtu "mtu" "A node's interface carries shorter frames, or longer ones again.",
    Once "once" "Jobs are asked for on many nodes at once, to be run once in a period.",
    Deaf "deaf" "A node sends and hears nothing.",
    Unicast "unicast" "Frames to or from one node alone are lost; broadcasts arrive.",
    Narrow "narrow" "What is between the nodes carries shorter frames than their interfaces.",
    Dead "dead" "Stations that are gone are in the tables, up to hundreds of them.",
    Broadcast "broadcast" "Frames to all do not reach a node; those to it alone do.",
    Drift "drift" "A clock runs up to a fifth faster or slower than it should for a while.",
    Rollback "rollback" "A process dies and starts again with an older state file: a power loss.",
}

/// A set of kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Faults(u64);

impl Faults {
    /// Nothing goes wrong, and nobody wants anything.
    pub const NONE: Self = Self(0);

    /// Every kind.
    #[must_use]
    pub fn all() -> Self {
        FaultKind::ALL.iter().copied().collect()
    }

    /// Just one kind.
    #[must_use]
    pub const fn only(kind: FaultKind) -> Self {
        Self(1_u64 << kind as u32)
    }

    /// Whether a kind is in the set.
    #[must_use]
    pub const fn contains(self, kind: FaultKind) -> bool {
        self.0 >> kind as u64 & 1 == 1
    }

    /// The kinds in the set.
    pub fn iter(self) -> impl Iterator<Item = FaultKind> {
        let all = FaultKind::ALL.iter().copied();
        all.filter(move |&kind| self.contains(kind))
    }
}

impl FromIterator<FaultKind> for Faults {
    fn from_iter<I: IntoIterator<Item = FaultKind>>(kinds: I) -> Self {
        let bits = kinds.into_iter().map(|kind| 1_u64 << kind as u32);
        Self(bits.fold(0, |set, bit| set | bit))
    }
}

impl FromStr for Faults {
    type Err = String;

    /// `all`, `none`, or kinds with commas between them; `-` before one takes it out again, as in
    /// `all,-twin`.
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
                    let kind = all_words().into_iter().find(|&(its, _)| its == word);
                    Self::only(kind.ok_or_else(|| unknown(word))?.1)
                }
            };
            set = if taken {
                Self(set.0 & !named.0)
            } else {
                Self(set.0 | named.0)
            };
        }
        Ok(set)
    }
}

/// Every kind by its word. Out of line: what is done with so many constants is unrolled into so many
/// comparisons that the optimizer is at it for minutes.
#[inline(never)]
fn all_words() -> Vec<(&'static str, FaultKind)> {
    let kinds = FaultKind::ALL.iter();
    kinds.map(|&kind| (kind.word(), kind)).collect()
}

fn unknown(word: &str) -> String {
    let words: Vec<_> = all_words().into_iter().map(|(word, _)| word).collect();
    format!(
        "there is no fault '{word}': give all, none or some of {}, with commas between them",
        words.join(", ")
    )
}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::NONE {
            return f.write_str("none");
        }
        if *self == Self::all() {
            return f.write_str("all");
        }
        for (at, kind) in self.iter().enumerate() {
            let comma = if at == 0 { "" } else { "," };
            write!(f, "{comma}{}", kind.word())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{FaultKind, Faults};

    #[test]
    fn sets_are_read_as_they_are_written() {
        for text in ["all", "none", "drop", "drop,twin,work"] {
            let set: Faults = text.parse().unwrap();
            assert_eq!(set.to_string(), text);
        }
        let set: Faults = "all,-twin".parse().unwrap();
        assert!(!set.contains(FaultKind::Twin) && set.contains(FaultKind::Drop));
    }

    #[test]
    fn a_word_that_is_none_of_them_is_answered_with_all_of_them() {
        let error = "drop,gremlins".parse::<Faults>().unwrap_err();
        assert!(error.contains("no fault 'gremlins'"), "{error}");
        for kind in FaultKind::ALL {
            assert!(error.contains(kind.word()), "{error}");
        }
    }
}
