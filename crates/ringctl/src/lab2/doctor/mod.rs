//! `ringctl doctor`: finds the problems of the ring and of this machine, and the remedy of each.
//!
//! The findings come from three sources. The first is the status of the daemon. The second is a survey, in which the
//! members measure each other. The third is this machine: its interface, its bridge and its filters. Each source may be
//! missing.

mod finding;
mod from_status;
mod from_survey;
mod heartbeat;
mod kinds;
mod local;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use clap::Args;
use clap_complete::ArgValueCandidates;
use ring_client::daemon::ConnectError;
use ring_control::lab2::{
    MeasureRequest, RingRequest, SurveyReport, parse_ethertype, split_ring_name,
};
use ring_control::{NodeName, RawJson};
use serde::Serialize;

use super::super::Error;
use super::super::completion::node_candidates;
use super::super::discover::{node_at, socket_for_reading};
use super::super::nodes::{parse_name, start_command};
use super::super::render::members::{append_names, name_surveyed};
use super::super::render::{matrix, write_json};
use super::help;
use super::requests::fetch_status;
use super::survey;
use finding::Finding;
use heartbeat::ShortestHeartbeat;
use kinds::{NO_ANSWER, NO_DAEMON, NOT_MEASURED};
use local::{Circumstances, RingFrames};

/// Exit code if a finding needs attention.
const FOUND: u8 = 1;
/// Time without a measurement in which the error counters of the interface may grow.
const COUNTER_INTERVAL: Duration = Duration::from_secs(1);

/// Options of `ringctl doctor`.
#[derive(Debug, Clone, Args)]
#[command(after_long_help = help::DOCTOR)]
pub(crate) struct DoctorOptions {
    /// Examine this ring, as with -i.
    #[arg(
        value_name = "RING",
        value_parser = parse_name,
        conflicts_with_all = ["interface", "socket"],
        add = ArgValueCandidates::new(node_candidates)
    )]
    pub ring: Option<NodeName>,

    /// Print one JSON object, with times in nanoseconds.
    #[arg(long)]
    json: bool,
}

/// The results of an examination.
#[derive(Serialize)]
struct Examination {
    /// All findings, the worst first.
    findings: Vec<Finding>,
    shortest_heartbeat: Option<ShortestHeartbeat>,
    survey: Option<SurveyReport>,
}

/// Returns the table of kinds for the reference page of findings.
pub(crate) fn finding_table() -> String {
    kinds::reference_table()
}

/// Examines the ring and this machine. Prints the result, and returns the exit code.
pub(crate) fn examine(
    socket: Result<PathBuf, Error>,
    options: &DoctorOptions,
    quiet: bool,
    output: &mut impl Write,
) -> anyhow::Result<u8> {
    let found = match socket {
        Ok(socket) => examine_at(&socket)?,
        // Without a name, no interface can be examined.
        Err(error @ Error::NoneRuns) => {
            Examination::of(vec![Finding::new(&NO_DAEMON, error.to_string())])
        }
        Err(error) => return Err(error.into()),
    };
    if options.json {
        write_json(&RawJson::encode(&found), output)?;
    } else if !quiet {
        found.write_page(output)?;
    }
    output.flush()?;
    let needs_attention = found.findings.iter().any(Finding::needs_attention);
    Ok(if needs_attention { FOUND } else { 0 })
}

fn examine_at(socket: &Path) -> anyhow::Result<Examination> {
    let node = node_at(socket);
    let status = match fetch_status(&socket_for_reading(socket.to_owned())) {
        Ok(status) => status,
        Err(error @ Error::Refused(_)) => return Err(error.into()),
        Err(error) => return Ok(without_daemon(&error, node.as_ref())),
    };
    let frames = RingFrames {
        interface: &status.interface,
        ethertype: parse_ethertype(&status.constants.ethertype).map_err(Error::Unexpected)?,
    };
    let before = local::error_counters(frames.interface);
    let mut findings = from_status::check(&status);
    let mut survey = if from_status::has_no_other_member(&status) {
        thread::sleep(COUNTER_INTERVAL);
        None
    } else {
        let request = RingRequest::Measure(MeasureRequest::default());
        match survey::ask(socket, request, &status) {
            Ok(survey) => Some(survey),
            Err(error) => {
                findings.push(not_measured(&error));
                None
            }
        }
    };
    findings.extend(local::error_counters(frames.interface).growth(&before, frames.interface));
    let shortest = survey.as_ref().and_then(|survey| {
        findings.extend(from_survey::check(survey, &status));
        findings.extend(heartbeat::late_before(&status.constants, survey));
        ShortestHeartbeat::of(&status.constants, survey)
    });
    findings.extend(shortest.as_ref().and_then(ShortestHeartbeat::finding));
    let circumstances = Circumstances {
        has_daemon: true,
        is_suspect: findings.iter().any(Finding::needs_attention),
    };
    findings.extend(local::check(frames, circumstances));
    findings.sort_by_key(Finding::severity);
    let name = |text: &str| append_names(text, &status);
    if let Some(survey) = &mut survey {
        name_surveyed(survey, &status);
    }
    Ok(Examination {
        findings: findings.into_iter().map(|it| it.map_texts(name)).collect(),
        shortest_heartbeat: shortest.map(|it| it.map_texts(name)),
        survey,
    })
}

/// Examines only this machine, because no daemon answers.
fn without_daemon(error: &Error, node: Option<&NodeName>) -> Examination {
    let is_missing = matches!(
        error,
        Error::Connect(ConnectError::Unreachable { reason, .. })
            if reason.kind() != std::io::ErrorKind::PermissionDenied
    );
    let finding = match node.map(NodeName::to_string) {
        Some(ring) if is_missing => no_daemon(&ring, &start_command(node)),
        None if is_missing => Finding::new(&NO_DAEMON, error.to_string()),
        _ => Finding::new(&NO_ANSWER, error.to_string()),
    };
    let mut findings = vec![finding];
    if let Some((interface, ethertype)) = node.and_then(split_ring_name) {
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
    findings.sort_by_key(Finding::severity);
    Examination::of(findings)
}

fn no_daemon(ring: &str, start: &str) -> Finding {
    let finding = Finding::new(&NO_DAEMON, format!("no ringd runs on {ring}"));
    match local::unit_failure(ring) {
        Some(failure) => finding.with_evidence(failure.text).with_remedy(format!(
            "read its log: journalctl -u {} -n 20",
            failure.quoted_unit
        )),
        None => finding.with_remedy(format!("run: {start}")),
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

impl Examination {
    const fn of(findings: Vec<Finding>) -> Self {
        Self {
            findings,
            shortest_heartbeat: None,
            survey: None,
        }
    }

    fn write_page(&self, out: &mut impl Write) -> std::io::Result<()> {
        if let Some(survey) = &self.survey {
            matrix::write_survey(survey, out)?;
        }
        if let Some(shortest) = &self.shortest_heartbeat {
            writeln!(out, "{}\n", shortest.line())?;
        }
        for finding in &self.findings {
            write!(out, "{}", finding.page())?;
        }
        if self.findings.is_empty() {
            writeln!(out, "No problem found.")?;
        }
        Ok(())
    }
}
