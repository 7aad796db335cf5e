//! `ringctl doctor`: finds the problems of a node and of this machine, and the remedy of each.
//!
//! `common.rs` makes the findings that are possible for nodes of all systems, from the status of the daemon. For a node
//! of a ring, `ring.rs` makes further findings from three sources. The first source is the status. The second is a
//! survey, in which the members measure the frames between each other. The third is this machine: its interface, its
//! bridge and its filters. Each source may be missing.

mod common;
mod finding;
mod from_status;
mod from_survey;
mod heartbeat;
mod kinds;
mod local;
mod ring;

use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use clap_complete::ArgValueCandidates;
use ring_client::daemon::ConnectError;
use ring_control::lab2::SurveyReport;
use ring_control::{CONTROL_DIR, NodeName, NodeStatus, RawJson, Reply};
use serde::Serialize;

use super::Error;
use super::client::{self, CommonRequest};
use super::completion::node_candidates;
use super::discover::{node_at, socket_for_reading};
use super::lab2::{self, help};
use super::nodes::{parse_name, start_command};
use super::render::{matrix, write_json};
use finding::Finding;
use heartbeat::ShortestHeartbeat;
use kinds::{NO_ANSWER, NO_DAEMON};

/// Exit code if a finding needs attention.
const FOUND: u8 = 1;

/// Options of `ringctl doctor`.
#[derive(Debug, Clone, Args)]
#[command(after_long_help = help::DOCTOR)]
pub(crate) struct DoctorOptions {
    /// Examine this node, as with -i.
    #[arg(
        value_name = "NODE",
        value_parser = parse_name,
        conflicts_with_all = ["interface", "socket"],
        add = ArgValueCandidates::new(node_candidates)
    )]
    pub node: Option<NodeName>,

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

/// Examines a node and this machine. Prints the result, and returns the exit code.
pub(crate) fn examine(
    socket: Result<PathBuf, Error>,
    options: &DoctorOptions,
    quiet: bool,
    output: &mut impl Write,
) -> anyhow::Result<u8> {
    let found = match socket {
        Ok(socket) => examine_at(&socket)?,
        // No node is named, so there is no interface to examine.
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
    let status = match fetch_status(&socket_for_reading(socket.to_owned())) {
        Ok(status) => status,
        Err(error @ Error::Refused(_)) => return Err(error.into()),
        Err(error) => return Ok(without_answer(&error, socket)),
    };
    match status.system() {
        None => match lab2::read_status(&status) {
            Ok(status) => ring::examine(socket, &status),
            Err(error) => Ok(without_answer(&error, socket)),
        },
        Some(_) => Ok(Examination::of(common::check(&status))),
    }
}

fn fetch_status(socket: &Path) -> Result<NodeStatus, Error> {
    match client::ask(socket, &CommonRequest::Status)? {
        Reply::Status(status) => Ok(status),
        other => Err(Error::from_unexpected_reply(other)),
    }
}

/// Returns the result if no daemon answers. For a ring, also examines this machine.
fn without_answer(error: &Error, socket: &Path) -> Examination {
    let is_missing = matches!(
        error,
        Error::Connect(ConnectError::Unreachable { reason, .. })
            if reason.kind() != ErrorKind::PermissionDenied
    );
    let node = node_at(socket);
    let ring = node
        .as_ref()
        .filter(|_| socket.parent() == Some(Path::new(CONTROL_DIR)));
    let finding = match (ring, &node) {
        (Some(ring), _) if is_missing => ring::no_daemon(ring),
        (None, Some(node)) if is_missing => {
            Finding::new(&NO_DAEMON, format!("{node} does not run"))
                .with_remedy(format!("run: {}", start_command(Some(node))))
        }
        (None, None) if is_missing => Finding::new(&NO_DAEMON, error.to_string()),
        _ => Finding::new(&NO_ANSWER, error.to_string()),
    };
    match ring {
        Some(ring) => ring::without_daemon(finding, ring),
        None => Examination::of(vec![finding]),
    }
}

impl Examination {
    fn of(mut findings: Vec<Finding>) -> Self {
        findings.sort_by_key(Finding::severity);
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
