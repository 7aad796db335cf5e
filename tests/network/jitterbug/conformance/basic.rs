//! Checks of the level `basic`.

use std::net::{IpAddr, Ipv4Addr};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use ring_segment::{Test, WAIT_LIMIT, tests};

use super::exchange::{Delivery, TP2, TP3, offer_on_wire, tp1, tp5};
use super::probe::{Heard, LARGE_ID, Probe, SHORT_HOLD, SLOW_TRIES, TR_COUNT, Times, tr1};
use crate::jitterbug::judge::number;
use crate::jitterbug::stand::{Kind, NodeStand, UDP_PORT};
use crate::jitterbug::wire::{Entry, hash, list_on_wire};

const POLL_INTERVAL: Duration = Duration::from_millis(20);

pub(super) fn tests() -> Vec<Test> {
    tests![
        a_node_without_answers_elects_itself_with_a_larger_id,
        a_larger_id_denies_a_restore,
        a_waiter_answers_smaller_ids_and_introduces_itself_to_a_leader,
        a_leader_answers_each_question_also_during_its_pass,
        a_node_takes_a_token_and_passes_it_with_the_next_count,
        a_token_without_an_orderly_end_is_not_taken,
        a_giver_leads_after_a_failed_pass_and_asks_after_an_unknown_pass,
        a_node_that_is_left_without_others_leads_and_keeps_the_count,
    ]
}

fn a_node_without_answers_elects_itself_with_a_larger_id() -> Result<()> {
    const STEP_MAX: i32 = 65_536;
    const FIRST_ID_MAX: i32 = 1 << 30;
    let (probe, id) = Probe::start_leader(SHORT_HOLD)?;
    let mut restore = probe.first_restore()?;
    for (sent, heard) in &restore {
        ensure!(
            sent.to.to_string() == "10.77.0.255" && [sent.from_port, sent.to_port] == [UDP_PORT; 2],
            "rule A4 (addresses.md): a restore and its announcement are broadcasts: {sent:?}"
        );
        check_terms(heard, SHORT_HOLD)?;
    }
    let (_, announced) = restore.pop().context("no announcement")?;
    // A node that stalled may have begun its restore again. So a try may have more TR1, and there may be more tries.
    let mut tries: Vec<(i32, u32)> = Vec::new();
    for (_, heard) in restore {
        match tries.last_mut() {
            Some((id, count)) if *id == -heard.id => *count += 1,
            _ => tries.push((-heard.id, 1)),
        }
    }
    let counts = tries.iter().all(|&(_, count)| count >= TR_COUNT);
    ensure!(
        tries.len() >= 2 && counts,
        "rules R3, R5 (restore.md): a restore has two tries of at least {TR_COUNT} TR1: {tries:?}"
    );
    let grows = |pair: &[(i32, u32)]| {
        let [(old, _), (new, _)] = pair else {
            return false;
        };
        (1..=STEP_MAX).contains(&(new - old))
    };
    ensure!(
        tries[0].0 <= FIRST_ID_MAX && tries.windows(2).all(grows),
        "rule R4 (restore.md): the second try has a new id, which is up to {STEP_MAX} larger: {tries:?}"
    );
    ensure!(
        announced.id == id && tries.last().is_some_and(|&(last, _)| last == id),
        "rules R6, N1 (restore.md): the node announces the id of its second try: {tries:?}, {id}"
    );
    Ok(())
}

fn check_terms(heard: &Heard, times: Times) -> Result<()> {
    let terms = heard.terms.context("rule T2 (terms.md): no terms")?;
    let ours = times.terms();
    ensure!(
        (terms.lease_us, terms.renew_ms, terms.pass_ms, terms.policy)
            == (ours.lease_us, ours.renew_ms, ours.pass_ms, ours.policy),
        "rules T1, T3, F1 (terms.md): {terms:?} instead of {ours:?}"
    );
    Ok(())
}

/// A denied node keeps its id, and asks again after `renew_timeout`. A node that continues its restore uses a different
/// id after a try.
fn a_larger_id_denies_a_restore() -> Result<()> {
    const TIMES: Times = Times {
        renew_timeout: 300,
        ..SLOW_TRIES
    };
    let probe = Probe::start(TIMES)?;
    let (mut last, mut equal) = (0, 0);
    while equal <= 2 * TR_COUNT {
        let heard = probe
            .wait_for(|heard| heard.port.is_some())
            .context("rule R1 (restore.md): a waiter asks again after renew_timeout")?;
        ensure!(
            heard.is_question(),
            "rules R13, R14 (restore.md): TR2 with a larger id denies a restore, but the node leads"
        );
        equal = if heard.id == last { equal + 1 } else { 0 };
        last = heard.id;
        probe.send_tr2(heard.id - 1)?;
    }
    Ok(())
}

fn a_waiter_answers_smaller_ids_and_introduces_itself_to_a_leader() -> Result<()> {
    const QUESTIONS: usize = 3;
    let terms = Some(SLOW_TRIES.terms());
    let probe = Probe::start(SLOW_TRIES)?;
    let asked = probe.wait_for(Heard::is_question)?;
    // The node is now a waiter, and owes a TR1.
    probe.send_tr2(asked.id - 1)?;
    probe.send(&tr1(asked.id - 1, terms))?;
    probe.send(&tr1(asked.id, terms))?;
    for _ in 0..QUESTIONS {
        probe.send(&tr1(asked.id + 1, terms))?;
    }
    let answers = Vec::from_iter(probe.wait_for(Heard::is_answer).ok());
    let answers = [answers, probe.receive_rest()?].concat();
    let answers: Vec<i32> = answers
        .into_iter()
        .filter(Heard::is_answer)
        .map(|it| it.id)
        .collect();
    ensure!(
        answers == [asked.id; QUESTIONS],
        "rules M6, M11, R14 (messages.md, restore.md): a waiter with the id {} answers each of {QUESTIONS} questions \
         with a smaller id once, and no question with an equal or larger id: {answers:?}",
        asked.id
    );
    probe.send(&tr1(LARGE_ID, terms))?;
    let introduced = probe.wait_for(Heard::is_question).context(
        "rules R16, M9 (restore.md, messages.md): a waiter that owes a TR1 answers an announcement",
    )?;
    ensure!(
        introduced.id == asked.id,
        "rule R14 (restore.md): the waiter keeps its id {}, but sends {introduced:?}",
        asked.id
    );
    // The waiter owes no TR1 now.
    probe.send(&tr1(LARGE_ID, terms))?;
    let rest = probe.receive_rest()?;
    ensure!(
        rest.is_empty(),
        "rules R16, M9 (restore.md, messages.md): a waiter introduces itself once: {rest:?}"
    );
    Ok(())
}

fn a_leader_answers_each_question_also_during_its_pass() -> Result<()> {
    let question = tr1(-1, Some(SHORT_HOLD.terms()));
    let (probe, id) = Probe::start_leader(SHORT_HOLD)?;
    probe.send(&question)?;
    let candidate = probe.accept().context(
        "rules M3, L7, L8 (messages.md, leader.md): a leader passes to a node that sends TR1",
    )?;
    ensure!(
        candidate.id == id,
        "rule P3 (passing.md): {} is offered instead of {id}",
        candidate.id
    );
    // The pass lasts until the candidate answers.
    probe.send(&question)?;
    probe.send_from_another_port(&question)?;
    let by = Instant::now() + WAIT_LIMIT;
    let mut answers = Vec::new();
    while answers.len() < 3 {
        let heard = probe.receive(by)?.context(
            "rules M5, M12 (messages.md): a leader answers each TR1 at the common port, also in its pass",
        )?;
        answers.extend(heard.is_answer().then_some(heard.id));
    }
    answers.extend(
        probe
            .receive_rest()?
            .iter()
            .filter(|it| it.is_answer())
            .map(|it| it.id),
    );
    ensure!(
        answers == [id; 3],
        "rules M5, M11 (messages.md): a leader with the id {id} answers three questions once each: {answers:?}"
    );
    candidate
        .take()
        .context("rules P3, P8 (passing.md)")
        .map(drop)
}

fn a_node_takes_a_token_and_passes_it_with_the_next_count() -> Result<()> {
    const STRANGER: Entry = (IpAddr::V4(Ipv4Addr::new(10, 77, 0, 9)), 4711);
    let terms = SLOW_TRIES.terms();
    let probe = Probe::start_waiter(SLOW_TRIES)?;
    let (own, node) = (probe.own_entry(), probe.node_entry());
    let give = |list: &[Entry], data: &[u8]| {
        let answer = probe.connect()?.pass(terms, LARGE_ID, list, data);
        answer.context("rules C3, C7, C10 (passing.md): an orphan or a waiter takes a token")
    };
    let answer = give(&[own, STRANGER], b"41")?;
    ensure!(
        answer == TP2,
        "rule C3 (passing.md): a node with another list asks for the list"
    );
    let taken = take_next(&probe, b"42")?;
    ensure!(
        taken.list == [own, STRANGER, node],
        "rule E3 (lists.md): the received list comes first, then the node: {:?}",
        taken.list
    );
    give(&[own, node], &taken.data)?;
    let taken = take_next(&probe, b"43")?;
    ensure!(
        taken.list == [own, node, STRANGER],
        "rule E3 (lists.md): the received list comes first, then the rest of the old list: {:?}",
        taken.list
    );
    let answer = give(&taken.list, b"1000")?;
    ensure!(
        answer == TP3,
        "rule C3 (passing.md): a node with the same list answers TP3"
    );
    take_next(&probe, b"1001").map(drop)
}

/// Takes the program's token, which must have the id [`LARGE_ID`] and these data.
fn take_next(probe: &Probe, data: &[u8]) -> Result<Delivery> {
    let candidate = probe
        .accept()
        .context("rules L7, L8 (leader.md): a leader passes its token to a node of its list")?;
    let lease_us = probe.times.lease_us();
    ensure!(
        candidate.terms.is_some_and(|it| it.lease_us == lease_us),
        "rule P3 (passing.md): TP6 comes before TP1 if the candidate has sent terms"
    );
    ensure!(
        candidate.id == LARGE_ID,
        "rule C10 (passing.md): token_id becomes the id of the taken token"
    );
    let delivery = candidate.take().context("rule P3 (passing.md)")?;
    ensure!(
        delivery.data == data,
        "rules L3, D6 (leader.md, data.md): {:?} instead of {:?}",
        String::from_utf8_lossy(&delivery.data),
        String::from_utf8_lossy(data)
    );
    Ok(delivery)
}

/// A node that took one of these tokens would later pass a token with a larger id or a larger count.
fn a_token_without_an_orderly_end_is_not_taken() -> Result<()> {
    const FALSE_DATA: &[u8] = b"1000000";
    let terms = SLOW_TRIES.terms();
    let probe = Probe::start_waiter(SLOW_TRIES)?;
    let list = [probe.own_entry()];
    let offer = offer_on_wire(terms, LARGE_ID, &list);

    // The node reads the token before the reset, or at the same time as the reset.
    for pause in [Duration::from_millis(100), Duration::ZERO] {
        let mut giver = probe.connect()?;
        giver.send(&offer)?;
        let answer = giver.read_answer().context("rule C3 (passing.md)")?;
        giver.give(answer, LARGE_ID, &list, FALSE_DATA)?;
        thread::sleep(pause);
        giver.reset()?;
    }

    let tp4 = [&[0x51][..], &list_on_wire(&list)].concat();
    let another_hash = tp1(LARGE_ID, hash(&list_on_wire(&list)) ^ 1);
    let streams = [
        ("X1 (messages.md), not_leader", tp1(-LARGE_ID, 0)),
        ("X1 (messages.md), order", tp5(LARGE_ID, FALSE_DATA)),
        (
            "C7 (passing.md), another id in TP5",
            [&offer, &tp4, &tp5(1, FALSE_DATA)[..]].concat(),
        ),
        (
            "C7 (passing.md), another hash",
            [&another_hash, &tp4, &tp5(LARGE_ID, FALSE_DATA)[..]].concat(),
        ),
    ];
    for (rule, bytes) in streams {
        let mut giver = probe.connect()?;
        giver.send(&bytes)?;
        giver
            .expect_reset()
            .with_context(|| format!("rule {rule}: the candidate resets the connection"))?;
    }

    probe
        .connect()?
        .pass(terms, LARGE_ID - 1, &list, b"5")
        .context("rule C10 (passing.md): a waiter takes a token")?;
    let delivery = probe.accept()?.take()?;
    ensure!(
        (delivery.id, &delivery.data[..]) == (LARGE_ID - 1, b"6"),
        "rules C1, C8, C9 (passing.md): an exchange without an orderly end has no effect: token {} with {:?}",
        delivery.id,
        String::from_utf8_lossy(&delivery.data)
    );
    Ok(())
}

fn a_giver_leads_after_a_failed_pass_and_asks_after_an_unknown_pass() -> Result<()> {
    let (probe, id) = Probe::start_leader(SHORT_HOLD)?;
    let accept = |rules: &'static str| {
        probe.ask()?;
        probe.accept().context(rules)
    };
    for _ in 0..2 {
        let candidate =
            accept("rules P9, K3, L8 (passing.md, leader.md): a leader tries its candidate again")?;
        ensure!(
            candidate.id == id,
            "rules P6, P9 (passing.md): a failed pass leaves the token {id}, but the node offers {}",
            candidate.id
        );
        candidate.reset()?;
    }
    let candidate = accept("rules P9, K3, L8 (passing.md, leader.md)")?;
    candidate.read_token(TP2)?.reset()?;
    // The giver becomes an orphan, and wins a restore. After the restore, it has a different token.
    let asked = probe
        .wait_for(Heard::is_question)
        .context("rule P10 (passing.md): a giver without an acknowledgement becomes an orphan")?;
    ensure!(asked.id == -id, "rule R2 (restore.md): {asked:?}");
    let candidate = accept("rule R6 (restore.md): a restore without answers is granted")?;
    ensure!(
        candidate.id > id,
        "rules P5, P6, P10, Q1 (passing.md, promises.md): the candidate may have token {id}, but the node offers {}",
        candidate.id
    );
    candidate.take().map(drop)
}

/// All other nodes are killed, so only the program knows the count.
fn a_node_that_is_left_without_others_leads_and_keeps_the_count() -> Result<()> {
    const OTHERS: [usize; 2] = [0, 1];
    const ALL: [usize; 3] = [0, 1, 2];
    let mut stand = NodeStand::with_judged(Kind::Bridge, ALL.len(), &[("--hold", "20ms")])?;
    stand
        .wait_for_ring(&ALL)
        .context("rules R15, R16, E4 (restore.md, lists.md): a node joins a ring")?;
    stand
        .wait_for_rounds(&OTHERS)
        .context("rule Q10 (promises.md)")?;
    let reached = stand.count(0)?;
    for index in OTHERS {
        stand.node(index).kill()?;
    }
    let (killed, judged) = (ring_segment::now(), stand.address(2));
    let by = Instant::now() + WAIT_LIMIT;
    while !has_announced(&stand, judged, killed)? {
        ensure!(
            Instant::now() < by,
            "rules R1, R6, N2 (restore.md, announcements.md): the last node leads and announces its token"
        );
        thread::sleep(POLL_INTERVAL);
    }
    for index in OTHERS {
        stand.node(index).start()?;
    }
    stand
        .wait_for_ring(&ALL)
        .context("rules Q3, Q10 (promises.md): the killed nodes join again")?;
    let seen = stand
        .judge()
        .context("rules Q1, Q2, M11 (promises.md, messages.md): a message breaks a rule")?;
    let mut passes = seen.passes.iter();
    let first = passes
        .find(|pass| pass.from == judged && pass.at > killed)
        .context("rule L8 (leader.md): the node passes its token to the nodes that came back")?;
    // Each of the killed nodes may have made one more step.
    ensure!(
        number(&first.data)? + 2 >= reached,
        "rules Q2, P2 (promises.md, passing.md): the count goes back from {reached}: {first:?}"
    );
    stand
        .wait_for_rounds(&OTHERS)
        .context("rule Q10 (promises.md): each node leads again")
}

fn has_announced(stand: &NodeStand, node: IpAddr, after: Duration) -> Result<bool> {
    for sent in stand.record().datagrams(UDP_PORT) {
        if sent.from == node && sent.at > after && Heard::read(&sent.bytes)?.is_announcement() {
            return Ok(true);
        }
    }
    Ok(false)
}
