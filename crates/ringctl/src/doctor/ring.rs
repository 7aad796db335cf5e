//! The examination of a node of a ring, and of its machine.

use std::path::Path;
use std::thread;
use std::time::Duration;

use ring_control::NodeName;
use ring_control::lab2::{MeasureRequest, RingRequest, Status, parse_ethertype, split_ring_name};

use super::finding::Finding;
use super::heartbeat::{self, ShortestHeartbeat};
use super::kinds::{NO_DAEMON, NOT_MEASURED};
use super::local::{self, Circumstances, RingFrames};
use super::{Examination, from_status, from_survey};
use crate::Error;
use crate::lab2::ask_for_survey;
use crate::nodes::start_command;
use crate::render::members::{append_names, name_surveyed};

/// Time between two readings of the interface's error counters, if there is no measurement.
const COUNTER_INTERVAL: Duration = Duration::from_secs(1);

/// Examines the node of a ring that has this control socket and this status.
pub(super) fn examine(socket: &Path, status: &Status) -> anyhow::Result<Examination> {
    let frames = RingFrames {
        interface: &status.interface,
        ethertype: parse_ethertype(&status.constants.ethertype).map_err(Error::Unexpected)?,
    };
    let before = local::error_counters(frames.interface);
    let mut findings = from_status::check(status);
    let mut survey = if from_status::has_no_other_member(status) {
        thread::sleep(COUNTER_INTERVAL);
        None
    } else {
        let request = RingRequest::Measure(MeasureRequest::default());
        match ask_for_survey(socket, request, status) {
            Ok(survey) => Some(survey),
            Err(error) => {
                findings.push(not_measured(&error));
                None
            }
        }
    };
    findings.extend(local::error_counters(frames.interface).growth(&before, frames.interface));
    let shortest = survey.as_ref().and_then(|survey| {
        findings.extend(from_survey::check(survey, status));
        findings.extend(heartbeat::late_before(&status.constants, survey));
        ShortestHeartbeat::of(&status.constants, survey)
    });
    findings.extend(shortest.as_ref().and_then(ShortestHeartbeat::finding));
    let circumstances = Circumstances {
        has_daemon: true,
        is_suspect: findings.iter().any(Finding::needs_attention),
    };
    findings.extend(local::check(frames, circumstances));
    let name = |text: &str| append_names(text, status);
    if let Some(survey) = &mut survey {
        name_surveyed(survey, status);
    }
    Ok(Examination {
        shortest_heartbeat: shortest.map(|it| it.map_texts(name)),
        survey,
        ..Examination::of(findings.into_iter().map(|it| it.map_texts(name)).collect())
    })
}

/// Examines the machine of a ring whose daemon does not answer. `finding` contains the reason why the daemon does not
/// answer.
pub(super) fn without_daemon(finding: Finding, node: &NodeName) -> Examination {
    let mut findings = vec![finding];
    if let Some((interface, ethertype)) = split_ring_name(node) {
        let interface = interface.as_str();
        let frames = RingFrames {
            interface,
            ethertype,
        };
        let circumstances = Circumstances {
            has_daemon: false,
            is_suspect: true,
        };
        findings.extend(local::check(frames, circumstances));
    }
    Examination::of(findings)
}

/// Returns the finding that no daemon runs for this ring.
pub(super) fn no_daemon(node: &NodeName) -> Finding {
    let ring = node.to_string();
    let finding = Finding::new(&NO_DAEMON, format!("no ringd runs on {ring}"));
    match local::unit_failure(&ring) {
        Some(failure) => finding.with_evidence(failure.text).with_remedy(format!(
            "read its log: journalctl -u {} -n 20",
            failure.quoted_unit
        )),
        None => finding.with_remedy(format!("run: {}", start_command(Some(node)))),
    }
}

fn not_measured(error: &Error) -> Finding {
    let text = error.to_string();
    let is_old = text.contains("unknown variant `measure`");
    let finding = Finding::new(&NOT_MEASURED, "the members did not measure each other");
    let finding = finding.with_evidence(text);
    if is_old {
        finding.with_remedy("install the same version of ringd and ringctl, and restart ringd")
    } else {
        finding
    }
}
