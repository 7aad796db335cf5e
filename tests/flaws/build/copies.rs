//! The list of sources that are copied, with the text replacements for each copy.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

/// Sources without their tests. The key is the path within a folder.
pub(crate) type Sources = BTreeMap<String, String>;

pub(crate) struct Copy {
    /// Folder of the original sources. The paths in patches begin with this folder.
    pub from: &'static str,
    /// Folder of the copy within the build directory.
    pub to: &'static str,
    /// Text replacements, in this order. Items have different paths in the crate of the copy, so the copy needs these
    /// replacements.
    renames: &'static [(&'static str, &'static str)],
    /// Modules with types that other crates use. The copy uses the original types of these modules.
    shared: &'static [(&'static str, &'static str)],
}

/// For Lab2, only the state machine is copied. Its driver, simulator and checker accept any state machine. The
/// simulators of the other systems, and the model of the token service, name the type of one state machine. So the
/// build also copies the simulators and the model.
pub(crate) const COPIES: [Copy; 12] = [
    Copy {
        from: "proto/src/lab2/",
        to: "machine",
        renames: &[
            ("crate::", "ring_proto::"),
            ("ring_proto::lab2", "crate::machine"),
            ("ring_proto::invariants", "crate::invariants"),
            // The simulator must detect a flaw by its effects, not by these assertions.
            ("self.check_invariants();", "();"),
        ],
        shared: &[
            ("command.rs", "ring_proto::lab2::Command"),
            ("host_name.rs", "ring_proto::lab2::HostName"),
            (
                "last_frames.rs",
                "ring_proto::lab2::{LastFrames, LastOffer}",
            ),
            ("pause.rs", "ring_proto::lab2::{Pause, PauseReason}"),
            (
                "constants.rs",
                concat!(
                    "ring_proto::lab2::{Adjustment, ConstantError, Constants, FOREVER, HEARTBEAT_MIN, PERIOD_MAX, ",
                    "TAKE_TIMEOUT_MIN}"
                ),
            ),
            (
                "event.rs",
                concat!(
                    "ring_proto::lab2::{DataLimit, Diagnostic, Difference, DropReason, Event, Grade, ",
                    "MemberOptions, Reason, State, StoredState}"
                ),
            ),
            (
                "jobs/job.rs",
                concat!(
                    "ring_proto::lab2::{JobName, OnceProgress, OnceRequest, RunEnd, RunView, ",
                    "STAMPS_MAX, Stamp, StoredStamp}"
                ),
            ),
            (
                "locks/lock.rs",
                "ring_proto::lab2::{LockName, LockProgram, LockRequest, LockView}",
            ),
            (
                "diagnostics/silent_members.rs",
                "ring_proto::lab2::SilentMembers",
            ),
            (
                "survey/data.rs",
                concat!(
                    "ring_proto::lab2::{HostReport, MemberMeasures, NodeHealth, ReceivedReport, ",
                    "ReportData, SurveyRequest, SurveyResult, SurveyedNode}"
                ),
            ),
            ("inspect.rs", "ring_proto::lab2::Inspect"),
            ("work.rs", "ring_proto::lab2::HolderProgram"),
        ],
    },
    Copy {
        from: "proto/src/ftn/",
        to: "ftn",
        renames: &[
            ("crate::", "ring_proto::"),
            ("ring_proto::ftn", "crate::ftn"),
            ("ring_proto::backoff::", "ring_proto::"),
            ("ring_proto::counter_macros", "crate::counter_macros"),
            ("ring_proto::invariants", "crate::invariants"),
            ("self.check_invariants();", "();"),
        ],
        shared: &[],
    },
    Copy {
        from: "proto/src/jitterbug/",
        to: "jitterbug",
        renames: &[
            ("crate::", "ring_proto::"),
            ("ring_proto::jitterbug", "crate::jitterbug"),
            ("ring_proto::buffer", "crate::buffer"),
            ("ring_proto::counter_macros", "crate::counter_macros"),
            ("ring_proto::invariants", "crate::invariants"),
            ("self.check_invariants();", "();"),
        ],
        shared: &[],
    },
    Copy {
        from: "proto/src/andrews/",
        to: "andrews",
        renames: &[
            ("crate::", "ring_proto::"),
            ("ring_proto::andrews", "crate::andrews"),
            ("ring_proto::buffer", "crate::buffer"),
            ("ring_proto::counter_macros", "crate::counter_macros"),
            ("ring_proto::invariants", "crate::invariants"),
            ("self.check_invariants();", "();"),
        ],
        shared: &[],
    },
    Copy {
        from: "crates/trust/src/",
        to: "trust",
        renames: &[
            ("crate::", "crate::trust::"),
            ("#[cfg_attr(test, derive(Clone))]", "#[derive(Clone)]"),
            // The copy always has encrypted streams.
            ("#[cfg(feature = \"streams\")]", ""),
        ],
        shared: &[],
    },
    Copy {
        from: "crates/trust/src/attack_tests/world/",
        to: "attack",
        renames: &[
            ("ring_trust::", "crate::trust::"),
            ("#[cfg_attr(test, derive(Clone))]", "#[derive(Clone)]"),
        ],
        shared: &[],
    },
    Copy {
        from: "crates/trust/src/stream_attack_tests/world/",
        to: "stream_attack",
        renames: &[("ring_trust::", "crate::trust::")],
        shared: &[],
    },
    Copy {
        from: "crates/sim/src/kernel/",
        to: "sim/kernel",
        renames: &[("crate::", "crate::sim::")],
        shared: &[
            (
                "kinds.rs",
                "ring_sim::kernel::kinds::{FaultEffect, Faults, Kind, Settings}",
            ),
            ("rng.rs", "ring_sim::kernel::rng::{Rng, Stream}"),
            ("stats.rs", "ring_sim::kernel::stats::{Count, Stats, Tally}"),
            (
                "violation.rs",
                "ring_sim::kernel::violation::{MAX_VIOLATIONS, Outcome, Violation}",
            ),
        ],
    },
    Copy {
        from: "crates/sim/src/ftn/",
        to: "sim/ftn",
        renames: &[
            ("crate::", "crate::sim::"),
            ("ring_proto::ftn", "crate::ftn"),
        ],
        shared: &[
            (
                "settings.rs",
                "ring_sim::ftn::{FaultKind, Faults, Settings}",
            ),
            (
                "outcome.rs",
                "ring_sim::ftn::{Excuse, Outcome, Rule, Stats, Violation}",
            ),
        ],
    },
    Copy {
        from: "tests/model/src/ftn/",
        to: "model/ftn",
        renames: &[
            ("crate::", "ring_model::"),
            ("ring_proto::ftn", "crate::ftn"),
        ],
        shared: &[(
            "scenario.rs",
            "ring_model::ftn::{CLIENT_TIMEOUT, EPOCH, Faults, HEARTBEAT, SERVER_TIMEOUT, Scenario, Wishes}",
        )],
    },
    Copy {
        from: "crates/sim/src/jitterbug/",
        to: "sim/jitterbug",
        renames: &[
            ("crate::", "crate::sim::"),
            ("ring_proto::jitterbug", "crate::jitterbug"),
        ],
        shared: &[
            (
                "settings.rs",
                "ring_sim::jitterbug::{FaultKind, Faults, Settings}",
            ),
            (
                "outcome.rs",
                "ring_sim::jitterbug::{Excuse, Outcome, Rule, Stats, Violation}",
            ),
        ],
    },
    Copy {
        from: "crates/sim/src/andrews/",
        to: "sim/andrews",
        renames: &[
            ("crate::", "crate::sim::"),
            ("ring_proto::andrews", "crate::andrews"),
        ],
        shared: &[
            (
                "settings.rs",
                "ring_sim::andrews::{FaultKind, Faults, Settings}",
            ),
            (
                "outcome.rs",
                "ring_sim::andrews::{Excuse, Outcome, Rule, Stats, Violation}",
            ),
        ],
    },
];

impl Copy {
    /// Rewrites a source for the flaws' crate: adapts paths and removes tests.
    pub(crate) fn rebase(&self, source: &str) -> String {
        let mut lines = source.lines().peekable();
        let mut text = String::new();
        while let Some(line) = lines.next() {
            if line.trim() == "#[cfg(test)]" {
                let declares = lines.next().is_some_and(|next| next.ends_with(';'));
                if declares {
                    continue;
                }
                break; // a module of tests, which stands last
            }
            let renamed = self
                .renames
                .iter()
                .fold(line.to_owned(), |line, (from, to)| line.replace(from, to));
            let _ = writeln!(text, "{renamed}");
        }
        text
    }

    /// Returns the replacement text of a file whose types are shared. Returns `None` if the file is copied.
    pub(crate) fn find_shared(&self, file: &str) -> Option<String> {
        let (_, types) = self.shared.iter().find(|(name, _)| *name == file)?;
        Some(format!("pub use {types};\n"))
    }
}

/// Returns the `mod` declarations of all copies.
pub(crate) fn modules(out: &Path) -> String {
    let declare = |place: &str, name: &str| {
        let path = out.join(place).join("mod.rs").display().to_string();
        format!(
            "#[allow(warnings, clippy::all, clippy::pedantic, reason = \"lints are for the sources that ship\")]\n\
             #[path = {path:?}]\npub(crate) mod {name};\n"
        )
    };
    let machines = [
        ("machine", "machine"),
        ("ftn", "ftn"),
        ("jitterbug", "jitterbug"),
        ("andrews", "andrews"),
        ("trust", "trust"),
        ("attack", "attack"),
        ("stream_attack", "stream_attack"),
    ];
    let copied_simulators = [
        ("sim/kernel", "kernel"),
        ("sim/ftn", "ftn"),
        ("sim/jitterbug", "jitterbug"),
        ("sim/andrews", "andrews"),
    ];
    let machines = machines.map(|(place, name)| declare(place, name)).concat();
    let copied_simulators = copied_simulators
        .map(|(place, name)| declare(place, name))
        .concat();
    let checked = declare("model/ftn", "ftn");
    format!("{machines}mod sim {{\n{copied_simulators}}}\nmod model {{\n{checked}}}\n")
}
