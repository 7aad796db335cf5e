//! Tests of surveys (`docs/reference/lab2/survey.md`).

use std::time::Duration;

use ring_codec::lab2::{FRAME_LEN_MAX, Measure, Member, Message, NO_IP, NodeReport, SurveyPurpose};
use ring_codec::{MacAddr, U32};

use super::network::Network;
use super::rig::{HEARTBEAT, ME, Rig, SAME, constants, decode, mac, ms, ping};
use crate::LinkState;
use crate::lab2::{
    Command, Grade, HostReport, Lab2, NodeHealth, SurveyRequest, SurveyResult, SurveyedNode,
    survey_time_max,
};

/// The longest survey without a measurement in a ring of at most 64 members.
const REPORTS_TIME: Duration = ms(800);
const PROBES: u8 = 8;
const SPAN: Duration = ms(200);

fn host(number: u64) -> HostReport {
    HostReport {
        up: Duration::from_secs(number),
        lateness: Duration::ZERO,
        health: NodeHealth::Degraded,
        required_grade: Grade::Quorum,
        troubles: vec![format!("trouble {number}")],
    }
}

fn survey(measurement: Option<(u8, Duration)>) -> Command {
    let own = host(1);
    Command::Survey(Box::new(SurveyRequest { measurement, own }))
}

fn ring(n: u8) -> Network {
    let mut network = Network::new(n, constants(), 7);
    network.run(Duration::from_secs(3));
    network
}

/// Lets the time pass while the hosts report. Returns the result of the first node.
fn finish(network: &mut Network, limit: Duration) -> SurveyResult {
    let start = network.now.monotonic;
    loop {
        for at in 0..network.nodes.len() {
            let machine = network.nodes[at].machine.as_ref();
            if machine.is_some_and(Lab2::wants_report) {
                let report = host(u64::from(network.nodes[at].number));
                network.command(at, Command::Report(Box::new(report)));
            }
        }
        let machine = network.nodes[0].machine.as_ref().expect("it runs");
        if !machine.is_surveying() {
            return machine.survey_result().expect("a result").clone();
        }
        let passed = network.now.monotonic.since(start);
        assert!(passed <= limit, "no end:\n{}", network.trace());
        network.run(ms(1));
    }
}

fn measured(network: &mut Network) -> SurveyResult {
    network.command(0, survey(Some((PROBES, SPAN))));
    finish(network, ms(300 + 500 + 300 + 300 + 500) + SPAN)
}

fn row(result: &SurveyResult, of: u8, other: u8) -> Measure {
    let node = result.nodes.iter().find(|node| node.mac == mac(of));
    let measures = node.and_then(|node| node.measures.as_ref());
    let mut rows = measures.expect("it measured").rows.iter();
    *rows.find(|row| row.peer == mac(other)).expect("a row")
}

fn reported(node: &SurveyedNode) -> Option<u64> {
    node.report.as_ref().map(|report| report.data.up.as_secs())
}

#[test]
fn all_members_report_in_the_order_of_the_ring() {
    let mut network = ring(3);
    network.command(0, survey(None));
    let result = finish(&mut network, ms(20));
    let numbers: Vec<_> = result.nodes.iter().map(reported).collect();
    assert_eq!(numbers, [Some(1), Some(2), Some(3)]);
    assert_eq!(result.nodes[0].mac, mac(1), "the surveyor is the first");
    for node in &result.nodes {
        let report = node.report.as_ref().expect("a report");
        assert_eq!(report.data.health, NodeHealth::Degraded);
        let number = node.mac.0[5];
        assert_eq!(report.data.troubles, format!("trouble {number}"));
        assert!(report.clock_offset.unsigned_abs() <= report.after.as_nanos().try_into().unwrap());
        assert_eq!(node.measures, None);
    }
    assert!(!result.is_limited);
}

#[test]
fn a_member_that_does_not_answer_is_in_the_result_without_a_report() {
    let mut network = ring(3);
    network.kill(2);
    network.command(0, survey(None));
    let result = finish(&mut network, REPORTS_TIME);
    let numbers: Vec<_> = result.nodes.iter().map(reported).collect();
    assert_eq!(numbers, [Some(1), Some(2), None]);
    assert!(result.took >= ms(300), "it is asked three times");
}

#[test]
fn a_survey_without_any_answer_ends_by_its_deadline() {
    for measurement in [None, Some((64, Duration::from_secs(8)))] {
        let mut rig = Rig::waiter();
        rig.command(survey(measurement));
        let limit = if measurement.is_some() { 11_000 } else { 1000 };
        rig.pass_time(ms(limit));
        assert!(!rig.machine.is_surveying());
        let result = rig.machine.survey_result().expect("a result");
        assert_eq!(reported(&result.nodes[0]), Some(1));
        assert!(result.nodes[1..].iter().all(|node| node.report.is_none()));
    }
}

#[test]
fn a_link_that_goes_down_ends_the_survey_with_the_answers_so_far() {
    let mut rig = Rig::waiter();
    rig.command(survey(None));
    rig.link(LinkState::Down);
    assert!(!rig.machine.is_surveying());
    assert!(rig.machine.survey_result().is_some());
    rig.command(survey(None));
    let result = rig.machine.survey_result().expect("a result");
    assert_eq!(reported(&result.nodes[0]), Some(1), "its own report");
    rig.link_up();
    assert!(!rig.machine.is_surveying());
}

#[test]
fn a_measurement_of_a_clear_network_has_no_losses() {
    let mut network = ring(3);
    let result = measured(&mut network);
    for node in &result.nodes {
        let measures = node.measures.as_ref().expect("it measured");
        assert_eq!(measures.broadcasts_sent, PROBES);
        assert_eq!(usize::from(measures.large_len), FRAME_LEN_MAX);
        assert_eq!(measures.lateness, Duration::ZERO);
        assert_eq!(measures.rows.len(), 2);
        for row in &measures.rows {
            // Every fourth probe is large.
            assert_eq!([row.sent, row.answered, row.arrived], [6; 3]);
            let large = [row.large_sent, row.large_answered, row.large_arrived];
            assert_eq!(large, [2; 3]);
            assert_eq!(row.broadcasts_arrived, PROBES);
            let times = [row.shortest, row.mean, row.longest].map(U32::get);
            assert!(times.is_sorted() && times[0] >= 20_000 && times[2] <= 220_000);
            assert!(row.jitter.get() <= 200_000);
        }
    }
}

#[test]
fn a_measurement_shows_which_direction_of_a_pair_loses_frames() {
    let mut network = ring(3);
    network.unheard = Some((1, 2));
    let result = measured(&mut network);
    let (to, back) = (row(&result, 2, 3), row(&result, 3, 2));
    assert_eq!([to.sent, to.answered], [6, 0]);
    assert_eq!([back.arrived, back.broadcasts_arrived], [0, 0]);
    // The other direction carries the questions, but not the answers.
    assert_eq!([back.sent, back.answered], [6, 0]);
    assert_eq!([to.arrived, to.broadcasts_arrived], [6, PROBES]);
    let clear = row(&result, 1, 3);
    assert_eq!([clear.answered, clear.arrived], [6, 6]);
}

#[test]
fn probes_of_a_node_are_at_least_a_millisecond_apart() {
    let mut rig = Rig::waiter();
    rig.hear(7, ping(NO_IP));
    rig.command(survey(Some((64, Duration::ZERO))));
    let sent = rig.timeline(Duration::from_secs(2));
    let probes: Vec<_> = sent
        .iter()
        .filter(|(_, line)| line.starts_with("PROBE"))
        .collect();
    assert_eq!(probes.len(), 64 * 3, "n3, n7 and all");
    for pair in probes.windows(2) {
        assert!(pair[1].0 - pair[0].0 >= ms(1), "{pair:?}");
    }
    assert!(probes[0].0 >= ms(300), "members prepare first");
}

#[test]
fn a_late_process_reports_its_delay_and_still_sends_all_probes() {
    let mut rig = Rig::waiter();
    rig.command(survey(Some((PROBES, SPAN))));
    let mut sent = rig.pass_time(ms(350));
    rig.stall(ms(70));
    sent.extend(rig.pass_time(ms(700)));
    let probes = sent.iter().filter(|line| line.starts_with("PROBE")).count();
    assert_eq!(probes, usize::from(PROBES) * 2);
    rig.pass_time(ms(1000));
    let result = rig.machine.survey_result().expect("a result");
    let own = result.nodes[0].measures.as_ref().expect("it measured");
    assert!((ms(40)..=ms(70)).contains(&own.lateness), "{own:?}");
}

fn question(purpose: SurveyPurpose, serial: u64, members: &[MacAddr]) -> Message<'_> {
    Message::Survey {
        serial,
        purpose,
        probes: PROBES,
        span: 0,
        members,
    }
}

#[test]
fn a_report_is_sent_after_the_host_has_answered() {
    let mut rig = Rig::waiter();
    let asked = [mac(3), mac(ME)];
    let silent = rig.hear_all(3, question(SurveyPurpose::Report, 9, &asked));
    assert_eq!(silent, [""; 0]);
    assert!(rig.machine.wants_report());
    assert_eq!(
        rig.command(Command::Report(Box::new(host(5)))),
        ["REPORT to n3"]
    );
    assert!(!rig.machine.wants_report());
    // The host computes at most one report in 50 ms.
    rig.hear_all(3, question(SurveyPurpose::Report, 10, &asked));
    assert!(!rig.machine.wants_report());
    rig.pass_time(ms(50));
    assert!(rig.machine.wants_report());
}

#[test]
fn only_members_that_are_asked_by_a_member_answer() {
    let mut rig = Rig::waiter();
    let asked = [mac(3), mac(ME)];
    rig.hear_all(9, question(SurveyPurpose::Report, 9, &asked));
    assert!(!rig.machine.wants_report(), "n9 is a stranger");
    rig.hear_all(3, question(SurveyPurpose::Report, 9, &asked[..1]));
    assert!(!rig.machine.wants_report(), "it is not asked");
    rig.hear_all(3, Message::Leaving);
    rig.hear_all(3, question(SurveyPurpose::Report, 9, &asked));
    assert!(!rig.machine.wants_report(), "n3 has left");
    assert_eq!(rig.members(), [3, ME], "a survey makes no members");
}

#[test]
fn frames_of_surveys_do_not_count_as_heard() {
    let mut rig = Rig::waiter();
    let seen = |rig: &Rig| {
        rig.machine
            .members()
            .find(|it| it.mac == mac(3))
            .unwrap()
            .last_seen
    };
    let before = seen(&rig);
    rig.stall(ms(10));
    let asked = [mac(ME)];
    rig.hear_all(3, question(SurveyPurpose::Measure, 9, &asked));
    rig.hear(3, probe(3, 9, 0, false));
    assert_eq!(seen(&rig), before);
    rig.hear(3, ping(NO_IP));
    assert_ne!(seen(&rig), before);
}

fn probe(surveyor: u8, serial: u64, number: u8, is_answer: bool) -> Message<'static> {
    Message::Probe {
        surveyor: mac(surveyor),
        serial,
        number,
        is_answer,
        sent_at: 0,
        padding: &[1, 2],
    }
}

#[test]
fn a_question_gets_one_answer_of_its_length_and_a_broadcast_none() {
    let mut rig = Rig::waiter();
    assert_eq!(rig.hear(3, probe(7, 9, 5, false)), ["PROBE answer 5 to n3"]);
    let Message::Probe { padding, .. } = decode(&rig.frames[0]).message else {
        panic!("a probe");
    };
    assert_eq!(padding.len(), 2);
    assert_eq!(rig.hear(3, probe(7, 9, 5, true)), [""; 0]);
    assert_eq!(rig.hear_all(3, probe(7, 9, 5, false)), [""; 0]);
    assert_eq!(rig.hear(9, probe(7, 9, 5, false)), [""; 0], "a stranger");
}

#[test]
fn a_flood_of_frames_causes_a_bounded_number_of_answers() {
    let mut rig = Rig::waiter();
    let mut answers = 0;
    for _ in 0..10 {
        for number in 0..1000_u32 {
            let number = u8::try_from(number % 64).unwrap();
            answers += rig.hear(3, probe(7, 9, number, false)).len();
        }
        rig.stall(ms(10));
    }
    assert_eq!(answers, 10 * 40);
    let asked = [mac(3), mac(ME)];
    for serial in 0..1000 {
        rig.hear_all(3, question(SurveyPurpose::Measure, serial, &asked));
    }
    assert_eq!(rig.command(Command::Report(Box::new(host(5)))).len(), 1);
    let sent = rig.pass_time(ms(2500));
    let probes = sent.iter().filter(|line| line.starts_with("PROBE")).count();
    assert_eq!(probes, 2 * usize::from(PROBES), "one measurement");
}

fn is_busy(rig: &Rig) -> bool {
    let Message::Report { report, .. } = decode(&rig.last_frames[0]).message else {
        panic!("a report");
    };
    report.busy
}

#[test]
fn a_member_measures_at_most_once_in_ten_seconds() {
    let mut rig = Rig::waiter();
    let asked = [mac(3), mac(ME)];
    for (serial, busy) in [(9, false), (10, true)] {
        rig.hear_all(3, question(SurveyPurpose::Measure, serial, &asked));
        rig.pass_time(ms(60));
        rig.command(Command::Report(Box::new(host(5))));
        assert_eq!(is_busy(&rig), busy, "{serial}");
    }
    assert!(rig.machine.measure_delay().is_some());
    rig.command(survey(Some((PROBES, SPAN))));
    assert!(!rig.machine.is_surveying(), "nor does it begin one");
    rig.pass_time(Duration::from_secs(10));
    assert_eq!(rig.machine.measure_delay(), None);
    rig.hear_all(3, question(SurveyPurpose::Measure, 11, &asked));
    rig.command(Command::Report(Box::new(host(5))));
    assert!(!is_busy(&rig));
}

#[test]
fn results_are_sent_again_to_a_surveyor_that_asks_again() {
    let mut rig = Rig::waiter();
    let asked = [mac(3), mac(ME)];
    rig.hear_all(3, question(SurveyPurpose::Measure, 9, &asked));
    rig.command(Command::Report(Box::new(host(5))));
    let sent = rig.pass_time(ms(300 + 17 + 500));
    let results = "MEASURES 1 to n3";
    assert_eq!(sent.iter().filter(|line| *line == results).count(), 1);
    rig.pass_time(ms(50));
    rig.hear(3, question(SurveyPurpose::Measure, 9, &asked));
    assert!(!rig.machine.wants_report());
    assert_eq!(rig.pass_time(Duration::ZERO), [results]);
}

/// Asks for the results of the survey 9 in each millisecond. Returns the number of answers.
fn ask_for_results(rig: &mut Rig, time: Duration) -> usize {
    let asked = [mac(3), mac(ME)];
    let mut count = 0;
    for _ in 0..time.as_millis() {
        let mut sent = rig.hear(3, question(SurveyPurpose::Measure, 9, &asked));
        assert!(!rig.machine.wants_report());
        sent.extend(rig.pass_time(ms(1)));
        let results = sent.iter().filter(|line| line.starts_with("MEASURES"));
        count += results.count();
    }
    count
}

#[test]
fn results_are_repeated_at_a_limited_rate_and_for_a_limited_time() {
    let mut rig = Rig::waiter();
    let asked = [mac(3), mac(ME)];
    rig.hear_all(3, question(SurveyPurpose::Measure, 9, &asked));
    rig.command(Command::Report(Box::new(host(5))));
    rig.pass_time(ms(900));
    let answers = ask_for_results(&mut rig, ms(1000));
    assert!((19..=21).contains(&answers), "{answers}");
    rig.pass_time(Duration::from_secs(4));
    assert_eq!(ask_for_results(&mut rig, ms(1000)), 0, "they are old");
}

#[test]
fn results_are_sent_half_a_second_after_the_last_probe() {
    let mut rig = Rig::waiter();
    let asked = [mac(3), mac(ME)];
    rig.hear_all(
        3,
        Message::Survey {
            serial: 9,
            purpose: SurveyPurpose::Measure,
            probes: 4,
            span: 800,
            members: &asked,
        },
    );
    let sent = rig.timeline(ms(2000));
    let last = |start: &str| {
        let mut found = sent
            .iter()
            .rev()
            .filter(|(_, line)| line.starts_with(start));
        found.next().expect("a frame").0
    };
    assert_eq!(last("MEASURES") - last("PROBE"), ms(500));
}

#[test]
fn an_answer_with_a_wrong_time_does_not_change_the_round_trip() {
    let mut rig = Rig::waiter();
    rig.command(survey(Some((4, Duration::ZERO))));
    rig.pass_time(Duration::ZERO);
    let Message::Survey { serial, .. } = decode(&rig.frames[0]).message else {
        panic!("a question");
    };
    rig.pass_time(ms(300));
    // The answer says that the probe was sent at the time 0.
    rig.hear(3, probe(ME, serial, 0, true));
    rig.pass_time(ms(2000));
    let result = rig.machine.survey_result().expect("a result");
    let own = result.nodes[0].measures.as_ref().expect("it measured");
    assert_eq!(own.rows[0].answered, 1);
    assert!(own.rows[0].longest.get() <= 2_000_000, "{own:?}");
}

const fn empty_report() -> NodeReport<'static> {
    NodeReport {
        up: 0,
        wall: 0,
        lateness: 0,
        holder: None,
        state: 1,
        grade: 0,
        health: 0,
        busy: false,
        required_grade: 0,
        trouble_count: 0,
        troubles: "",
    }
}

#[test]
fn a_report_of_another_survey_does_not_count() {
    let mut rig = Rig::waiter();
    rig.command(survey(None));
    rig.pass_time(Duration::ZERO);
    let Message::Survey { serial, .. } = decode(&rig.frames[0]).message else {
        panic!("a question");
    };
    let report = empty_report();
    rig.hear(
        3,
        Message::Report {
            serial: serial - 1,
            report,
        },
    );
    rig.hear(9, Message::Report { serial, report });
    assert!(rig.machine.is_surveying());
    rig.hear(3, Message::Report { serial, report });
    rig.pass_time(Duration::ZERO);
    assert!(!rig.machine.is_surveying());
    let result = rig.machine.survey_result().expect("a result");
    assert!(result.nodes.iter().all(|node| node.report.is_some()));
}

fn far_mac(n: u8) -> MacAddr {
    MacAddr([0, 0, 0, 1, 0, n])
}

/// Returns a node that knows the member 3 and this number of other members.
fn in_large_ring(others: u8) -> Rig {
    let mut rig = Rig::waiter();
    let members: Vec<_> = (0..others)
        .map(|n| Member {
            mac: far_mac(n),
            ip: NO_IP,
        })
        .collect();
    for members in members.chunks(66) {
        let digest = SAME;
        rig.hear(3, Message::RingMembers { digest, members });
    }
    rig.stall(HEARTBEAT);
    rig
}

#[test]
fn a_large_ring_measures_slowly_and_begins_no_other_measurement() {
    let mut rig = in_large_ring(62);
    rig.command(survey(Some((40, Duration::ZERO))));
    let sent = rig.timeline(Duration::from_secs(20));
    let mut rate = 0;
    for second in 1..20 {
        let (from, to) = (ms(second * 1000), ms(second * 1000 + 1000));
        let probes = sent.iter().filter(|(_, line)| line.starts_with("PROBE"));
        rate = probes.filter(|(at, _)| (from..to).contains(at)).count();
        // Each of the 64 members sends the same number of probes, and nearly each probe has an answer.
        assert!(rate * 64 * 127 / 64 <= 10_200, "{rate}");
    }
    assert!(rate >= 75, "{rate}");
    assert!(rig.machine.is_surveying());
    assert!(rig.machine.measure_delay() > Some(Duration::from_secs(10)));
    rig.pass_time(Duration::from_secs(15));
    assert!(!rig.machine.is_surveying());
    assert_eq!(rig.machine.measure_delay(), None);
}

#[test]
fn the_longest_time_of_a_survey_grows_with_the_ring() {
    let times = [(3, 9900), (64, 53_919), (1000, 58_419)];
    for (members, expected) in times {
        assert_eq!(survey_time_max(members).as_millis(), expected, "{members}");
    }
}

#[test]
fn a_late_report_counts_from_the_question_to_its_group() {
    let mut rig = in_large_ring(70);
    rig.hear(7, ping(NO_IP));
    rig.command(survey(None));
    rig.pass_time(ms(1));
    let serial = rig
        .frames
        .iter()
        .find_map(|frame| match decode(frame).message {
            Message::Survey { serial, .. } => Some(serial),
            _ => None,
        });
    let serial = serial.expect("a question");
    // The second group was asked at 300 ms.
    rig.pass_time(ms(349));
    rig.hear(
        7,
        Message::Report {
            serial,
            report: empty_report(),
        },
    );
    rig.pass_time(ms(1000));
    let result = rig.machine.survey_result().expect("a result");
    let at = result.nodes.iter().position(|it| it.mac == mac(7));
    assert!(at.is_some_and(|at| at < 64), "it is in the first group");
    let report = result
        .nodes
        .iter()
        .find_map(|it| (it.mac == mac(7)).then_some(it.report.as_ref()));
    let after = report.flatten().expect("a report").after;
    assert!((ms(350)..ms(360)).contains(&after), "{after:?}");
}

#[test]
fn a_large_ring_is_asked_in_groups_and_measures_only_a_part() {
    let mut rig = in_large_ring(130);
    rig.command(survey(Some((4, Duration::ZERO))));
    let mut sizes = Vec::new();
    for _ in 0..2000 {
        rig.pass_time(ms(1));
        for frame in &rig.frames {
            let frame = decode(frame);
            if let Message::Survey {
                members, purpose, ..
            } = frame.message
                && frame.destination == MacAddr::BROADCAST
            {
                sizes.push((members.len(), purpose));
            }
        }
        rig.frames.clear();
    }
    let expected = [
        (64, SurveyPurpose::Measure),
        (64, SurveyPurpose::Report),
        (4, SurveyPurpose::Report),
    ];
    assert_eq!(sizes, expected);
    rig.pass_time(ms(4000));
    let result = rig.machine.survey_result().expect("a result");
    assert!(result.is_limited);
    assert_eq!(result.nodes.len(), 132);
    assert_eq!(result.nodes[0].mac, mac(ME));
}

#[test]
fn a_large_probe_that_does_not_fit_the_interface_is_not_sent() {
    let mut rig = Rig::waiter();
    rig.link(LinkState::Up {
        mac: mac(ME),
        ip: NO_IP,
        mtu: 1400,
    });
    let large = Message::Probe {
        surveyor: mac(7),
        serial: 9,
        number: 3,
        is_answer: false,
        sent_at: 0,
        padding: &[0; 1400],
    };
    assert_eq!(rig.hear(3, large), [""; 0], "nor is its answer");
    rig.command(survey(Some((PROBES, SPAN))));
    rig.pass_time(ms(2500));
    let result = rig.machine.survey_result().expect("a result");
    let own = result.nodes[0].measures.as_ref().expect("it measured");
    assert_eq!([own.rows[0].sent, own.rows[0].large_sent], [6, 0]);
}
