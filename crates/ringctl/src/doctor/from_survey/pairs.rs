//! Findings about frames from one member to another.

use std::collections::BTreeSet;

use ring_control::lab2::{PairMeasurement, PairReceiver, PairSender, SurveyReport};

use super::super::finding::{Finding, Kind};
use super::super::kinds::{
    BROADCASTS_LOST, LARGE_FRAMES_LOST, LOSS, NO_PATH, ONE_WAY, UNICAST_LOST,
};
use super::PAIRS_MAX;

/// Smallest percentage of lost frames that causes a finding. A smaller loss may be a coincidence.
const LOSS_MIN: u32 = 5;

/// The result for the frames from one member to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Fine,
    /// No frame arrived.
    Dead,
    /// Broadcasts arrived, but no other frame arrived.
    OnlyBroadcasts,
    /// Frames to the member arrived, but no broadcast arrived.
    NoBroadcasts,
    /// Short frames arrived, but no long frame arrived.
    OnlyShort,
    Loss,
}

/// A pair with the numbers of both members.
#[derive(Debug, Clone, Copy)]
struct Pair<'a> {
    from: &'a str,
    to: &'a str,
    sender: PairSender,
    receiver: PairReceiver,
    fate: Fate,
}

impl<'a> Pair<'a> {
    /// Returns `None` if one of the members did not report its numbers.
    fn new(pair: &'a PairMeasurement) -> Option<Self> {
        let (sender, receiver) = (pair.sender?, pair.receiver?);
        (sender.sent > 0).then(|| Self {
            from: &pair.from,
            to: &pair.to,
            sender,
            receiver,
            fate: fate(sender, receiver),
        })
    }

    fn evidence(&self) -> String {
        let (sender, receiver) = (self.sender, self.receiver);
        let counts = [
            (receiver.arrived, sender.sent, "short frames"),
            (receiver.large_arrived, sender.large_sent, "long frames"),
            (
                receiver.broadcasts_arrived,
                sender.broadcasts_sent,
                "broadcasts",
            ),
        ];
        let sent = counts.iter().filter(|(_, sent, _)| *sent > 0);
        let texts = sent.map(|(arrived, sent, frames)| format!("{arrived} of {sent} {frames}"));
        texts.collect::<Vec<_>>().join(", ") + " arrived"
    }
}

fn fate(sender: PairSender, receiver: PairReceiver) -> Fate {
    let sent = u32::from(sender.sent) + u32::from(sender.broadcasts_sent);
    let arrived = u32::from(receiver.arrived) + u32::from(receiver.broadcasts_arrived);
    let has_large = sender.large_sent > 0;
    if receiver.arrived == 0 && receiver.large_arrived == 0 && receiver.broadcasts_arrived == 0 {
        Fate::Dead
    } else if receiver.arrived == 0 && receiver.large_arrived == 0 {
        Fate::OnlyBroadcasts
    } else if receiver.broadcasts_arrived == 0 && sender.broadcasts_sent > 0 {
        Fate::NoBroadcasts
    } else if receiver.large_arrived == 0 && has_large {
        Fate::OnlyShort
    } else {
        let (sent, arrived) = (
            sent + u32::from(sender.large_sent),
            arrived + u32::from(receiver.large_arrived),
        );
        let lost = sent.saturating_sub(arrived);
        if lost * 100 >= sent * LOSS_MIN {
            Fate::Loss
        } else {
            Fate::Fine
        }
    }
}

/// The role of a member in a pair: sender or receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    To,
    From,
}

impl End {
    const fn of<'a>(self, pair: &Pair<'a>) -> &'a str {
        match self {
            Self::To => pair.to,
            Self::From => pair.from,
        }
    }
}

/// Returns the findings about all pairs. If a member has the same problem with all other members in one direction,
/// there is only one finding about these pairs.
///
/// Long frames do not arrive at the members `with_small_mtu`. A different finding already describes these members.
pub(super) fn check(report: &SurveyReport, with_small_mtu: &BTreeSet<&str>) -> Vec<Finding> {
    let pairs: Vec<Pair<'_>> = report.pairs.iter().filter_map(Pair::new).collect();
    let mut left: Vec<Pair<'_>> = pairs.clone();
    left.retain(|pair| match pair.fate {
        Fate::Fine => false,
        Fate::OnlyShort => !with_small_mtu.contains(pair.to),
        _ => true,
    });
    let mut findings = Vec::new();
    for end in [End::To, End::From] {
        for member in &report.members {
            if let Some(first) = common_fate(&pairs, end, &member.mac)
                && left.iter().any(|pair| end.of(pair) == member.mac)
            {
                findings.push(member_finding(&first, end));
                left.retain(|pair| end.of(pair) != member.mac);
            }
        }
    }
    let is_dead = |from: &str, to: &str| {
        let mut dead = pairs.iter().filter(|pair| pair.fate == Fate::Dead);
        dead.any(|pair| pair.from == from && pair.to == to)
    };
    // One finding describes both directions of a pair.
    left.retain(|pair| {
        pair.fate != Fate::Dead || pair.from < pair.to || !is_dead(pair.to, pair.from)
    });
    left.sort_by_key(|pair| pair.fate.kind().severity);
    let single = left.iter().take(PAIRS_MAX).map(|pair| {
        let back = pairs
            .iter()
            .find(|it| it.from == pair.to && it.to == pair.from);
        pair_finding(pair, back)
    });
    findings.extend(single);
    if let Some(hidden) = left.get(PAIRS_MAX) {
        let count = left.len() - PAIRS_MAX;
        findings.push(
            Finding::new(
                hidden.fate.kind(),
                format!("frames of {count} more pairs are lost"),
            )
            .with_remedy("list all pairs: ringctl doctor --json"),
        );
    }
    findings
}

/// If all pairs in which the member has this role have the same problem, returns the first of these pairs. Returns
/// `None` for a single pair, because either of its members may be the cause.
fn common_fate<'a>(pairs: &[Pair<'a>], end: End, mac: &str) -> Option<Pair<'a>> {
    let mut own = pairs.iter().filter(|pair| end.of(pair) == mac);
    let first = *own.next()?;
    let others: Vec<_> = own.collect();
    let is_common = others.iter().all(|pair| pair.fate == first.fate);
    (first.fate != Fate::Fine && is_common && !others.is_empty()).then_some(first)
}

fn member_finding(first: &Pair<'_>, end: End) -> Finding {
    let (fate, mac) = (first.fate, end.of(first));
    let frames = fate.frames();
    let (text, direction) = match end {
        End::To => (
            format!("{frames} of all other members are lost on the way to {mac}"),
            "incoming",
        ),
        End::From => (
            format!("{frames} of {mac} are lost on the way to all other members"),
            "outgoing",
        ),
    };
    let remedy = match fate {
        Fate::OnlyShort => {
            format!("set the same MTU on {mac}, on its switch port and on the other members")
        }
        Fate::Loss => format!("check the cable, the switch port and the load of {mac}"),
        _ => format!(
            "look for a filter of {direction} frames: ringctl doctor on {mac}, then its switch port"
        ),
    };
    let (from, to) = (first.from, first.to);
    Finding::new(fate.kind(), text)
        .with_evidence(format!(
            "for example from {from} to {to}: {}",
            first.evidence()
        ))
        .with_remedy(remedy)
}

/// Returns the finding about one pair. `back` is the pair in the opposite direction, if it was measured.
fn pair_finding(pair: &Pair<'_>, back: Option<&Pair<'_>>) -> Finding {
    let Pair { from, to, fate, .. } = pair;
    let frames = fate.frames();
    let mut evidence = pair.evidence();
    let (kind, text) = match (fate, back) {
        (Fate::Dead, Some(back)) if back.fate != Fate::Dead => {
            evidence = format!("{evidence}; in the other direction: {}", back.evidence());
            (
                &ONE_WAY,
                format!(
                    "frames of {from} do not arrive at {to}, but frames of {to} arrive at {from}"
                ),
            )
        }
        (Fate::Dead, Some(_)) => (&NO_PATH, format!("{from} and {to} do not hear each other")),
        _ => (
            fate.kind(),
            format!("{frames} of {from} are lost on the way to {to}"),
        ),
    };
    let remedy = match fate {
        Fate::OnlyShort => {
            format!("set the same MTU on {from}, on {to} and on the switches between them")
        }
        Fate::Loss => "check the cables, the switch ports and the load of both machines".to_owned(),
        _ => format!(
            "look for a filter of incoming frames on {to}, and of outgoing frames on {from}: run ringctl doctor on \
             both; then check the switches between them"
        ),
    };
    Finding::new(kind, text)
        .with_evidence(evidence)
        .with_remedy(remedy)
}

impl Fate {
    const fn kind(self) -> &'static Kind {
        match self {
            Self::Dead => &NO_PATH,
            Self::OnlyBroadcasts => &UNICAST_LOST,
            Self::NoBroadcasts => &BROADCASTS_LOST,
            Self::OnlyShort => &LARGE_FRAMES_LOST,
            Self::Fine | Self::Loss => &LOSS,
        }
    }

    /// Returns a text for the frames that do not arrive.
    const fn frames(self) -> &'static str {
        match self {
            Self::OnlyBroadcasts => "frames to single members",
            Self::NoBroadcasts => "broadcasts",
            Self::OnlyShort => "long frames",
            Self::Loss => "some frames",
            Self::Fine | Self::Dead => "frames",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::kinds::{
        BROADCASTS_LOST, LARGE_FRAMES_LOST, LOSS, NO_PATH, ONE_WAY, UNICAST_LOST,
    };
    use super::{BTreeSet, PairMeasurement, SurveyReport};
    use crate::render::survey_fixtures::{pair, report};

    fn check(report: &SurveyReport) -> Vec<super::Finding> {
        super::check(report, &BTreeSet::new())
    }

    type Change = fn(&mut PairMeasurement);

    fn silence(pair: &mut PairMeasurement) {
        pair.receiver = pair.receiver.map(|_| super::PairReceiver {
            arrived: 0,
            large_arrived: 0,
            broadcasts_arrived: 0,
        });
    }

    #[test]
    fn each_problem_of_one_pair_is_found() {
        assert_eq!(check(&report(3)), []);
        let cases: [(Change, _); 7] = [
            (silence, &ONE_WAY),
            (|it| receiver(it).broadcasts_arrived = 0, &BROADCASTS_LOST),
            (|it| receiver(it).large_arrived = 0, &LARGE_FRAMES_LOST),
            (|it| receiver(it).arrived -= 3, &LOSS),
            (|it| receiver(it).broadcasts_arrived -= 3, &LOSS),
            (|it| receiver(it).large_arrived -= 3, &LOSS),
            (
                |it| (receiver(it).arrived, receiver(it).large_arrived) = (0, 0),
                &UNICAST_LOST,
            ),
        ];
        for (change, kind) in cases {
            let mut report = report(3);
            change(pair(&mut report, 1, 2));
            let found = check(&report);
            assert!(matches!(&found[..], [one] if one.is(kind)), "{found:?}");
            let page = found[0].page();
            assert!(page.contains("00:01") && page.contains("00:02"), "{page}");
        }
    }

    fn receiver(pair: &mut PairMeasurement) -> &mut super::PairReceiver {
        pair.receiver.as_mut().expect("it reported")
    }

    #[test]
    fn a_single_lost_frame_and_missing_numbers_are_no_finding() {
        let mut report = report(3);
        receiver(pair(&mut report, 1, 2)).arrived -= 1;
        pair(&mut report, 2, 1).receiver = None;
        pair(&mut report, 3, 1).sender = None;
        assert_eq!(check(&report), []);
    }

    #[test]
    fn a_pair_without_frames_in_both_directions_is_one_finding() {
        let mut report = report(3);
        silence(pair(&mut report, 1, 2));
        silence(pair(&mut report, 2, 1));
        let found = check(&report);
        assert!(matches!(&found[..], [one] if one.is(&NO_PATH)), "{found:?}");
    }

    #[test]
    fn many_pairs_with_a_problem_are_counted() {
        let mut report = report(6);
        // These pairs form a circle, so no member has the problem with all other members.
        for (from, to) in [
            (1, 2),
            (2, 3),
            (3, 4),
            (4, 5),
            (5, 6),
            (6, 1),
            (1, 3),
            (2, 4),
            (3, 5),
        ] {
            receiver(pair(&mut report, from, to)).broadcasts_arrived = 0;
        }
        let found = check(&report);
        assert_eq!(found.len(), 9);
        assert!(
            found[8].page().contains("1 more pairs"),
            "{}",
            found[8].page()
        );
    }

    #[test]
    fn a_problem_of_all_pairs_of_a_member_is_one_finding() {
        for (pairs, words) in [
            (
                [(1, 3), (2, 3)],
                "of all other members are lost on the way to 02:00:00:00:00:03",
            ),
            (
                [(3, 1), (3, 2)],
                "of 02:00:00:00:00:03 are lost on the way to all other members",
            ),
        ] {
            let mut report = report(3);
            for (from, to) in pairs {
                receiver(pair(&mut report, from, to)).large_arrived = 0;
            }
            let found = check(&report);
            assert!(
                matches!(&found[..], [one] if one.is(&LARGE_FRAMES_LOST)),
                "{found:?}"
            );
            assert!(found[0].page().contains(words), "{}", found[0].page());
            let explained = super::check(&report, &BTreeSet::from(["02:00:00:00:00:03"]));
            assert_eq!(
                explained.is_empty(),
                words.contains("to 02:"),
                "{explained:?}"
            );
        }
    }
}
