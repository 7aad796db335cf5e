//! The level leader: the program also takes part in elections, leads, and has sessions.

use std::collections::{BTreeMap, BTreeSet};
use std::thread;
use std::time::Duration;

use anyhow::{Result, bail, ensure};
use ring_segment::{Test, tests};

use super::super::stand::{PORT, SERVER_TIMEOUT};
use super::super::wire::Body;
use super::stand::{CLIENTS, JudgedStand, Recorded, SERVERS, others};
use super::test_client::{DEASSIGN, EXCLUSIVE, TestClient, renewal};
use super::test_peer::TestPeer;

/// With the lowest index, the program wins the first election.
const PROGRAM: usize = 0;
/// Token of the program: the order of the servers is 0 2 1.
const OWN: &str = "abc";
/// Token of server 2: the order of the servers is 2 0 1.
const OF_FOLLOWER: &str = "swarm";
const FOLLOWER: usize = 2;
const CLIENT_TIMEOUT: Duration = Duration::from_secs(4);
/// Number of deaths of a leader until the check of the election fails.
const DEATHS_MAX: usize = 4;
const DOWN: i64 = 0;
const READY: i64 = 2;

pub(super) fn tests() -> Vec<Test> {
    tests![
        rounds_are_numbered_and_announce_whether_the_number_is_proven,
        a_renewal_is_confirmed_after_all_servers_know_the_session,
        a_session_ends_at_logout_or_after_the_client_timeout,
        a_leader_without_a_quorum_serves_nothing_and_gives_up_an_unproven_number,
        a_follower_is_elected_when_the_leader_dies_and_keeps_the_sessions,
        a_leader_that_was_cut_off_follows_the_new_leader,
    ]
}

fn start() -> Result<JudgedStand> {
    JudgedStand::start(PROGRAM, PROGRAM, &[])
}

/// Returns the seq of a STATE.
fn seq_of(sent: &Recorded) -> Option<i128> {
    match sent.datagram.body {
        Body::State { seq, .. } => Some(seq),
        _ => None,
    }
}

fn is_heartbeat(sent: &Recorded, wanted: i128) -> bool {
    matches!(sent.datagram.body, Body::Heartbeat { seq, .. } if seq == wanted)
}

fn rounds_are_numbered_and_announce_whether_the_number_is_proven() -> Result<()> {
    const UNPROVEN: i128 = 1 << 30;
    const PROVEN: i128 = 1 << 31;
    let stand = start()?;
    let mut rounds: BTreeMap<i128, BTreeSet<i128>> = BTreeMap::new();
    let answers = [stand.sent_by(1)?, stand.sent_by(2)?].concat();
    for sent in stand.sent_by(PROGRAM)? {
        let Body::State { seq, leader, .. } = sent.datagram.body else {
            continue;
        };
        let (number, round) = (seq >> 32, seq & 0xffff_ffff);
        ensure!(
            i128::from(leader) == number && leader % 3 == 0,
            "rule N1 (numbers.md): server 0 leads under {leader}"
        );
        ensure!(
            round > UNPROVEN,
            "rule N6 (numbers.md): the round {round} does not announce whether c is proven"
        );
        let is_answer = |answer: &Recorded| match answer.datagram.body {
            Body::Heartbeat { seq, .. } => seq >> 32 == number && answer.at <= sent.at,
            _ => false,
        };
        ensure!(
            round < PROVEN || answers.iter().any(is_answer),
            "rule N6 (numbers.md): no server has acknowledged a round of {number}"
        );
        rounds.entry(number).or_default().insert(round % UNPROVEN);
    }
    for (number, found) in &rounds {
        let all = (1..).zip(found).all(|(wanted, round)| wanted == *round);
        ensure!(
            all,
            "rule N3 (numbers.md): the rounds of {number} are {found:?}"
        );
    }
    // The servers become READY only under a proven number.
    stand.wait_for(PROGRAM, "rule L7 (leader.md)", |sent| {
        (seq_of(sent)? & 0xffff_ffff > PROVEN).then_some(())
    })
}

fn a_renewal_is_confirmed_after_all_servers_know_the_session() -> Result<()> {
    let mut stand = start()?;
    let stranger = TestPeer::open(stand.servers(), CLIENTS, 0)?;
    stranger.wait_until_read_by(PROGRAM)?;
    stranger.wait_until_read_by(PROGRAM)?;
    let answers = stranger.received();
    let ids: BTreeSet<i64> = answers.iter().map(|it| it.datagram.to).collect();
    let id = ids.first().copied().unwrap_or_default();
    ensure!(
        ids.len() == 1 && (1 << 20..1 << 31).contains(&id),
        "rule S7 (sessions.md): the ids of an address are {ids:?}"
    );
    let larger = stand.configuration()? + 3;
    stranger.send(PROGRAM, id, renewal(1, larger))?;
    stranger.wait_until_read_by(PROGRAM)?;
    let is_confirm =
        |it: &super::test_peer::Received| matches!(it.datagram.body, Body::Confirm { .. });
    // The session may need a moment to be known, so the renewal with a valid number is confirmed later.
    stranger.send(PROGRAM, id, renewal(2, larger - 3))?;
    stranger.wait_for("rule S17 (sessions.md)", |it| is_confirm(it).then_some(()))?;
    let confirmed = stranger.received().into_iter().filter(is_confirm);
    let numbers: Vec<Body> = confirmed.map(|it| it.datagram.body).collect();
    ensure!(
        numbers == [Body::Confirm { msgnum: 2 }],
        "rule S16 (sessions.md): the leader confirms {numbers:?}"
    );
    let sent = stand.sent_by(PROGRAM)?;
    let confirm = sent
        .iter()
        .find(|sent| sent.datagram.to == id && matches!(sent.datagram.body, Body::Confirm { .. }));
    let Some(confirm) = confirm else {
        bail!("the record has no CONFIRM");
    };
    let lists = |sent: &&Recorded| match &sent.datagram.body {
        Body::State { clients, .. } => clients.iter().any(|client| client.0 == id),
        _ => false,
    };
    let rounds: Vec<i128> = sent.iter().filter(lists).filter_map(seq_of).collect();
    for server in others(PROGRAM) {
        let answers = stand.sent_by(server)?;
        let knows = answers.iter().any(|answer| {
            answer.at <= confirm.at && rounds.iter().any(|round| is_heartbeat(answer, *round))
        });
        ensure!(
            knows,
            "rule S17 (sessions.md): CONFIRM before server {server} has acknowledged the session"
        );
    }
    Ok(())
}

fn a_session_ends_at_logout_or_after_the_client_timeout() -> Result<()> {
    let timeout = format!("{}ms", CLIENT_TIMEOUT.as_millis());
    let stand = JudgedStand::start(PROGRAM, PROGRAM, &[("--client-timeout", &timeout)])?;
    let [holder, other] = [(); 2].map(|()| TestClient::log_in(&stand, CLIENTS));
    let (holder, other) = (holder?, other?);
    for (server, name) in [(FOLLOWER, OF_FOLLOWER), (PROGRAM, OWN)] {
        let asked = holder.request(server, name, EXCLUSIVE);
        holder.wait_for_grant("rule T3i (tokens.md)", asked)?;
    }
    let leaver = TestClient::log_in(&stand, CLIENTS)?;
    let queued = leaver.request(PROGRAM, OWN, EXCLUSIVE);
    leaver.peer().wait_until_read_by(PROGRAM)?;
    let waits = [(FOLLOWER, OF_FOLLOWER), (PROGRAM, OWN)]
        .map(|(server, name)| other.request(server, name, EXCLUSIVE));
    leaver.fall_silent();
    leaver.send(PROGRAM, Body::Logout)?;
    leaver.wait_for("rule S12 (sessions.md)", |received| {
        let is_config = matches!(received.datagram.body, Body::Config { .. });
        (is_config && received.server == PROGRAM && received.datagram.to == 0).then_some(())
    })?;
    holder.fall_silent();
    let last = ring_segment::now();
    holder.send(PROGRAM, Body::Alive)?;
    for msgnum in waits {
        let at = other.wait_for("rules S11 (sessions.md), F4 (leader.md)", |received| {
            super::test_client::granted(received, msgnum).map(|_| received.at)
        })?;
        ensure!(
            at >= last + CLIENT_TIMEOUT,
            "rule S11 (sessions.md): a session ends {:?} after its last message",
            at.saturating_sub(last)
        );
    }
    ensure!(
        !leaver.has_grant(queued),
        "rule S11 (sessions.md): a GRANT to a session that has logged out"
    );
    Ok(())
}

fn a_leader_without_a_quorum_serves_nothing_and_gives_up_an_unproven_number() -> Result<()> {
    let mut stand = start()?;
    let client = TestClient::log_in(&stand, CLIENTS)?;
    let number = stand.configuration()?;
    for server in others(PROGRAM) {
        stand.kill(server)?;
    }
    thread::sleep(SERVER_TIMEOUT * 3 / 4);
    let first_late = client.next_msgnum();
    let asked = client.request(PROGRAM, OWN, EXCLUSIVE);
    // The test plays a server that has died. Its number makes the leader raise its own number. No server acknowledges
    // the new number.
    let impostor = TestPeer::open(stand.servers(), FOLLOWER, PORT)?;
    let raised_at = ring_segment::now();
    let heartbeat = Body::Heartbeat {
        seq: i128::from(number + 4) << 32 | 1,
        state: READY,
    };
    impostor.send(PROGRAM, i64::try_from(FOLLOWER)?, heartbeat)?;
    let elect = stand.wait_for(
        PROGRAM,
        "rule L9 (leader.md): the leader gives up",
        |sent| match sent.datagram.body {
            Body::Elect { seq, .. } if sent.at > raised_at => Some((sent.at, seq)),
            _ => None,
        },
    )?;
    thread::sleep(SERVER_TIMEOUT);
    for received in client.peer().received() {
        if let Body::Confirm { msgnum } = received.datagram.body {
            ensure!(
                msgnum < first_late,
                "rules L6 (leader.md), S17 (sessions.md): CONFIRM of a renewal without authority"
            );
        }
    }
    ensure!(
        !client.has_grant(asked),
        "rules L6 (leader.md), T2 (tokens.md): a GRANT without authority"
    );
    let answers = [stand.sent_by(1)?, stand.sent_by(2)?].concat();
    let sent = stand.sent_by(PROGRAM)?;
    let is_acknowledged = |seq: &i128| answers.iter().any(|answer| is_heartbeat(answer, *seq));
    let newest = sent.iter().filter_map(seq_of).filter(is_acknowledged).max();
    ensure!(
        Some(elect.1) == newest,
        "rule L10 (leader.md): ELECT with the seq {:#x}, but the newest acknowledged round is {newest:x?}",
        elect.1
    );
    let exceeds = |it: &&Recorded| seq_of(it).is_some_and(|seq| seq >> 32 > i128::from(number + 4));
    ensure!(
        sent.iter().any(|it| exceeds(&it)),
        "rule L11 (leader.md): the leader does not exceed a larger number"
    );
    let leads = |it: &&Recorded| it.at > elect.0 && matches!(it.datagram.body, Body::State { .. });
    ensure!(
        !sent.iter().any(|it| leads(&it)),
        "rules E10 (elections.md), L9 (leader.md): STATE after the leader has given up"
    );
    Ok(())
}

fn a_follower_is_elected_when_the_leader_dies_and_keeps_the_sessions() -> Result<()> {
    // Of two servers with the same view, the server with the lower index is elected.
    const ELECTED: usize = 1;
    let mut stand = JudgedStand::start(ELECTED, 0, &[])?;
    let [holder, other] = [(); 2].map(|()| TestClient::log_in(&stand, CLIENTS));
    let (holder, other) = (holder?, other?);
    let asked = holder.request(FOLLOWER, OF_FOLLOWER, EXCLUSIVE);
    holder.wait_for_grant("rule T3i (tokens.md)", asked)?;
    let (dead, since) = kill_leaders_until_elected(&mut stand, ELECTED)?;
    let mut largest = 0;
    for server in others(ELECTED) {
        let sent = stand.sent_by(server)?.into_iter();
        let before = sent.filter(|it| it.at < since);
        largest = largest.max(
            before
                .filter_map(|it| seq_of(&it))
                .max()
                .unwrap_or_default(),
        );
    }
    let largest = largest >> 32;
    let elect = stand.wait_for(ELECTED, "rule E6 (elections.md)", |sent| {
        match sent.datagram.body {
            Body::Elect { seq, .. } if sent.at > since => Some(seq),
            _ => None,
        }
    })?;
    ensure!(
        elect >> 32 == largest,
        "rule E6 (elections.md): ELECT with the seq {elect:#x}, but the view has the number {largest}"
    );
    let first = stand.wait_for(ELECTED, "rule E17 (elections.md)", |sent| {
        match &sent.datagram.body {
            Body::State { seq, .. } if sent.at > since => Some((*seq, sent.datagram.body.clone())),
            _ => None,
        }
    })?;
    let number = first.0 >> 32;
    ensure!(
        number > largest && number - largest <= i128::try_from(SERVERS)?,
        "rules E17 (elections.md), N2 (numbers.md): the number {number} after {largest}"
    );
    let Body::State {
        states, clients, ..
    } = first.1
    else {
        bail!("the first message is no STATE");
    };
    ensure!(
        states[dead] == DOWN,
        "rule E18 (elections.md): the former leader is not DOWN in {states:?}"
    );
    ensure!(
        [&holder, &other]
            .iter()
            .all(|client| clients.iter().any(|it| it.0 == client.id())),
        "rule E18 (elections.md): a session is missing in {clients:?}"
    );
    let waits = other.request(FOLLOWER, OF_FOLLOWER, EXCLUSIVE);
    holder.wait_for_revoke("rules E18 (elections.md), S26 (sessions.md)", OF_FOLLOWER)?;
    ensure!(
        !other.has_grant(waits),
        "rule E18 (elections.md): a session lost its token"
    );
    let returned = holder.give_back(FOLLOWER, OF_FOLLOWER, "", DEASSIGN);
    holder.wait_for_confirm("rule T7e (tokens.md)", returned)?;
    other.wait_for_grant("rule T5 (tokens.md)", waits)?;
    Ok(())
}

/// Kills a leader, and starts it again if the third server is elected. Returns the server that died last, and the time
/// of its death.
fn kill_leaders_until_elected(stand: &mut JudgedStand, wanted: usize) -> Result<(usize, Duration)> {
    for _ in 0..DEATHS_MAX {
        let leader = stand.wait_until_served()?;
        stand.kill(leader)?;
        let since = ring_segment::now();
        if stand.servers().wait_until_served_by(&others(leader))? == wanted {
            return Ok((leader, since));
        }
        stand.restart(leader)?;
    }
    bail!(
        "rule E10 (elections.md): the program is not elected after {DEATHS_MAX} deaths of leaders"
    )
}

fn a_leader_that_was_cut_off_follows_the_new_leader() -> Result<()> {
    let stand = start()?;
    let client = TestClient::log_in(&stand, CLIENTS)?;
    stand.servers().segment().cut(PROGRAM)?;
    let next = stand.servers().wait_until_served_by(&others(PROGRAM))?;
    let asked = client.request(FOLLOWER, OF_FOLLOWER, EXCLUSIVE);
    client.wait_for_grant("rule T3i (tokens.md)", asked)?;
    let healed = ring_segment::now();
    stand.servers().segment().heal(PROGRAM)?;
    ensure!(
        stand.wait_until_served()? == next,
        "rules F4, L14 (leader.md): the leader has changed again after the end of the split"
    );
    stand.wait_for(PROGRAM, "rules F4, L9 (leader.md)", |sent| {
        let is_answer = matches!(sent.datagram.body, Body::Heartbeat { .. });
        (sent.at > healed && is_answer && sent.to == Some(next)).then_some(())
    })
}
