//! The data that a survey and the host exchange.

use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::Measure;

use crate::lab2::{Grade, State};

/// The health of a node, from the best to the worst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum NodeHealth {
    /// The node works.
    Healthy,
    /// The node works, but something needs attention.
    Degraded,
    /// The node or its ring does not work.
    Critical,
}

/// The part of a report that only the host knows.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct HostReport {
    /// Time since the start of the daemon.
    pub up: Duration,
    /// The longest delay of the event loop since its start.
    pub lateness: Duration,
    /// The health of the node.
    pub health: NodeHealth,
    /// The lowest grade that the daemon grants to its programs.
    pub required_grade: Grade,
    /// The problems as sentences, the worst first.
    pub troubles: Vec<String>,
}

/// A report of a node about itself.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ReportData {
    /// Time since the start of the daemon.
    pub up: Duration,
    /// The wall clock in nanoseconds since 1970.
    pub wall: u64,
    /// The longest delay of the event loop since its start.
    pub lateness: Duration,
    /// The program that holds the node's token, and the time since it got the token.
    pub holder: Option<(String, Duration)>,
    /// The state.
    pub state: State,
    /// The grade of the token.
    pub grade: Grade,
    /// The health.
    pub health: NodeHealth,
    /// Whether the node refuses to measure.
    pub busy: bool,
    /// The lowest grade that the node grants to its programs.
    pub required_grade: Grade,
    /// The number of troubles. The text may contain fewer troubles.
    pub trouble_count: u8,
    /// The worst troubles, each on its own line.
    pub troubles: String,
}

/// A report that arrived, or the report of the surveyor itself.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ReceivedReport {
    /// The report.
    pub data: ReportData,
    /// Time from the question to the report.
    pub after: Duration,
    /// The lead of the member's wall clock over this node's wall clock, in nanoseconds. The error is at most half of
    /// `after`.
    pub clock_offset: i64,
}

/// A survey to run.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct SurveyRequest {
    /// The number of probes for each ordered pair of members, and the time over which a member spreads its probes. If
    /// the value is `None`, the members only report.
    pub measurement: Option<(u8, Duration)>,
    /// The part of this node's report that only the host knows.
    pub own: HostReport,
}

/// The answers to a survey.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct SurveyResult {
    /// The duration of the survey.
    pub took: Duration,
    /// Whether only some of the members measured.
    pub is_limited: bool,
    /// The asked members. The surveyor is the first.
    pub nodes: Vec<SurveyedNode>,
}

/// A member that was asked.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct SurveyedNode {
    /// The member's address.
    pub mac: MacAddr,
    /// The member's report; `None` if no report arrived.
    pub report: Option<ReceivedReport>,
    /// The member's results; `None` if the member did not measure, or if some results did not arrive.
    pub measures: Option<MemberMeasures>,
}

/// The results of one member.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct MemberMeasures {
    /// The longest delay of the member's probes.
    pub lateness: Duration,
    /// The length of the member's large probes, in bytes.
    pub large_len: u16,
    /// The number of the member's broadcasts.
    pub broadcasts_sent: u8,
    /// The results for each other member.
    pub rows: Vec<Measure>,
}
