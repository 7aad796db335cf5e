//! Checks of the level `uniform`.

use std::net::{IpAddr, Ipv4Addr};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use nix::sys::signal::Signal;
use ring_segment::{Test, WAIT_LIMIT, tests};

use super::exchange::{tp1, tp5};
use super::probe::{Heard, LARGE_ID, LONG_HOLD, Probe, SHORT_HOLD, SLOW_TRIES, tr1};
use crate::jitterbug::crashes::kill_the_leader;
use crate::jitterbug::judge::number;
use crate::jitterbug::stand::{Kind, NodeStand};
use crate::jitterbug::terms::Terms;
use crate::jitterbug::wire::{Entry, hash, list_on_wire};

pub(super) fn tests() -> Vec<Test> {
    tests![
        a_ring_survives_deaths_stalls_and_splits,
        a_leader_that_stalled_for_its_lease_asks_before_it_leads_again,
        a_leader_that_ends_passes_its_token,
        a_leader_gives_its_weaker_token_to_the_stronger_leader,
        a_leader_merges_a_token_and_keeps_the_larger_id_and_count,
        the_smaller_of_two_leaders_that_pass_to_each_other_gives_way,
        invalid_messages_have_no_effect,
        a_long_list_and_large_data_arrive_completely,
    ]
}

/// The program is the last of the four nodes. The other three nodes show whether the ring works, and the judge checks
/// the messages of all nodes.
fn a_ring_survives_deaths_stalls_and_splits() -> Result<()> {
    const OTHERS: [usize; 3] = [0, 1, 2];
    const JUDGED: usize = 3;
    const ALL: [usize; 4] = [0, 1, 2, 3];
    let options = [("--hold", "50ms")];
    let mut stand = NodeStand::with_judged(Kind::Switch(5), ALL.len(), &options)?;
    stand
        .wait_for_ring(&ALL)
        .context("rule Q10 (promises.md): four nodes form a ring")?;
    stand.wait_for_rounds(&OTHERS)?;

    // The judged node helps to restore the token of a dead leader.
    let (leader, reached) = kill_the_leader(&mut stand, &OTHERS)?;
    for index in OTHERS.into_iter().filter(|&index| index != leader) {
        stand
            .wait_for_count(index, reached + 3)
            .context("rules Q2, Q8 (promises.md): another node leads after a leader's death")?;
    }
    stand.node(leader).start()?;
    stand
        .wait_for_ring(&ALL)
        .context("rule Q10 (promises.md): the killed leader joins again")?;

    stand.node(JUDGED).kill()?;
    stand
        .wait_for_rounds(&OTHERS)
        .context("rule Q10 (promises.md): the ring continues without the node")?;
    stand.node(JUDGED).start()?;
    stand
        .wait_for_ring(&ALL)
        .context("rule Q10 (promises.md): the node joins again after its death")?;

    // After its stall, the judged node gives way to the token of the other nodes.
    stand.signal(JUDGED, Signal::SIGSTOP)?;
    stand
        .wait_for_rounds(&OTHERS)
        .context("rule Q10 (promises.md): the ring continues during a stall")?;
    stand.signal(JUDGED, Signal::SIGCONT)?;
    stand
        .wait_for_ring(&ALL)
        .context("rules Q3, Q9 (promises.md): one ring after a stall")?;

    // A split makes two rings with two tokens, which become one ring.
    let split = |stand: &NodeStand, sides: [usize; 4]| {
        let switch = stand.segment().rules();
        switch.set(|rules| rules.partition = sides.to_vec());
    };
    split(&stand, [0, 0, 1, 1]);
    stand
        .wait_for_rounds(&OTHERS)
        .context("rule Q10 (promises.md): each half of a split has a leader")?;
    split(&stand, [0; 4]);
    stand
        .wait_for_ring(&ALL)
        .context("rules Q3, Q9 (promises.md): one ring after a split")?;
    stand
        .wait_for_rounds(&OTHERS)
        .context("rules Q9, Q10 (promises.md): each node leads after a split")?;

    let seen = stand
        .judge()
        .context("rules Q1, Q2, M11 (promises.md, messages.md): a message breaks a rule")?;
    let judged = stand.address(JUDGED);
    ensure!(
        seen.passes.iter().any(|pass| pass.to == judged),
        "rule C10 (passing.md): the judged node took no token"
    );
    ensure!(
        seen.passes.iter().any(|pass| pass.from == judged),
        "rule P3 (passing.md): the judged node passed no token"
    );
    Ok(())
}

fn a_leader_that_stalled_for_its_lease_asks_before_it_leads_again() -> Result<()> {
    const STALL: Duration = Duration::from_millis(2_500);
    let (mut probe, id) = Probe::start_leader(LONG_HOLD)?;
    probe.stall(STALL)?;
    check_gives_up(&probe, id)
        .context("rules S1, S4 (leader.md): a stall of 2.5 s exceeds the lease of 1 s")
}

/// Checks that the program sends a question, and does not claim the token `id` before this question.
pub(super) fn check_gives_up(probe: &Probe, id: i32) -> Result<()> {
    let by = Instant::now() + WAIT_LIMIT;
    loop {
        let heard = probe.receive(by)?.context("the node sends nothing")?;
        ensure!(heard.id < 0, "the node still claims its token: {heard:?}");
        if heard.is_question() {
            ensure!(heard.id == -id, "rule R2 (restore.md): {heard:?}");
            return Ok(());
        }
    }
}

fn a_leader_that_ends_passes_its_token() -> Result<()> {
    let (mut probe, id) = Probe::start_leader(LONG_HOLD)?;
    probe.ask()?;
    probe.wait_for(Heard::is_answer)?;
    probe.node().signal(Signal::SIGTERM)?;
    let candidate = probe.accept().context(
        "rules H2, H3 (leader.md): a leader that ends passes its token and does not wait for its hold",
    )?;
    ensure!(candidate.id == id, "rule H3 (leader.md): {}", candidate.id);
    candidate
        .take()
        .context("rules P3, H3 (passing.md, leader.md)")?;
    let end = probe
        .node()
        .wait_exit(WAIT_LIMIT)
        .context("rule H3 (leader.md): a node ends after its pass")?;
    ensure!(end.code() == Some(0), "rule H3 (leader.md): {end}");

    // This leader knows no other node.
    probe.start_again()?;
    probe.wait_for_leader()?;
    probe.node().signal(Signal::SIGTERM)?;
    let end = probe
        .node()
        .wait_exit(WAIT_LIMIT)
        .context("rules H4, H5 (leader.md): a leader without others ends too")?;
    ensure!(end.code() == Some(0), "rule H5 (leader.md): {end}");
    Ok(())
}

/// The stronger token has the smaller id, and is the only followed token.
fn a_leader_gives_its_weaker_token_to_the_stronger_leader() -> Result<()> {
    let followed = LONG_HOLD.terms();
    let alone = Terms {
        flags: 0,
        ..followed
    };
    let (probe, id) = Probe::start_leader(LONG_HOLD)?;
    probe.send(&tr1(1, Some(alone)))?;
    probe
        .wait_for(Heard::is_answer)
        .context("rule M5 (messages.md): a leader answers an announcement with TR2")?;
    ensure!(
        !probe.has_connection(),
        "rule N5 (announcements.md): a token with a smaller id is weaker if neither token is followed"
    );
    probe.send(&tr1(2, Some(followed)))?;
    let candidate = probe.accept().context(
        "rules L11, K1, N5, N6 (leader.md, announcements.md): a stronger token ends the hold of a leader",
    )?;
    ensure!(candidate.id == id, "rule K1 (leader.md): {}", candidate.id);
    candidate.take().context("rule P3 (passing.md)")?;
    // The giver may read a question before it reads the acknowledgement.
    let by = Instant::now() + WAIT_LIMIT;
    loop {
        probe.ask()?;
        if probe.wait_for(Heard::is_answer)?.id == -id {
            return Ok(());
        }
        ensure!(
            Instant::now() < by,
            "rule P8 (passing.md): a giver is a waiter after its pass"
        );
    }
}

fn a_leader_merges_a_token_and_keeps_the_larger_id_and_count() -> Result<()> {
    const STRANGER: Entry = (IpAddr::V4(Ipv4Addr::new(10, 77, 0, 9)), 4711);
    let terms = SHORT_HOLD.terms();
    let (probe, id) = Probe::start_leader(SHORT_HOLD)?;
    let (own, node) = (probe.own_entry(), probe.node_entry());
    probe
        .connect()?
        .pass(terms, LARGE_ID, &[own, STRANGER], b"1000000")
        .context("rules C3, C10 (passing.md): a leader takes another token")?;
    let candidate = probe
        .accept()
        .context("rules C10, L8 (passing.md, leader.md): a leader that merged a token passes on")?;
    let merged = candidate.take()?;
    ensure!(
        merged.id == LARGE_ID,
        "rule C10 (passing.md): {} is not the larger of the ids {id} and {LARGE_ID}",
        merged.id
    );
    ensure!(
        merged.list == [node, own, STRANGER],
        "rule E3 (lists.md): a merged list begins with the old list: {:?}",
        merged.list
    );
    let count = number(&merged.data)?;
    ensure!(
        count > 1_000_000,
        "rules D1, D3 (data.md): the node continues with {count}, not with the greater count"
    );
    // The node now takes a token with a smaller count, and still continues with its count.
    probe
        .connect()?
        .pass(terms, LARGE_ID, &merged.list, b"5")
        .context("rule C10 (passing.md)")?;
    let delivery = probe.accept()?.take()?;
    ensure!(
        number(&delivery.data)? > count,
        "rules D1, D5 (data.md): the count goes back from {count} to {:?}",
        String::from_utf8_lossy(&delivery.data)
    );
    Ok(())
}

fn the_smaller_of_two_leaders_that_pass_to_each_other_gives_way() -> Result<()> {
    const SILENCE: Duration = Duration::from_millis(300);
    let terms = SHORT_HOLD.terms();
    let (probe, id) = Probe::start_leader(SHORT_HOLD)?;
    let list = [probe.own_entry()];
    probe.ask()?;
    // The pass of the node lasts until the scripted node answers.
    let candidate = probe.accept().context("rule L8 (leader.md)")?;
    let mut weaker = probe.connect()?;
    weaker.offer(terms, 1, &list)?;
    ensure!(
        !weaker.has_answer(SILENCE)?,
        "rules C4, C5 (passing.md): a leader in a pass of token {id} leaves an offer of token 1 unread"
    );
    weaker.reset()?;
    probe
        .connect()?
        .pass(terms, LARGE_ID, &list, b"5")
        .context("rule C4 (passing.md): a leader in a pass answers the offer of a larger id")?;
    candidate
        .expect_reset()
        .context("rule C4 (passing.md): a leader that answers an offer breaks off its pass")?;
    let candidate = probe.accept().context(
        "rule C4 (passing.md): after the inbound exchange, the leader continues with step 4",
    )?;
    ensure!(
        candidate.id == LARGE_ID,
        "rule C10 (passing.md): {} instead of the larger id",
        candidate.id
    );
    candidate.take().map(drop)
}

fn invalid_messages_have_no_effect() -> Result<()> {
    let terms = LONG_HOLD.terms();
    let valid = tr1(-1, Some(terms));
    let mut reserved_flags = valid.clone();
    if let Some(flags) = reserved_flags.last_mut() {
        *flags = 4;
    }
    let datagrams = [
        vec![],
        vec![0x01, 0, 0],
        // The version is 2.
        vec![0x02, 0, 0, 0, 1, 0, 1],
        vec![0x81, 0, 0, 0, 1, 0, 1],
        vec![0x31],
        // The id is 0, or -2^31.
        vec![0x01, 0, 0, 0, 0, 0, 1],
        vec![0x01, 0x80, 0, 0, 0, 0, 1],
        // The port is 0.
        vec![0x01, 0xff, 0xff, 0xff, 0xff, 0, 0],
        // The terms are incomplete, or have reserved flags.
        valid[..valid.len() - 1].to_vec(),
        [&valid[..], &[0]].concat(),
        reserved_flags,
        vec![0x11, 0, 0, 0, 0],
        vec![1; 9_000],
    ];
    let (probe, id) = Probe::start_leader(LONG_HOLD)?;
    for datagram in datagrams {
        probe.send(&datagram)?;
    }
    let own = probe.own_entry();
    let twice = list_on_wire(&[own, own]);
    let streams = [
        ("the version is 0", vec![0x20]),
        ("a datagram's message", vec![0x01]),
        ("the id is 0", tp1(0, 0)),
        ("the id is negative", tp1(-LARGE_ID, 0)),
        ("TP5 comes first", tp5(LARGE_ID, b"5")),
        (
            "the list is too long",
            [&tp1(LARGE_ID, 0)[..], &[0x51, 0xff, 0xff, 0xff, 0xff]].concat(),
        ),
        (
            "a node is twice in the list",
            [&tp1(LARGE_ID, hash(&twice))[..], &[0x51], &twice].concat(),
        ),
    ];
    for (error, bytes) in streams {
        let mut giver = probe.connect()?;
        giver.send(&bytes)?;
        giver.expect_reset().with_context(|| {
            format!("rule X1 (messages.md): a node resets a connection if {error}")
        })?;
    }
    probe.send(&valid)?;
    let first = probe
        .wait_for(Heard::is_answer)
        .context("rule M5 (messages.md): the node still answers questions")?;
    let answers = probe.receive_rest()?;
    let answers = answers.iter().filter(|heard| heard.is_answer()).count();
    ensure!(
        first.id == id && answers == 0,
        "rule X1 (messages.md): a node with the token {id} answers only the valid question: {first:?} and {answers} \
         other answers"
    );
    Ok(())
}

/// The list has five thousand nodes outside the segment, and the count has a hundred thousand digits.
fn a_long_list_and_large_data_arrive_completely() -> Result<()> {
    const STRANGERS: u32 = 5_000;
    const ZEROS: usize = 100_000;
    let first = Ipv4Addr::new(10, 99, 0, 1).to_bits();
    let strangers = (first..first + STRANGERS).map(|bits| (Ipv4Addr::from_bits(bits).into(), 4711));
    let terms = SLOW_TRIES.terms();
    let probe = Probe::start_waiter(SLOW_TRIES)?;
    let (own, node) = (probe.own_entry(), probe.node_entry());
    let list: Vec<Entry> = std::iter::once(own).chain(strangers).collect();
    let mut data = vec![b'0'; ZEROS];
    data.insert(0, b'1');
    probe
        .connect()?
        .pass(terms, LARGE_ID, &list, &data)
        .context("rules X2, X5, C10 (messages.md, passing.md): a node takes a large token")?;
    let delivery = probe
        .accept()
        .context("rules L8, K7 (leader.md): a leader passes its token to a node that it has heard")?
        .take()?;
    ensure!(
        delivery.list.len() == 2 && delivery.list.contains(&node),
        "rule E5 (lists.md): a node ignores nodes outside the segment, but its list has {} nodes",
        delivery.list.len()
    );
    data[ZEROS] = b'1';
    ensure!(
        delivery.data == data,
        "rules D6, C7 (data.md, passing.md): a count of any length grows by one, but {} bytes arrive",
        delivery.data.len()
    );
    Ok(())
}
