//! The level follower: the program follows a leader and serves tokens. It never needs to lead.

use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use ring_segment::{Test, tests};

use super::super::stand::SERVER_TIMEOUT;
use super::super::wire::{Body, Datagram};
use super::stand::{CLIENTS, JudgedStand};
use super::test_client::{DEASSIGN, EXCLUSIVE, SHARED, TestClient, UPDATE};
use super::test_peer::{Received, TestPeer};

const PROGRAM: usize = 2;
const LEADER: usize = 0;
/// Server that does not lead and is not the program under test.
const OTHER: usize = 1;
/// Number of rounds that the check of acknowledgements judges.
const ROUNDS: usize = 10;
// The names of tokens come from the test vectors in `docs/token-service/messages.md`.
/// Token of the program: the order of the servers is 2 0 1.
const OWN: &str = "swarm";
/// Another token of the program.
const SECOND: &str = "/srv/build/7/12.lock";
/// Token of [`OTHER`]: the order of the servers is 1 2 0.
const OF_OTHER: &str = "build cache";
/// Token of the leader: the order of the servers is 0 2 1.
const OF_LEADER: &str = "abc";
const DOWN: i64 = 0;
const BOOTING: i64 = 1;
const READY: i64 = 2;

pub(super) fn tests() -> Vec<Test> {
    tests![
        a_new_server_joins_and_acknowledges_every_round,
        strangers_get_one_short_config_and_invalid_datagrams_get_no_answer,
        only_the_responsible_server_grants_a_token,
        requests_are_granted_one_at_a_time_in_their_order,
        late_messages_of_a_client_change_nothing,
        sharers_hold_a_token_together_and_a_downgrade_counts_at_once,
        a_survey_finds_the_holder_of_a_token_whose_server_is_dead,
        a_restarted_server_asks_the_holders_before_it_serves,
        a_follower_ignores_the_state_of_another_leader,
        a_server_without_a_quorum_serves_no_token_and_does_not_lead,
    ]
}

fn start() -> Result<JudgedStand> {
    JudgedStand::start(PROGRAM, LEADER, &[])
}

fn a_new_server_joins_and_acknowledges_every_round() -> Result<()> {
    let stand = start()?;
    let rounds = |stand: &JudgedStand| -> Result<Vec<(Duration, i128, i64)>> {
        let sent = stand.sent_by(LEADER)?;
        let states = sent.into_iter().filter(|it| it.to == Some(PROGRAM));
        let round = states.filter_map(|it| match it.datagram.body {
            Body::State { seq, states, .. } => Some((it.at, seq, states[PROGRAM])),
            _ => None,
        });
        Ok(round.collect())
    };
    let first = rounds(&stand)?.len();
    while rounds(&stand)?.len() < first + ROUNDS {
        thread::sleep(Duration::from_millis(20));
    }
    let all = rounds(&stand)?;
    // The answer to the last round may still be on its way.
    for (at, seq, _) in &all[first..all.len() - 1] {
        stand.wait_for(PROGRAM, "rules F4 (leader.md), N7 (numbers.md)", |sent| {
            let is_answer =
                matches!(sent.datagram.body, Body::Heartbeat { seq: its, .. } if its == *seq);
            (is_answer && sent.at >= *at).then_some(())
        })?;
    }
    let sent = stand.sent_by(PROGRAM)?;
    let heartbeats = sent.iter().filter_map(|it| match it.datagram.body {
        Body::Heartbeat { state, .. } => Some((it.at, state)),
        _ => None,
    });
    for (at, state) in heartbeats {
        ensure!(
            at >= stand.started + SERVER_TIMEOUT,
            "rule E13 (elections.md): a HEARTBEAT within ST of the start"
        );
        let was_shown = |wanted| all.iter().any(|(then, _, it)| *then <= at && *it == wanted);
        ensure!(
            state != BOOTING || was_shown(DOWN),
            "rule F5 (leader.md): BOOTING before a STATE shows the server DOWN"
        );
        ensure!(
            state != READY || was_shown(BOOTING),
            "rule V7 (surveys.md): READY before a STATE shows the server BOOTING"
        );
    }
    Ok(())
}

fn strangers_get_one_short_config_and_invalid_datagrams_get_no_answer() -> Result<()> {
    let mut stand = start()?;
    let number = stand.configuration()?;
    let stranger = TestPeer::open(stand.servers(), CLIENTS, 0)?;
    // Each of these datagrams gets one answer.
    let request = || Body::Request {
        msgnum: 1,
        token: (OWN.into(), Vec::new()),
        access: EXCLUSIVE,
    };
    stranger.send(PROGRAM, 1 << 21, request())?;
    stranger.wait_until_read_by(PROGRAM)?;
    let answers = stranger.received();
    ensure!(
        answers.len() == 2,
        "rules D7 (conventions.md), S1 (sessions.md): {} answers to two datagrams",
        answers.len()
    );
    for answer in &answers {
        ensure!(
            answer.len <= 26 + 3,
            "rule D7 (conventions.md): an answer of {} bytes",
            answer.len
        );
        let Body::Config { leader, states } = &answer.datagram.body else {
            anyhow::bail!("rule D7 (conventions.md): {:?}", answer.datagram);
        };
        ensure!(
            (*leader, &states[..], answer.datagram.to) == (number, &[READY; 3], 0),
            "rules N1 (numbers.md), S1 (sessions.md): {:?}, not {number}",
            answer.datagram
        );
    }
    for bytes in invalid_datagrams(&stranger)? {
        stranger.send_bytes(PROGRAM, &bytes)?;
    }
    stranger.wait_until_read_by(PROGRAM)?;
    let count = stranger.received().len();
    ensure!(
        count == answers.len() + 1,
        "rules D2, D8 (conventions.md): {} answers to invalid datagrams",
        count - answers.len() - 1
    );
    stand.wait_until_served()?;
    ensure!(
        stand.configuration()? == number,
        "rule D2 (conventions.md): an invalid datagram changes the configuration"
    );
    Ok(())
}

/// Returns datagrams of a stranger that a server drops without an answer.
fn invalid_datagrams(stranger: &TestPeer) -> Result<Vec<Vec<u8>>> {
    let login = stranger.datagram(PROGRAM, 0, stranger.login()?)?;
    let whole = login.bytes()?;
    let with_p = |p: &str| Body::Login { p: p.into() };
    let of_a_server = |body| stranger.datagram(PROGRAM, 0, body)?.bytes();
    let seq = 1_i128 << 60;
    let token = (OWN.into(), Vec::new());
    let name = [b'n'; 1_025];
    let long_name = Body::Request {
        msgnum: 1,
        token: (name.into(), Vec::new()),
        access: EXCLUSIVE,
    };
    Ok(vec![
        Vec::new(),
        vec![0xff; 40],
        whole[..whole.len() - 1].to_vec(),
        [&whole[..], &[0]].concat(),
        // A negative length, and a length of 2^31 - 1.
        [&whole[..5], &[0x7f]].concat(),
        [&whole[..5], &[0xb0, 0x7f, 0xff, 0xff, 0xff]].concat(),
        Datagram {
            to: 0,
            ..login.clone()
        }
        .bytes()?,
        Datagram {
            ssig: (login.ssig + 1) & 0x1fff,
            ..login.clone()
        }
        .bytes()?,
        stranger.datagram(PROGRAM, 0, with_p("7301"))?.bytes()?,
        stranger.datagram(PROGRAM, 0, with_p(":host"))?.bytes()?,
        stranger.datagram(PROGRAM, 1 << 21, long_name)?.bytes()?,
        of_a_server(Body::Grant { msgnum: 1, token })?,
        of_a_server(Body::Heartbeat { seq, state: READY })?,
        of_a_server(Body::Elect { seq, leader: 1 })?,
        of_a_server(Body::State {
            seq,
            leader: 1 << 28,
            states: vec![READY; 3],
            clients: Vec::new(),
        })?,
    ])
}

fn only_the_responsible_server_grants_a_token() -> Result<()> {
    let stand = start()?;
    let client = TestClient::log_in(&stand, CLIENTS)?;
    for name in [OF_OTHER, OF_LEADER] {
        let msgnum = client.next_msgnum();
        let token = (name.into(), Vec::new());
        let access = EXCLUSIVE;
        let before = client.peer().received().len();
        client.send(
            PROGRAM,
            Body::Request {
                msgnum,
                token,
                access,
            },
        )?;
        client.peer().wait_until_read_by(PROGRAM)?;
        let received = client.peer().received();
        let answers = received[before..].iter().filter(|it| it.server == PROGRAM);
        let is_config =
            |it: &&Received| matches!(it.datagram.body, Body::Config { .. }) && it.datagram.to == 0;
        let configs = answers.clone().filter(is_config).count();
        // One CONFIG answers REQUEST, and another CONFIG answers LOGIN.
        ensure!(
            configs == 2 && answers.count() == 2,
            "rules K1 (surveys.md), T2 (tokens.md): a REQUEST for the token of another server gets no CONFIG"
        );
        ensure!(
            !client.has_grant(msgnum),
            "rule K1 (surveys.md): a GRANT of the token of another server"
        );
    }
    for name in [OWN, SECOND] {
        let msgnum = client.request(PROGRAM, name, EXCLUSIVE);
        client.wait_for_grant("rules K1 (surveys.md), T3i (tokens.md)", msgnum)?;
    }
    Ok(())
}

fn requests_are_granted_one_at_a_time_in_their_order() -> Result<()> {
    let stand = start()?;
    let [first, second, third] = [(); 3].map(|()| TestClient::log_in(&stand, CLIENTS));
    let (first, second, third) = (first?, second?, third?);
    let asked = first.request(PROGRAM, OWN, EXCLUSIVE);
    let before = first.wait_for_grant("rules T3i, T5 (tokens.md)", asked)?;
    let waits = second.request(PROGRAM, OWN, EXCLUSIVE);
    first.wait_for_revoke("rule T6 (tokens.md)", OWN)?;
    second.peer().wait_until_read_by(PROGRAM)?;
    let last = third.request(PROGRAM, OWN, EXCLUSIVE);
    third.peer().wait_until_read_by(PROGRAM)?;
    first.wait_for_revokes("rule T6 (tokens.md): REVOKE is repeated", 3)?;
    ensure!(
        !second.has_grant(waits) && !third.has_grant(last),
        "rule T5 (tokens.md): a GRANT for a token that another session holds exclusively"
    );
    let returned = first.give_back(PROGRAM, OWN, "new", UPDATE | DEASSIGN);
    first.wait_for_confirm("rule T7e (tokens.md)", returned)?;
    let grant = second.wait_for_grant("rule T5 (tokens.md)", waits)?;
    grant.check_data("rule T7e (tokens.md)", "new")?;
    grant.check_fence_after("rules N13, N14 (numbers.md)", &before)?;
    third.peer().wait_until_read_by(PROGRAM)?;
    ensure!(
        !third.has_grant(last),
        "rule T5 (tokens.md): two exclusive holders"
    );
    let returned = second.give_back(PROGRAM, OWN, "", DEASSIGN);
    second.wait_for_confirm("rule T7e (tokens.md)", returned)?;
    let next = third.wait_for_grant("rule T5 (tokens.md)", last)?;
    next.check_data("rule T7e (tokens.md)", "new")?;
    next.check_fence_after("rule N14 (numbers.md)", &grant)
}

fn late_messages_of_a_client_change_nothing() -> Result<()> {
    let stand = start()?;
    let [client, other] = [(); 2].map(|()| TestClient::log_in(&stand, CLIENTS));
    let (client, other) = (client?, other?);
    let early = client.next_msgnum();
    let asked = client.request(PROGRAM, OWN, EXCLUSIVE);
    let grant = client.wait_for_grant("rule T3i (tokens.md)", asked)?;
    let request = |msgnum| Body::Request {
        msgnum,
        token: (OWN.into(), b"fence".to_vec()),
        access: EXCLUSIVE,
    };
    client.send(PROGRAM, request(asked))?;
    client.wait_for_grants("rule T3e (tokens.md): a repeated REQUEST", asked, 2)?;
    ensure!(
        client.grants(asked).iter().all(|again| *again == grant),
        "rule N14 (numbers.md): a repeated GRANT differs from the first"
    );
    client.send(PROGRAM, request(early))?;
    client.peer().wait_until_read_by(PROGRAM)?;
    ensure!(
        !client.has_grant(early),
        "rule T3f (tokens.md): a GRANT for a late REQUEST"
    );
    let late = Body::Return {
        msgnum: early,
        token: (OWN.into(), b"late".to_vec()),
        flags: UPDATE | DEASSIGN,
    };
    client.send(PROGRAM, late)?;
    client.wait_for_confirm("rule T7c (tokens.md): CONFIRM of a late RETURN", early)?;
    let unknown = client.give_back(PROGRAM, SECOND, "", DEASSIGN);
    client.wait_for_confirm("rule T7b (tokens.md): CONFIRM of an unknown token", unknown)?;
    let waits = other.request(PROGRAM, OWN, EXCLUSIVE);
    client.wait_for_revoke("rule T6 (tokens.md)", OWN)?;
    ensure!(
        !other.has_grant(waits),
        "rule T7c (tokens.md): a late RETURN releases the token"
    );
    let passed = client.next_msgnum();
    let returned = client.give_back(PROGRAM, OWN, "", DEASSIGN);
    client.wait_for_confirm("rule T7e (tokens.md)", returned)?;
    let next = other.wait_for_grant("rule T5 (tokens.md)", waits)?;
    ensure!(
        next.data.is_empty(),
        "rule T7c (tokens.md): a late RETURN changes the data"
    );
    client.send(PROGRAM, request(passed))?;
    client.peer().wait_until_read_by(PROGRAM)?;
    other.peer().wait_until_read_by(PROGRAM)?;
    ensure!(
        other.revokes() == 0,
        "rule T3c (tokens.md): a REQUEST below `returned` enters the queue"
    );
    Ok(())
}

fn sharers_hold_a_token_together_and_a_downgrade_counts_at_once() -> Result<()> {
    let stand = start()?;
    let [first, second, third] = [(); 3].map(|()| TestClient::log_in(&stand, CLIENTS));
    let (first, second, third) = (first?, second?, third?);
    for client in [&first, &second] {
        let asked = client.request(PROGRAM, OWN, SHARED);
        client.wait_for_grant("rule T5 (tokens.md): sharers", asked)?;
    }
    let upgrade = first.request(PROGRAM, OWN, EXCLUSIVE);
    second.wait_for_revoke("rule T6 (tokens.md)", OWN)?;
    ensure!(
        !first.has_grant(upgrade) && first.revokes() == 0,
        "rules T4, T6 (tokens.md): an upgrade waits for the other holder"
    );
    let returned = second.give_back(PROGRAM, OWN, "", DEASSIGN);
    second.wait_for_confirm("rule T7e (tokens.md)", returned)?;
    first.wait_for_grant("rules T4, T5 (tokens.md): an upgrade", upgrade)?;
    let waits = third.request(PROGRAM, OWN, SHARED);
    first.wait_for_revoke("rule T6 (tokens.md)", OWN)?;
    let downgrade = first.request(PROGRAM, OWN, SHARED);
    first.wait_for_grant("rule T4 (tokens.md): a downgrade", downgrade)?;
    third.wait_for_grant("rule T4 (tokens.md): others join after a downgrade", waits)?;
    Ok(())
}

fn a_survey_finds_the_holder_of_a_token_whose_server_is_dead() -> Result<()> {
    let mut stand = start()?;
    let [holder, other] = [(); 2].map(|()| TestClient::log_in(&stand, CLIENTS));
    let (holder, other) = (holder?, other?);
    let asked = holder.request(OTHER, OF_OTHER, EXCLUSIVE);
    let before = holder.wait_for_grant("rule T3i (tokens.md)", asked)?;
    let updated = holder.give_back(OTHER, OF_OTHER, "held", UPDATE);
    holder.wait_for_confirm("rule T7e (tokens.md)", updated)?;
    stand.kill(OTHER)?;
    let waits = other.request(PROGRAM, OF_OTHER, EXCLUSIVE);
    holder.wait_for_revoke("rules V1, V10 (surveys.md)", OF_OTHER)?;
    let id = holder.id();
    let was_asked = |received: &Received| {
        let is_config = matches!(received.datagram.body, Body::Config { .. });
        is_config && received.server == PROGRAM && received.datagram.to == id
    };
    ensure!(
        holder.peer().received().iter().any(was_asked),
        "rule V1 (surveys.md): the program does not ask the session"
    );
    ensure!(
        !other.has_grant(waits),
        "rule V10 (surveys.md): a GRANT although a client claims the token"
    );
    let returned = holder.give_back(PROGRAM, OF_OTHER, "", DEASSIGN);
    holder.wait_for_confirm("rules V15 (surveys.md), T7e (tokens.md)", returned)?;
    let grant = other.wait_for_grant("rule T5 (tokens.md)", waits)?;
    grant.check_data("rule V13 (surveys.md)", "held")?;
    grant.check_fence_after("rule N13 (numbers.md)", &before)
}

fn a_restarted_server_asks_the_holders_before_it_serves() -> Result<()> {
    let mut stand = start()?;
    let [holder, other] = [(); 2].map(|()| TestClient::log_in(&stand, CLIENTS));
    let (holder, other) = (holder?, other?);
    let asked = holder.request(PROGRAM, OWN, EXCLUSIVE);
    let before = holder.wait_for_grant("rule T3i (tokens.md)", asked)?;
    let restarted = ring_segment::now();
    stand.kill(PROGRAM)?;
    stand.restart(PROGRAM)?;
    let state = stand.wait_for(PROGRAM, "rule F4 (leader.md)", |sent| {
        match sent.datagram.body {
            Body::Heartbeat { state, .. } if sent.at > restarted => Some(state),
            _ => None,
        }
    })?;
    ensure!(
        state != READY,
        "rules F5, F6 (leader.md): READY directly after a start"
    );
    stand.wait_until_served()?;
    let sent = stand.sent_by(LEADER)?;
    // The last TRANSFER belongs to the configuration under which the program became READY.
    let last = sent.iter().rev().find_map(|sent| match sent.datagram.body {
        Body::Transfer { msgnum, part, .. } if sent.to == Some(PROGRAM) => Some((msgnum, part)),
        _ => None,
    });
    let (msgnum, part) = last.context("the leader sends a TRANSFER")?;
    stand.wait_for(PROGRAM, "rule K8 (surveys.md)", |sent| {
        (sent.datagram.body == Body::Transferred { msgnum, part }).then_some(())
    })?;
    let waits = other.request(PROGRAM, OWN, EXCLUSIVE);
    holder.wait_for_revoke("rules V9, V10 (surveys.md)", OWN)?;
    ensure!(
        !other.has_grant(waits),
        "rule V9 (surveys.md): a GRANT of a token that a client holds"
    );
    let returned = holder.give_back(PROGRAM, OWN, "", DEASSIGN);
    holder.wait_for_confirm("rule T7e (tokens.md)", returned)?;
    let grant = other.wait_for_grant("rule T5 (tokens.md)", waits)?;
    grant.check_fence_after("rule N13 (numbers.md), promise Q4", &before)
}

/// The test plays a server that has died: it sends STATE from the address of this server.
fn a_follower_ignores_the_state_of_another_leader() -> Result<()> {
    let mut stand = start()?;
    stand.kill(OTHER)?;
    let number = stand.configuration()?;
    let impostor = TestPeer::open(stand.servers(), OTHER, super::super::stand::PORT)?;
    let state = |leader: i64, seq: i128| Body::State {
        seq,
        leader,
        states: vec![READY; 3],
        clients: Vec::new(),
    };
    let seq_of = |number: i64| i128::from(number) << 32 | 1 << 31 | 1;
    // The leader has index 0, so the next number of the impostor is the configuration + 1, and later numbers follow.
    let numbers = [number + 4, number + 7];
    let since = ring_segment::now();
    for (leader, seq) in [
        (numbers[0], seq_of(numbers[0])),
        (numbers[1], seq_of(numbers[1])),
        (numbers[0], seq_of(numbers[1])),
        (number + 5, seq_of(number + 5)),
    ] {
        impostor.send(PROGRAM, 1, state(leader, seq))?;
    }
    impostor.wait_until_read_by(PROGRAM)?;
    for received in impostor.received() {
        let Body::Config { leader, .. } = received.datagram.body else {
            anyhow::bail!(
                "rules F1 (leader.md), N8 (numbers.md): an answer to the STATE of another leader: {:?}",
                received.datagram
            );
        };
        ensure!(
            leader < numbers[0] && leader % 3 == 0,
            "rules F1 (leader.md), N8 (numbers.md): the program follows the configuration {leader}"
        );
    }
    // The program still follows its leader.
    let round = stand.wait_for(LEADER, "rule L1 (leader.md)", |sent| {
        match sent.datagram.body {
            Body::State { seq, .. } if sent.at > since && sent.to == Some(PROGRAM) => Some(seq),
            _ => None,
        }
    })?;
    stand.wait_for(PROGRAM, "rules F1, F4 (leader.md)", |sent| {
        let Body::Heartbeat { seq, .. } = sent.datagram.body else {
            return None;
        };
        let is_answer = seq >= round && seq >> 32 < i128::from(numbers[0]);
        (is_answer && sent.to == Some(LEADER)).then_some(())
    })
}

/// The program gets no STATE after the death of both other servers.
fn a_server_without_a_quorum_serves_no_token_and_does_not_lead() -> Result<()> {
    let mut stand = start()?;
    let client = TestClient::log_in(&stand, CLIENTS)?;
    let asked = client.request(PROGRAM, OWN, EXCLUSIVE);
    client.wait_for_grant("rule T3i (tokens.md)", asked)?;
    for server in [LEADER, OTHER] {
        stand.kill(server)?;
    }
    thread::sleep(SERVER_TIMEOUT);
    let since = ring_segment::now();
    let late = client.request(PROGRAM, SECOND, EXCLUSIVE);
    // This time is long enough for several elections.
    thread::sleep(SERVER_TIMEOUT);
    ensure!(
        !client.has_grant(late),
        "rules F8 (leader.md), E3 (elections.md): a GRANT more than ST after the last STATE"
    );
    for sent in stand
        .sent_by(PROGRAM)?
        .iter()
        .filter(|sent| sent.at > since)
    {
        ensure!(
            !matches!(sent.datagram.body, Body::State { .. }),
            "rule E10 (elections.md): the program leads without a quorum"
        );
        ensure!(
            !matches!(sent.datagram.body, Body::Config { .. }),
            "rules S1 (sessions.md), D7 (conventions.md): an electing server answers a client"
        );
    }
    Ok(())
}
