//! `ringctl status --all`: reports of all members.

use std::io::Write;
use std::path::Path;

use ring_control::lab2::{RingRequest, Status, SurveyReport};
use ring_control::{Health, RawJson, Reply, Request};
use ring_proto::lab2::survey_time_max;

use super::super::connection::Connection;
use super::super::render::members::name_surveyed;
use super::super::render::{survey, write_json};
use super::super::status::{CRITICAL, Format};
use super::super::{Error, client};
use super::requests::fetch_status;

/// Prints one row for each member. Returns exit code 5 if the health of a member is critical.
pub(in super::super) fn status_of_all(
    socket: &Path,
    format: Format,
    output: &mut impl Write,
) -> anyhow::Result<u8> {
    let report = fetch(socket)?;
    match format {
        Format::Nothing => {}
        Format::Page => survey::write_members(&report, output)?,
        Format::Json => write_json(&RawJson::encode(&report), output)?,
    }
    output.flush()?;
    let mut reports = report.members.iter().filter_map(|it| it.report.as_ref());
    let is_critical = reports.any(|it| it.health == Health::Critical);
    Ok(if is_critical { CRITICAL } else { 0 })
}

/// Asks the daemon for the reports of all members, and adds the names of the members.
fn fetch(socket: &Path) -> Result<SurveyReport, Error> {
    let status = fetch_status(socket)?;
    let report = ask(socket, RingRequest::Survey, &status);
    let mut report = report.map_err(explain_unknown)?;
    name_surveyed(&mut report, &status);
    Ok(report)
}

/// Requests a survey of the ring with this status, and waits for its result.
pub(in super::super) fn ask(
    socket: &Path,
    request: RingRequest,
    status: &Status,
) -> Result<SurveyReport, Error> {
    // Another client may have requested a measurement of the maximum length. Then the survey begins only after the end
    // of this measurement.
    let by = client::deadline_after(survey_time_max(status.members.len()));
    let mut daemon = Connection::open(socket)?;
    match daemon.ask(&Request::System(request), Some(by))? {
        Reply::Survey(survey) => {
            let decoded = survey.decode();
            decoded.map_err(|error: serde_json::Error| Error::Unexpected(error.to_string()))
        }
        other => Err(Error::from_unexpected_reply(other)),
    }
}

/// Explains the error of a daemon that has no surveys.
fn explain_unknown(error: Error) -> Error {
    match error {
        Error::Refused(text) if text.contains("unknown variant `survey`") => Error::Refused(
            "this ringd cannot ask the other members; install the same version of ringd and ringctl, and restart ringd"
                .to_owned(),
        ),
        other => other,
    }
}
