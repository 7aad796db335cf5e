//! The answer to a survey, for clients, and the report of this node, for members.

use std::collections::HashMap;
use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::{Measure, SURVEYED_PER_FRAME_MAX};
use ring_control::lab2::{
    Grade, HolderStatus, MemberMeasurement, MemberReport, PairMeasurement, PairReceiver,
    PairSender, RoundTrip, SurveyReport, SurveyedMember,
};
use ring_control::{Health, RawJson, Reply, Verdict};
use ring_proto::lab2::{
    HostReport, MemberView, NodeHealth, ReceivedReport, SurveyResult, SurveyedNode,
};
use ring_proto::time::{Instant, nanos};

use super::grades;
use super::status::member;

/// Returns this node's report for members.
pub(super) fn host_report(
    up: Duration,
    lateness: Duration,
    required_grade: Grade,
    verdict: Verdict,
) -> HostReport {
    HostReport {
        up,
        lateness,
        health: match verdict.health {
            Health::Healthy => NodeHealth::Healthy,
            Health::Degraded => NodeHealth::Degraded,
            Health::Critical => NodeHealth::Critical,
        },
        required_grade: grades::for_machine(required_grade),
        troubles: verdict.troubles,
    }
}

/// Returns the answer to a client. `members` is the member table.
pub(super) fn survey_reply(
    now: Instant,
    result: &SurveyResult,
    members: impl Iterator<Item = MemberView>,
) -> Reply {
    let nodes = &result.nodes;
    let own = nodes.first().map_or(MacAddr::default(), |node| node.mac);
    let by_mac: HashMap<MacAddr, &SurveyedNode> = nodes.iter().map(|it| (it.mac, it)).collect();
    let surveyed = members.map(|view| {
        let node = by_mac.get(&view.mac);
        let member = member(now, own, &view);
        SurveyedMember {
            report: node.and_then(|node| node.report.as_ref()).map(report),
            measured: node
                .and_then(|node| node.measures.as_ref())
                .map(|measures| MemberMeasurement {
                    lateness_ns: nanos(measures.lateness),
                    large_len: measures.large_len,
                }),
            mac: member.mac,
            name: member.name,
            ip: member.ip,
            presence: member.state,
            version: member.version,
        }
    });
    Reply::Survey(RawJson::encode(&SurveyReport {
        surveyor: own.to_string(),
        took_ns: nanos(result.took),
        members: surveyed.collect(),
        pairs: pairs(&nodes[..nodes.len().min(SURVEYED_PER_FRAME_MAX)]),
        limited: result.is_limited,
    }))
}

fn report(received: &ReceivedReport) -> MemberReport {
    let data = &received.data;
    let after = nanos(received.after);
    MemberReport {
        up_ns: nanos(data.up),
        state: data.state.name().to_owned(),
        grade: data.grade.name().to_owned(),
        health: match data.health {
            NodeHealth::Healthy => Health::Healthy,
            NodeHealth::Degraded => Health::Degraded,
            NodeHealth::Critical => Health::Critical,
        },
        trouble_count: data.trouble_count,
        troubles: data.troubles.lines().map(str::to_owned).collect(),
        holder: data.holder.as_ref().map(|(program, since)| HolderStatus {
            program: program.clone(),
            since_ns: nanos(*since),
        }),
        lateness_ns: nanos(data.lateness),
        answer_ns: after,
        clock_offset_ns: received.clock_offset,
        clock_error_ns: after.div_ceil(2),
        busy: data.busy,
        require: Some(grades::of_machine(data.required_grade)),
    }
}

/// Returns the ordered pairs of members in which at least one member has results about the other member.
fn pairs(nodes: &[SurveyedNode]) -> Vec<PairMeasurement> {
    let row = |of: &SurveyedNode, other: &SurveyedNode| {
        let measures = of.measures.as_ref()?;
        let row = measures.rows.iter().find(|row| row.peer == other.mac)?;
        Some((*row, measures.broadcasts_sent))
    };
    let mut pairs = Vec::new();
    for from in nodes {
        for to in nodes.iter().filter(|to| to.mac != from.mac) {
            let sender = row(from, to).map(|(row, broadcasts_sent)| PairSender {
                sent: row.sent,
                answered: row.answered,
                large_sent: row.large_sent,
                large_answered: row.large_answered,
                broadcasts_sent,
                round_trip: round_trip(&row),
            });
            let receiver = row(to, from).map(|(row, _)| PairReceiver {
                arrived: row.arrived,
                large_arrived: row.large_arrived,
                broadcasts_arrived: row.broadcasts_arrived,
            });
            if sender.is_some() || receiver.is_some() {
                pairs.push(PairMeasurement {
                    from: from.mac.to_string(),
                    to: to.mac.to_string(),
                    sender,
                    receiver,
                });
            }
        }
    }
    pairs
}

fn round_trip(row: &Measure) -> Option<RoundTrip> {
    (row.answered > 0).then(|| RoundTrip {
        min_ns: row.shortest.get().into(),
        mean_ns: row.mean.get().into(),
        max_ns: row.longest.get().into(),
        jitter_ns: row.jitter.get().into(),
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use ring_codec::lab2::{Measure, NO_IP, SURVEYED_PER_FRAME_MAX};
    use ring_codec::{MacAddr, U32};
    use ring_control::to_line;
    use ring_proto::lab2::{
        Grade, MemberMeasures, MemberView, NodeHealth, Presence, ReceivedReport, ReportData, State,
        SurveyResult, SurveyedNode,
    };
    use ring_proto::time::Instant;

    use super::survey_reply;

    /// The limit in `docs/reference/control.md`, "Surveys", in bytes.
    const MEASUREMENT_LEN_MAX: usize = 1_500_000;

    fn mac(number: usize) -> MacAddr {
        MacAddr([2, 0, 0, 0, 0, u8::try_from(number).expect("a small number")])
    }

    /// Returns the longest results about another member.
    fn row(peer: usize) -> Measure {
        let longest = U32::from(u32::MAX);
        Measure {
            peer: mac(peer),
            sent: 200,
            answered: 200,
            arrived: 200,
            large_sent: 200,
            large_answered: 200,
            large_arrived: 200,
            broadcasts_arrived: 200,
            shortest: longest,
            mean: longest,
            longest,
            jitter: longest,
        }
    }

    /// Returns a member with the longest report. In JSON, each of its quotation marks needs two bytes, and each control
    /// character needs six.
    fn node(number: usize) -> SurveyedNode {
        let others = (0..SURVEYED_PER_FRAME_MAX).filter(|other| *other != number);
        SurveyedNode {
            mac: mac(number),
            report: Some(ReceivedReport {
                data: ReportData {
                    up: Duration::MAX,
                    wall: u64::MAX,
                    lateness: Duration::MAX,
                    holder: Some(("\u{1}".repeat(64), Duration::MAX)),
                    state: State::Generating,
                    grade: Grade::AllHeard,
                    health: NodeHealth::Critical,
                    busy: false,
                    required_grade: Grade::AllHeard,
                    trouble_count: u8::MAX,
                    troubles: "\"".repeat(700),
                },
                after: Duration::MAX,
                clock_offset: i64::MIN,
            }),
            measures: Some(MemberMeasures {
                lateness: Duration::MAX,
                large_len: u16::MAX,
                broadcasts_sent: 200,
                rows: others.map(row).collect(),
            }),
        }
    }

    #[test]
    fn the_longest_answer_to_a_measurement_keeps_its_limit() {
        let members = (0..SURVEYED_PER_FRAME_MAX).map(|number| MemberView {
            mac: mac(number),
            ip: NO_IP,
            penalty: 0,
            paused: false,
            pause: None,
            preference: 0,
            presence: Presence::Alive,
            last_seen: None,
            differs: None,
            version: None,
            host_name: None,
        });
        let result = SurveyResult {
            took: Duration::MAX,
            is_limited: true,
            nodes: (0..SURVEYED_PER_FRAME_MAX).map(node).collect(),
        };
        let reply = survey_reply(Instant::default(), &result, members);
        let len = to_line(&reply).expect("a reply is JSON").len();
        assert!(
            (MEASUREMENT_LEN_MAX * 9 / 10..=MEASUREMENT_LEN_MAX).contains(&len),
            "{len}"
        );
    }
}
