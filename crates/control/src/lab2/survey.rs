//! Surveys: one member asks all other members for a report. In a measurement, the members also measure the frames
//! between each other.

use serde::{Deserialize, Serialize};

use super::{Grade, HolderStatus};
use crate::Health;

/// A request for a measurement. The members also send their reports, as in a survey without a measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct MeasureRequest {
    /// The number of probes for each ordered pair of members, from 4 to 64. Every fourth probe is a large one. If the
    /// key is absent, the number is 40.
    #[serde(default = "default_probes")]
    pub probes: u8,
    /// The time over which each member spreads its probes, in milliseconds, at most 8,000. A ring sends at most 10,000
    /// probes and answers per second, so a large ring needs a longer time. If the key is absent, the time is 2,000 ms.
    #[serde(default = "default_span_ms")]
    pub span_ms: u16,
}

const fn default_probes() -> u8 {
    40
}

const fn default_span_ms() -> u16 {
    2000
}

impl Default for MeasureRequest {
    fn default() -> Self {
        Self {
            probes: default_probes(),
            span_ms: default_span_ms(),
        }
    }
}

/// The answer to a survey.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SurveyReport {
    /// The MAC address of the member that asked.
    pub surveyor: String,
    /// Nanoseconds from the request to this answer.
    pub took_ns: u64,
    /// All members of the surveyor's table, sorted by MAC address. The list includes the surveyor, and also members
    /// that did not answer.
    pub members: Vec<SurveyedMember>,
    /// The results of a measurement: one entry for each sender and each receiver that took part. The list is empty if
    /// the survey was no measurement.
    #[serde(default)]
    pub pairs: Vec<PairMeasurement>,
    /// Whether the ring has too many members for one measurement. Then only some of the members took part.
    #[serde(default)]
    pub limited: bool,
}

/// A member in the answer to a survey.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SurveyedMember {
    /// The member's MAC address.
    pub mac: String,
    /// The member's name, as in [`MemberStatus`](super::MemberStatus).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The member's IP address; `null` if the surveyor knows no address of the member.
    pub ip: Option<String>,
    /// The state of the member as the surveyor knows it, as in [`MemberStatus`](super::MemberStatus): `alive`,
    /// `silent`, `left`, `deaf` or `paused`.
    pub presence: String,
    /// The version of the member's ringd; `null` if unknown.
    pub version: Option<String>,
    /// The member's report. The report is `null` if the member did not answer. There are three possible reasons. The
    /// surveyor does not hear the member, the member's ringd does not support surveys, or the member answered other
    /// surveys.
    pub report: Option<MemberReport>,
    /// The member's part of the measurement. The part is `null` if the survey was no measurement, or if the member's
    /// results did not arrive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured: Option<MemberMeasurement>,
}

/// A member's report about itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemberReport {
    /// Nanoseconds since the member's daemon started.
    pub up_ns: u64,
    /// The state of the node: OWNER, WAITER, LOOSER or GENERATING.
    pub state: String,
    /// The grade of the token that the member holds: `alone`, `all-heard` or `quorum`. If the member holds no token,
    /// the grade is `alone`.
    pub grade: String,
    /// The health of the node and its ring, as the member sees it.
    pub health: Health,
    /// The number of the member's troubles. The number may be larger than the number of texts in `troubles`.
    pub trouble_count: u8,
    /// The worst troubles, at most 3, as sentences. The end of a long sentence is cut off and replaced by `…`.
    pub troubles: Vec<String>,
    /// The program that holds the token on this member's machine; `null` if there is no such program, or if it is
    /// unknown.
    pub holder: Option<HolderStatus>,
    /// The longest delay of the daemon's event loop since its start, in nanoseconds. The delay is 0 if the loop never
    /// woke up later than TAKE_TIMEOUT after its deadline.
    pub lateness_ns: u64,
    /// Nanoseconds from the question to this report; 0 for the surveyor.
    pub answer_ns: u64,
    /// The time of the member's wall clock minus the time of the surveyor's wall clock, in nanoseconds. The value is
    /// negative if the member's clock is behind.
    pub clock_offset_ns: i64,
    /// The largest possible error of `clock_offset_ns`, in nanoseconds: half of `answer_ns`.
    pub clock_error_ns: u64,
    /// Whether the member refused to measure, because another measurement is running or began less than 10 s before.
    #[serde(default)]
    pub busy: bool,
    /// The lowest grade that the member's daemon grants to its programs; `null` if the surveyor's ringd is older than
    /// this key.
    #[serde(default)]
    pub require: Option<Grade>,
}

/// A member's part of a measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemberMeasurement {
    /// The longest delay with which the member sent a probe, in nanoseconds. A long delay means that the member's
    /// machine is overloaded.
    pub lateness_ns: u64,
    /// The length of the large probes, in bytes, with the Ethernet header.
    pub large_len: u16,
}

/// The result for the probes that the member `from` sent to the member `to`.
///
/// A probe is a frame to which `to` answers at once. The sender counts the answers, and the receiver counts the probes
/// that arrived. If fewer answers than probes arrived, answers were lost on the way back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PairMeasurement {
    /// The MAC address of the sender.
    pub from: String,
    /// The MAC address of the receiver.
    pub to: String,
    /// The numbers that `from` reported. `null` if the report of `from` did not arrive, or if `from` did not know `to`.
    pub sender: Option<PairSender>,
    /// The numbers that `to` reported. `null` if the report of `to` did not arrive, or if `to` did not know `from`.
    pub receiver: Option<PairReceiver>,
}

/// Numbers of the sender of probes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PairSender {
    /// The number of small probes that `from` sent to `to`.
    pub sent: u8,
    /// The number of these probes that `to` answered.
    pub answered: u8,
    /// The number of large probes that `from` sent to `to`.
    pub large_sent: u8,
    /// The number of large probes that `to` answered.
    pub large_answered: u8,
    /// The number of broadcasts that `from` sent to all members.
    pub broadcasts_sent: u8,
    /// The round trips of the answered small probes. The value is `null` if no small probe was answered.
    pub round_trip: Option<RoundTrip>,
}

/// Numbers of the receiver of probes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PairReceiver {
    /// The number of small probes of `from` that `to` received.
    pub arrived: u8,
    /// The number of large probes of `from` that `to` received.
    pub large_arrived: u8,
    /// The number of broadcasts of `from` that `to` received.
    pub broadcasts_arrived: u8,
}

/// Times from a probe to its answer. The times include the delays in both daemons, because the daemons handle probes in
/// the same code as the frames of the ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoundTrip {
    /// The shortest time in nanoseconds.
    pub min_ns: u64,
    /// The mean in nanoseconds.
    pub mean_ns: u64,
    /// The longest time in nanoseconds.
    pub max_ns: u64,
    /// The jitter in nanoseconds: the mean difference between successive round trips.
    pub jitter_ns: u64,
}
