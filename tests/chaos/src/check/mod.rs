//! Checks the recordings of a run after its end. The decoder of `ring-segment` shares no code with the daemon's
//! decoder.
//!
//! The checks judge only frames of the ring's stations. The port at which a frame arrived identifies its station, even
//! if the frame names another author.

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

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub at: Duration,
    pub rule: Rule,
    pub text: String,
}

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
    /// A station sent a frame that the protocol forbids, or a live member did not answer an offer.
    Frames,
    /// A daemon exited although no command ended it.
    Death,
    /// A recording was incomplete, or the network was faulty in a calm, so the run proves less.
    Instruments,
}

impl Rule {
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

    /// Returns a short sentence that states the rule.
    pub fn words(self) -> &'static str {
        match self {
            Self::EqualTokens => "1: no two nodes hold equal tokens",
            Self::OneOwner => "2: one owner remains within the bound",
            Self::Service => "3: a member that wants the token gets it",
            Self::FailOver => "4: a dead owner is replaced within the bound",
            Self::EqualTables => "5: tables become equal",
            Self::Frames => "the protocol allows every frame, and members answer offers",
            Self::Death => "no daemon ends by itself",
            Self::Instruments => "the recordings are complete, and calms have no faults",
        }
    }
}

/// Measured value and its bound.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample {
    pub at: Duration,
    /// Value: seconds or tenures.
    pub value: f64,
    /// Whether the machine was late during the measurement. The report then shows the value but does not judge it.
    pub disturbed: bool,
}

/// Findings and measurements of a check.
#[derive(Debug, Default)]
pub struct Verdict {
    pub findings: Vec<Finding>,
    /// Invariant 2: time from the end of the faults to the last claim of a second owner.
    pub settling: Vec<Sample>,
    /// Invariant 3: a member wants the token, and later gets the token. The value is the number of tenures of other
    /// members between the member's request and its tenure.
    pub services: Vec<Sample>,
    /// Invariant 4: time from the kill to the successor's first heartbeat.
    pub fail_overs: Vec<Sample>,
    /// Time from the victim's last frame to the successor's first heartbeat.
    pub silences: Vec<Sample>,
    /// Invariant 5: time from the end of the faults to the last differing digest.
    pub tables: Vec<Sample>,
    /// Names and values of counts, such as the number of checked frames.
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
    lateness.report(evidence, &mut verdict);
    verdict
}
