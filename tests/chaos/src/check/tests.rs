//! Invented runs, which show that each check can fail.

use std::time::Duration;

use ring_segment::{Digest, ETHERTYPE, MacAddr, Message, Seen, Timing, Token, frame};
use serde_json::json;

use super::evidence::{CrashTime, Cycle, Span};
use super::{Evidence, Rule, Verdict, judge};
use crate::stations::Stations;

const DIGEST: Digest = Digest { size: 4, hash: 7 };
const CALM: u64 = 1000;
const END: u64 = 7000;

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn span(from: u64, to: u64) -> Span {
    Span::new(ms(from), ms(to))
}

fn mac(place: usize) -> MacAddr {
    MacAddr::new(
        2,
        0,
        0,
        0,
        0,
        u8::try_from(place + 1).expect("there are five places"),
    )
}

fn everybody() -> MacAddr {
    MacAddr::broadcast()
}

fn token(progress: u64) -> Token {
    chain(progress, 0, 1)
}

fn chain(progress: u64, author: usize, number: u32) -> Token {
    Token {
        progress,
        author: mac(author),
        number,
    }
}

fn here(token: Token) -> Message {
    Message::TokenIsHere {
        token,
        digest: DIGEST,
        data: Vec::new(),
    }
}

fn take(token: Token) -> Message {
    Message::TakeToken {
        token,
        digest: DIGEST,
        data: Vec::new(),
    }
}

/// Three daemons, a member and a stranger, in one cycle. The calm lasts from `CALM` to `END`.
struct RunBuilder {
    evidence: Evidence,
    /// Time at which frames do not arrive at a station, and the place of the station.
    deaf: Option<(Duration, usize)>,
}

impl RunBuilder {
    fn new() -> Self {
        let macs: Vec<MacAddr> = (0..5).map(mac).collect();
        let stations = Stations::new(&macs, 3, 1);
        let mut evidence = Evidence::empty(stations, Timing::tolerant(ms(100)));
        evidence.end = ms(END);
        evidence.cycles.push(Cycle {
            number: 1,
            calm: Some(ms(CALM)),
            ends: ms(END),
            ..Cycle::default()
        });
        Self {
            evidence,
            deaf: None,
        }
    }

    /// Passes a token from station to station. Each station has the token for 10 ms.
    fn rotates(self, from: u64, to: u64, first: Token) -> Self {
        let turns = (to - from) / 10;
        let holders =
            (0..=turns).map(|turn| usize::try_from(turn % 4).expect("the number is small"));
        let holders: Vec<usize> = holders.collect();
        self.passes_on(from, first, &holders)
    }

    /// Passes a token to each of `holders`. The last node gets an offer, but not the token. Each other node keeps the
    /// token for 10 ms.
    fn passes_on(mut self, from: u64, first: Token, holders: &[usize]) -> Self {
        let (mut at, mut token) = (from, first);
        for pair in holders.windows(2) {
            self = self.sends(at, pair[0], everybody(), &here(token));
            token.progress += 1;
            self = self.sends(at + 9, pair[0], mac(pair[1]), &take(token));
            at += 10;
        }
        self
    }

    fn sends(mut self, at: u64, from: usize, to: MacAddr, message: &Message) -> Self {
        let bytes = frame(to, mac(from), ETHERTYPE, &message.payload(mac(from)));
        let seen = Seen::read(ms(at), from, bytes).expect("the frame is long enough");
        self.evidence.sent.push(seen);
        self
    }

    fn late(self, from: u64, to: u64) -> Self {
        self.late_is("metronome", from, to)
    }

    fn late_is(mut self, who: &str, from: u64, to: u64) -> Self {
        self.evidence.late.push((span(from, to), who.to_owned()));
        self
    }

    fn crash(mut self, station: usize, from: u64, to: u64) -> Self {
        let span = span(from, to);
        self.evidence.cycles[0]
            .crashes
            .push(CrashTime { station, span });
        self
    }

    fn with_status(mut self, at: u64, hash: &str) -> Self {
        let status = json!({ "state": "WAITER", "ring_hash": hash, "members": [0, 0, 0, 0] });
        self.evidence.cycles[0].statuses = Some((ms(at), vec![(0, status)]));
        self
    }

    fn judge(mut self) -> Verdict {
        self.evidence.sent.sort_by_key(|seen| seen.at);
        for seen in &self.evidence.sent {
            for place in (0..4).filter(|place| *place != seen.port) {
                let meant = seen.is_broadcast() || seen.dst == mac(place);
                if meant && self.deaf != Some((seen.at, place)) {
                    let mut copy = seen.clone();
                    (copy.port, copy.at) = (place, seen.at + Duration::from_micros(50));
                    self.evidence.delivered.push(copy);
                }
            }
        }
        judge(&self.evidence)
    }

    #[track_caller]
    fn passes(self) -> Verdict {
        let verdict = self.judge();
        assert_eq!(verdict.findings, [], "the run must pass");
        verdict
    }

    #[track_caller]
    fn finds(self, rule: Rule, words: &str) {
        let verdict = self.judge();
        let found = |it: &super::Finding| it.rule == rule && it.text.contains(words);
        assert!(verdict.findings.iter().any(found), "{:?}", verdict.findings);
    }
}

fn calm() -> RunBuilder {
    RunBuilder::new().rotates(CALM, END, token(10))
}

#[test]
fn a_run_whose_token_rotates_passes_and_is_judged() {
    let verdict = calm().with_status(END - 1, "0000000000000007").passes();
    let judged = verdict
        .counts
        .iter()
        .find(|(what, _)| what.contains("required"));
    assert!(
        judged.is_some_and(|(_, millis)| *millis > 4000),
        "{judged:?}"
    );
    assert_eq!(verdict.settling[0].value.to_bits(), 0.0_f64.to_bits());
}

#[test]
fn equal_tokens_are_found_even_among_the_faults() {
    let run = calm().sends(200, 0, everybody(), &here(token(3)));
    let run = run.sends(210, 1, everybody(), &here(token(3)));
    run.finds(Rule::EqualTokens, "equal tokens");
}

fn with_rival(at: u64) -> RunBuilder {
    calm().sends(at, 2, everybody(), &here(chain(900, 2, 5)))
}

#[test]
fn a_second_owner_is_allowed_within_the_bound_and_found_after_it() {
    let verdict = with_rival(CALM + 1100).passes();
    assert!(verdict.settling[0].value > 1.0);
    with_rival(CALM + 1500).finds(Rule::OneOwner, "two owners");
}

#[test]
fn a_second_owner_is_not_judged_soon_after_the_machine_was_late() {
    with_rival(3000).late(2500, 2600).passes();
    with_rival(3900)
        .late(2500, 2600)
        .finds(Rule::OneOwner, "two owners");
}

#[test]
fn a_ring_without_an_owner_is_found() {
    let run = RunBuilder::new().rotates(CALM, 4000, token(10));
    run.finds(Rule::OneOwner, "no node claimed");
}

#[test]
fn a_ring_whose_first_owner_comes_too_late_is_found() {
    let verdict = RunBuilder::new()
        .rotates(CALM + 1100, END, token(10))
        .passes();
    assert!((verdict.settling[0].value - 1.1).abs() < 1e-9);
    let run = RunBuilder::new().rotates(CALM + 1200, END, token(10));
    run.finds(Rule::OneOwner, "the first claim came after 1s");
}

/// Makes station 3 want the token 2500 ms after the start, while station 2 holds the token. Station 3 gets the token
/// after `others` tenures.
fn with_want(others: usize) -> RunBuilder {
    let mut run = RunBuilder::new().rotates(CALM, 2500, token(10));
    run = run.with_status(END - 1, "0000000000000007");
    run = run.sends(2495, 3, everybody(), &Message::WantToken);
    run.evidence.cycles[0].wants = Some(span(2495, 6000));
    let mut holders: Vec<usize> = [2, 0, 1].into_iter().cycle().take(others).collect();
    holders.extend((0..450).map(|turn| (turn + 3) % 4));
    run.passes_on(2500, token(160), &holders)
}

#[test]
fn a_member_that_waits_for_more_than_its_turns_is_found() {
    let verdict = with_want(5).passes();
    assert_eq!(verdict.services[0].value.to_bits(), 5.0_f64.to_bits());
    with_want(6).finds(Rule::Service, "others had the token 6 times");
    with_want(6).late(2520, 2560).passes();
}

fn with_crash(successor: u64) -> RunBuilder {
    // Station 0 holds the token 4000 ms after the start, and dies immediately after its heartbeat.
    let mut run = RunBuilder::new()
        .rotates(CALM, 4000, token(10))
        .crash(0, 4001, 6000);
    run = run.sends(4000, 0, everybody(), &here(token(310)));
    let elected = chain(900, 1, 8);
    run = run.sends(
        successor - 100,
        1,
        everybody(),
        &Message::GeneratingToken { token: elected },
    );
    run = run.sends(successor, 1, everybody(), &here(elected));
    run.rotates(successor + 10, END, chain(901, 1, 8))
}

#[test]
fn a_successor_that_comes_too_late_is_found() {
    let verdict = with_crash(4700).passes();
    assert!((verdict.fail_overs[0].value - 0.699).abs() < 1e-9);
    with_crash(4850).finds(Rule::FailOver, "came after");
    let late = with_crash(4850).late(4300, 4400).passes();
    assert!(late.fail_overs[0].disturbed);
}

#[test]
fn an_owner_without_a_successor_is_found() {
    let run = RunBuilder::new()
        .rotates(CALM, 4000, token(10))
        .crash(0, 4001, 6000);
    let run = run.sends(4000, 0, everybody(), &here(token(310)));
    run.finds(Rule::FailOver, "no node replaced");
}

#[test]
fn an_election_that_costs_too_many_frames_is_found() {
    let storm = (0..30).fold(with_crash(4700), |run, n| {
        run.sends(4400 + n, 2, everybody(), &Message::WhereIsToken)
    });
    storm.finds(Rule::FailOver, "cost 32 broadcasts");
}

#[test]
fn tables_that_differ_are_found_on_the_wire_and_in_the_status() {
    let alien = Message::Ping {
        digest: Digest { size: 3, hash: 1 },
        ip: [0; 16],
    };
    let run = || calm().with_status(END - 1, "0000000000000007");
    run()
        .sends(END - 2, 2, mac(0), &alien)
        .finds(Rule::EqualTables, "ringd 3 sends");
    calm()
        .with_status(END - 1, "00000000000000ff")
        .finds(Rule::EqualTables, "shows 00000000000000ff");
    let verdict = run().sends(3000, 2, mac(0), &alien).passes();
    assert!((verdict.tables[0].value - 2.0).abs() < 1e-9);
}

/// Passes the token among all stations except station 0. Station 0 sends no frames, but answers ringctl.
fn with_silence(hash: &str) -> RunBuilder {
    let holders: Vec<usize> = (0..600).map(|turn| 1 + turn % 3).collect();
    let run = RunBuilder::new().passes_on(CALM, chain(10, 1, 1), &holders);
    run.with_status(END - 1, hash)
}

#[test]
fn a_silent_daemon_is_judged_by_its_status_and_a_silent_member_is_found() {
    with_silence("0000000000000007").passes();
    with_silence("00000000000000ff").finds(Rule::EqualTables, "ringd 1 shows 00000000000000ff");
    let mut run = with_silence("0000000000000007");
    run.evidence.cycles[0].statuses = Some((ms(END - 1), Vec::new()));
    run.finds(Rule::EqualTables, "ringd 1 sent no digest");
}

fn with_ignored_offer() -> RunBuilder {
    let mut run = RunBuilder::new().rotates(CALM, 3000, token(10));
    for at in [3000, 3025, 3050] {
        run = run.sends(at, 0, mac(1), &take(token(300)));
    }
    run
}

#[test]
fn an_offer_that_a_live_member_ignores_is_found_unless_it_did_not_run() {
    with_ignored_offer().finds(Rule::Frames, "ringd 2 sent no frame after the offer");
    let others = with_ignored_offer().late_is("ringd 3", 3010, 6000);
    others.finds(Rule::Frames, "ringd 2 sent no frame after the offer");
    let starved = with_ignored_offer().late_is("ringd 2", 3010, 6000);
    let findings = starved.judge().findings;
    assert!(
        findings.iter().all(|it| it.rule != Rule::Frames),
        "{findings:?}"
    );
}

#[test]
fn a_frame_that_the_protocol_forbids_is_found() {
    calm()
        .sends(50, 0, everybody(), &take(token(5)))
        .finds(Rule::Frames, "broadcast an offer");
}

#[test]
fn a_network_that_loses_or_invents_frames_in_a_calm_is_found() {
    let mut run = calm();
    run.deaf = Some((ms(3000), 2));
    run.finds(Rule::Instruments, "lost in a calm on its way to ringd 3");
    let mut run = calm();
    let ghost = run.evidence.sent[0].clone();
    let bytes = frame(mac(2), mac(1), ETHERTYPE, &Message::Leaving.payload(mac(1)));
    run.evidence.delivered.push(Seen { bytes, ..ghost });
    run.finds(Rule::Instruments, "no station sent");
}

#[test]
fn a_dead_daemon_and_a_recording_with_gaps_are_found() {
    let mut run = calm();
    run.evidence
        .died
        .push((ms(9), 1, "exit status: 101".to_owned()));
    run.evidence.blind.push((ms(9), 3));
    let verdict = run.judge();
    let rules: Vec<Rule> = verdict.findings.iter().map(|it| it.rule).collect();
    assert!(rules.contains(&Rule::Death) && rules.contains(&Rule::Instruments));
}
