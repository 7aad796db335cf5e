//! What the recordings of a run say: read afterwards, by the decoder of `ring-segment`, which
//! shares no code with the daemon's.
//!
//! Frames of the ring's own stations are what is judged; a station is known by the port that a
//! frame came in at, whatever it says itself.

mod crashes;
mod evidence;
mod identity;
mod lateness;
mod owners;
mod tables;
#[cfg(test)]
mod tests;
mod wants;
mod wire;

use std::path::Path;
use std::time::Duration;

use anyhow::Result;

pub use evidence::{CrashTime, Cycle, Evidence, Span};
pub use lateness::{JUDGED, Lateness};

/// Something that must not be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// When, since the start of the run.
    pub at: Duration,
    /// What was broken: an invariant's number, or what else.
    pub rule: Rule,
    /// What was seen.
    pub text: String,
}

/// What a finding breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rule {
    /// Invariant 1.
    EqualTokens,
    /// Invariant 2.
    OneOwner,
    /// Invariant 3.
    Service,
    /// Invariant 4.
    FailOver,
    /// Invariant 5.
    EqualTables,
    /// A frame that the protocol forbids, or an offer that a live member did not answer.
    Frames,
    /// A daemon ended by itself.
    Death,
    /// The instruments failed: the run proves less than it should.
    Instruments,
}

impl Rule {
    /// All rules.
    pub const ALL: [Self; 8] = [
        Self::EqualTokens,
        Self::OneOwner,
        Self::Service,
        Self::FailOver,
        Self::EqualTables,
        Self::Frames,
        Self::Death,
        Self::Instruments,
    ];

    /// In a few words.
    pub fn words(self) -> &'static str {
        match self {
            Self::EqualTokens => "1: no two nodes hold equal tokens",
            Self::OneOwner => "2: one owner remains within the bound",
            Self::Service => "3: a member that wants the token gets it",
            Self::FailOver => "4: a dead owner is replaced within the bound",
            Self::EqualTables => "5: tables become equal",
            Self::Frames => "frames are as the protocol has them",
            Self::Death => "no daemon ends by itself",
            Self::Instruments => "the recordings are whole and calm was calm",
        }
    }
}

/// A measured value beside its bound.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample {
    /// When it was measured.
    pub at: Duration,
    /// The value: seconds, or tenures.
    pub value: f64,
    /// Whether the machine itself was late meanwhile: then it is shown and not judged.
    pub disturbed: bool,
}

/// What a check has found and measured.
#[derive(Debug, Default)]
pub struct Verdict {
    /// What broke a rule, by time.
    pub findings: Vec<Finding>,
    /// Invariant 2: from the end of the faults until there was an owner, and no second one.
    pub settling: Vec<Sample>,
    /// Invariant 3: tenures of others between a want and its fulfilment.
    pub services: Vec<Sample>,
    /// Invariant 4: from the kill to the successor's first heartbeat.
    pub fail_overs: Vec<Sample>,
    /// The same from the victim's last frame.
    pub silences: Vec<Sample>,
    /// Invariant 5: from the end of the faults to the last differing digest.
    pub tables: Vec<Sample>,
    /// How often each thing was looked at.
    pub counts: Vec<(&'static str, u64)>,
}

impl Verdict {
    pub(crate) fn find(&mut self, at: Duration, rule: Rule, text: impl Into<String>) {
        let text = text.into();
        self.findings.push(Finding { at, rule, text });
    }

    pub(crate) fn count(&mut self, what: &'static str, by: u64) {
        match self.counts.iter_mut().find(|(name, _)| *name == what) {
            Some((_, count)) => *count += by,
            None => self.counts.push((what, by)),
        }
    }
}

/// Reads the folder of a run and checks it.
pub fn check(folder: &Path) -> Result<(Evidence, Verdict)> {
    let evidence = Evidence::read(folder)?;
    let verdict = judge(&evidence);
    Ok((evidence, verdict))
}

/// Checks what was read.
pub fn judge(evidence: &Evidence) -> Verdict {
    let mut verdict = Verdict::default();
    let transit = wire::check(evidence, &mut verdict);
    let lateness = Lateness::gather(evidence, &transit);
    identity::check(evidence, &mut verdict);
    owners::check(evidence, &lateness, &mut verdict);
    wants::check(evidence, &lateness, &mut verdict);
    crashes::check(evidence, &lateness, &mut verdict);
    tables::check(evidence, &lateness, &mut verdict);
    verdict.findings.sort_by_key(|finding| finding.at);
    lateness.tell(evidence, &mut verdict);
    verdict
}
