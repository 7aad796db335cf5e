//! A survey of a ring without problems, for tests.

use ring_control::Health;
use ring_control::lab2::{
    MemberMeasurement, MemberReport, PairMeasurement, PairReceiver, PairSender, RoundTrip,
    SurveyReport, SurveyedMember,
};

fn mac(number: usize) -> String {
    format!("02:00:00:00:00:{number:02x}")
}

fn member(number: usize) -> SurveyedMember {
    SurveyedMember {
        mac: mac(number),
        name: Some(format!("lab{number}")),
        ip: None,
        presence: "alive".to_owned(),
        version: Some("0.1.0".to_owned()),
        report: Some(MemberReport {
            up_ns: 1_000_000_000,
            state: "WAITER".to_owned(),
            grade: "alone".to_owned(),
            health: Health::Healthy,
            trouble_count: 0,
            troubles: Vec::new(),
            holder: None,
            lateness_ns: 2_000_000,
            answer_ns: 200_000,
            clock_offset_ns: 1_000_000,
            clock_error_ns: 100_000,
            busy: false,
            require: None,
        }),
        measured: Some(MemberMeasurement {
            lateness_ns: 1_000_000,
            large_len: 1_514,
        }),
    }
}

fn new_pair(from: usize, to: usize) -> PairMeasurement {
    PairMeasurement {
        from: mac(from),
        to: mac(to),
        sender: Some(PairSender {
            sent: 30,
            answered: 30,
            large_sent: 10,
            large_answered: 10,
            broadcasts_sent: 10,
            round_trip: Some(RoundTrip {
                min_ns: 100_000,
                mean_ns: 200_000,
                max_ns: 500_000,
                jitter_ns: 30_000,
            }),
        }),
        receiver: Some(PairReceiver {
            arrived: 30,
            large_arrived: 10,
            broadcasts_arrived: 10,
        }),
    }
}

/// Returns the survey of a ring of `size` members. Member 1 is the surveyor.
pub(crate) fn report(size: usize) -> SurveyReport {
    let numbers = 1..=size;
    let pairs = numbers.clone().flat_map(|from| {
        let others = (1..=size).filter(move |&to| to != from);
        others.map(move |to| new_pair(from, to))
    });
    SurveyReport {
        surveyor: mac(1),
        took_ns: 2_500_000_000,
        members: numbers.map(member).collect(),
        pairs: pairs.collect(),
        limited: false,
    }
}

/// Returns a pair of members.
pub(crate) fn pair(report: &mut SurveyReport, from: usize, to: usize) -> &mut PairMeasurement {
    let (from, to) = (mac(from), mac(to));
    let mut pairs = report.pairs.iter_mut();
    let pair = pairs.find(|pair| pair.from == from && pair.to == to);
    pair.expect("the members measured each other")
}
