//! The level full: the program also survives faults and restarts, leaves as planned, and handles long messages.

use std::collections::BTreeMap;
use std::thread;

use anyhow::{Context, Result, bail, ensure};
use ring_segment::{Test, WAIT_LIMIT, tests};
use serde_json::Value;

use super::super::load;
use super::super::stand::{HEARTBEAT, PORT, SERVER_TIMEOUT, ServerStand};
use super::super::wire::{Body, Datagram};
use super::stand::{CLIENTS, JudgedStand};
use super::test_client::{DEASSIGN, EXCLUSIVE, SHARED, TestClient, UPDATE};
use super::test_peer::TestPeer;
use super::wait_until;

const PROGRAM: usize = 2;
const LEADER: usize = 0;
const OTHER: usize = 1;
/// Token of the program: the order of the servers is 2 0 1.
const OWN: &str = "swarm";
/// Token of [`OTHER`]: the order of the servers is 1 2 0.
const OF_OTHER: &str = "build cache";
/// CT of the stand in microseconds.
const CLIENT_TIMEOUT_MICROS: i64 = 10_000_000;
const STARTS: usize = 3;
const PART_LEN: usize = 1_156;
const DATAGRAM_LEN_MAX: usize = 1_188;
const DOWN: i64 = 0;
const READY: i64 = 2;

pub(super) fn tests() -> Vec<Test> {
    tests![
        clients_share_one_token_safely_while_servers_and_clients_crash,
        a_leaving_server_hands_over_its_tokens_with_their_data,
        a_server_keeps_the_tokens_of_a_leaving_server,
        long_data_arrive_and_leave_in_parts,
        a_restarted_server_continues_from_its_stored_number,
        a_forged_number_raises_the_configuration_only_up_to_the_bound,
        options_are_announced_and_tokens_are_listed,
    ]
}

/// The log of the work shows violated promises. The judge of the recorded datagrams names a violated rule.
fn clients_share_one_token_safely_while_servers_and_clients_crash() -> Result<()> {
    load::survive_losses().context("promises Q1, Q2, Q4, Q7, Q8 (promises.md)")
}

/// Stores data in a free token of a server.
fn store(client: &TestClient, server: usize, name: &str, data: &str) -> Result<()> {
    let asked = client.request(server, name, EXCLUSIVE);
    client.wait_for_grant("rule T3i (tokens.md)", asked)?;
    let returned = client.give_back(server, name, data, UPDATE | DEASSIGN);
    client.wait_for_confirm("rule T7e (tokens.md)", returned)?;
    Ok(())
}

/// Checks that the successor of a server that leaves grants the token with its data.
fn expect_stored(client: &TestClient, server: usize, name: &str, data: &str) -> Result<()> {
    let asked = client.request(server, name, EXCLUSIVE);
    let grant = client.wait_for_grant("rule G9 (leaving.md)", asked)?;
    grant.check_data("rules G2, G8 (leaving.md)", data)
}

fn a_leaving_server_hands_over_its_tokens_with_their_data() -> Result<()> {
    let mut stand = JudgedStand::start(PROGRAM, LEADER, &[])?;
    let client = TestClient::log_in(&stand, CLIENTS)?;
    store(&client, PROGRAM, OWN, "kept")?;
    stand
        .leave(PROGRAM, WAIT_LIMIT)
        .context("rule G6 (leaving.md)")?;
    expect_stored(&client, LEADER, OWN, "kept")?;
    let sent = stand.sent_by(PROGRAM)?;
    let transfer = sent.iter().rposition(
        |sent| matches!(sent.datagram.body, Body::Transfer { msgnum, .. } if msgnum < 0),
    );
    let down = sent.iter().rposition(
        |sent| matches!(sent.datagram.body, Body::Heartbeat { state, .. } if state == DOWN),
    );
    ensure!(
        transfer.is_some() && transfer < down,
        "rules G2, G5 (leaving.md): HEARTBEAT(DOWN) does not follow a TRANSFER"
    );
    Ok(())
}

fn a_server_keeps_the_tokens_of_a_leaving_server() -> Result<()> {
    let mut stand = JudgedStand::start(PROGRAM, LEADER, &[])?;
    let client = TestClient::log_in(&stand, CLIENTS)?;
    store(&client, OTHER, OF_OTHER, "kept")?;
    stand.leave(OTHER, WAIT_LIMIT)?;
    expect_stored(&client, PROGRAM, OF_OTHER, "kept")
}

fn long_data_arrive_and_leave_in_parts() -> Result<()> {
    let stand = JudgedStand::start(PROGRAM, LEADER, &[])?;
    let client = TestClient::log_in(&stand, CLIENTS)?;
    let asked = client.request(PROGRAM, OWN, EXCLUSIVE);
    client.wait_for_grant("rule T3i (tokens.md)", asked)?;
    let data = "long data ".repeat(300);
    let msgnum = client.next_msgnum();
    let message = Body::Return {
        msgnum,
        token: (OWN.into(), data.clone().into()),
        flags: UPDATE | DEASSIGN,
    };
    let message = client.peer().datagram(PROGRAM, client.id(), message)?;
    let bytes = message.bytes()?;
    let pieces: Vec<&[u8]> = bytes.chunks(PART_LEN).collect();
    let parts = i64::try_from(pieces.len())?;
    // The parts arrive in reverse order, and the last part arrives twice.
    let mut arrived = 0_u8;
    for part in [2, 2, 1, 0] {
        let content = 77;
        client.send(
            PROGRAM,
            Body::Part {
                content,
                part: i64::try_from(part)?,
                parts,
                bytes: pieces[part].to_vec(),
            },
        )?;
        arrived |= 1 << part;
        let came = if arrived == 0b111 {
            vec![]
        } else {
            vec![arrived]
        };
        let answer = Body::Parted { content, came };
        client.wait_for("rule P4 (messages-in-parts.md)", |received| {
            (received.datagram.body == answer).then_some(())
        })?;
    }
    client.wait_for_confirm("rule P5 (messages-in-parts.md)", msgnum)?;
    let other = TestClient::log_in(&stand, CLIENTS)?;
    let asked = other.request(PROGRAM, OWN, EXCLUSIVE);
    let mut whole = None;
    wait_until("rules P2, P7 (messages-in-parts.md)", || {
        whole = joined(&other);
        whole.is_some()
    })?;
    for received in other.peer().received() {
        ensure!(
            received.len <= DATAGRAM_LEN_MAX,
            "rule P1 (messages-in-parts.md): a datagram of {} bytes",
            received.len
        );
        if let Body::Part {
            part, parts, bytes, ..
        } = &received.datagram.body
        {
            ensure!(
                bytes.len() == PART_LEN || part + 1 == *parts,
                "rule P2 (messages-in-parts.md): a piece of {} bytes",
                bytes.len()
            );
        }
    }
    let whole = Datagram::read(&whole.context("all parts have arrived")?)?;
    let Body::Grant { msgnum, token } = whole.body else {
        bail!("rule P2 (messages-in-parts.md): {whole:?}");
    };
    ensure!(
        msgnum == asked && token.1.ends_with(data.as_bytes()),
        "rules P2, P5 (messages-in-parts.md): the data of the GRANT differ"
    );
    Ok(())
}

/// Returns the first message of which all parts have arrived.
fn joined(client: &TestClient) -> Option<Vec<u8>> {
    let mut messages: BTreeMap<i64, BTreeMap<i64, Vec<u8>>> = BTreeMap::new();
    for received in client.peer().received() {
        if let Body::Part {
            content,
            part,
            parts,
            bytes,
        } = received.datagram.body
        {
            let pieces = messages.entry(content).or_default();
            pieces.insert(part, bytes);
            if i64::try_from(pieces.len()).ok() == Some(parts) {
                return Some(pieces.values().flatten().copied().collect());
            }
        }
    }
    None
}

/// The check ends while the number that follows from the clock is still smaller than the stored number. So only the
/// store keeps the number from becoming smaller.
fn a_restarted_server_continues_from_its_stored_number() -> Result<()> {
    let mut stand = ServerStand::without_servers(2, 1)?;
    stand.judge(0);
    stand.start(0, &[])?;
    let mut last = 0;
    for _ in 0..STARTS {
        // This is a new socket, so that the answers to an earlier start do not count.
        let stranger = TestPeer::open(&stand, 1, 0)?;
        let mut number = None;
        wait_until("rule S1 (sessions.md): the answer to LOGIN", || {
            let sent = stranger
                .login()
                .and_then(|login| stranger.send(0, 0, login));
            let inbox = stranger.received();
            number = inbox.iter().find_map(|it| match it.datagram.body {
                Body::Config { leader, .. } => Some(leader),
                _ => None,
            });
            sent.is_err() || number.is_some()
        })?;
        let number = number.context("the socket of the test has failed")?;
        ensure!(
            number > last,
            "rule N5 (numbers.md): the configuration {number} after {last}"
        );
        last = number;
        stand.server(0).kill()?;
        stand.server(0).start()?;
    }
    Ok(())
}

/// The test plays a server that has died: it sends HEARTBEAT from the address of this server.
fn a_forged_number_raises_the_configuration_only_up_to_the_bound() -> Result<()> {
    const STEP: i64 = 3 * 162_000;
    const SPARE: i64 = 3 * 1_024;
    // The program leads.
    let mut stand = JudgedStand::start(0, 0, &[])?;
    stand.kill(OTHER)?;
    // The program computes the bound again every HB. The bound that the program computed at its start allows no step
    // above its present number.
    thread::sleep(2 * HEARTBEAT);
    let impostor = TestPeer::open(stand.servers(), OTHER, PORT)?;
    let heartbeat = |number: i64| Body::Heartbeat {
        seq: i128::from(number) << 32 | 1 << 31 | 1,
        state: READY,
    };
    // Returns the configuration number with which the program answers LOGIN.
    let number = |impostor: &TestPeer| -> Result<i64> {
        impostor.wait_until_read_by(0)?;
        let answers = impostor.received();
        let numbers = answers.iter().filter_map(|it| match it.datagram.body {
            Body::Config { leader, .. } => Some(leader),
            _ => None,
        });
        numbers.max().context("no CONFIG")
    };
    let first = number(&impostor)?;
    impostor.send(0, 1, heartbeat(first + 7))?;
    let exceeded = number(&impostor)?;
    ensure!(
        exceeded > first + 7 && exceeded <= first + 7 + 3 && exceeded % 3 == 0,
        "rules L11, L15a (leader.md): the number {exceeded} after a HEARTBEAT with {}",
        first + 7
    );
    impostor.send(0, 1, heartbeat(1 << 50))?;
    let ignored = number(&impostor)?;
    // The leader may have marked the dead server DOWN at this time, under its next number.
    ensure!(
        ignored <= exceeded + 3,
        "rule N12 (numbers.md): the number {ignored} after a HEARTBEAT with 2^50"
    );
    impostor.send(0, 1, heartbeat(1 << 31))?;
    let bounded = number(&impostor)?;
    ensure!(
        bounded > ignored + STEP / 2 && bounded <= ignored + STEP + SPARE + 3,
        "rules N10, N11 (numbers.md): the number {bounded} after {ignored}"
    );
    Ok(())
}

fn options_are_announced_and_tokens_are_listed() -> Result<()> {
    let stand = JudgedStand::start(PROGRAM, LEADER, &[])?;
    let client = TestClient::log_in(&stand, CLIENTS)?;
    let asked = client.request(PROGRAM, OWN, EXCLUSIVE);
    client.wait_for_grant("rule T3i (tokens.md)", asked)?;
    let empty = |msgnum, text: &str, access| Body::Request {
        msgnum,
        token: (Vec::new(), text.into()),
        access,
    };
    client.send(PROGRAM, empty(client.next_msgnum(), "a worker", EXCLUSIVE))?;
    let msgnum = client.next_msgnum();
    client.send(PROGRAM, empty(msgnum, "", SHARED))?;
    let page = client.wait_for("rule I1 (tokens.md)", |received| {
        match &received.datagram.body {
            Body::Grant { msgnum: its, token } if *its == msgnum => Some(token.1.clone()),
            _ => None,
        }
    })?;
    let page: Value = serde_json::from_slice(&page).context("rule I3 (tokens.md)")?;
    let token = &page["tokens"][0];
    // The name in hexadecimal digits.
    let name: Vec<String> = OWN.bytes().map(|byte| format!("{byte:02x}")).collect();
    let name = name.concat();
    ensure!(
        page["next"].is_null() && page.get("quorum").is_none() && token["name"] == *name,
        "rules I2, I3 (tokens.md): {page}"
    );
    ensure!(
        token["access"] == EXCLUSIVE && token["holders"][0] == client.id() && token["bytes"] == 0,
        "rule I4 (tokens.md): {page}"
    );
    ensure!(
        token["programs"][0]["program"] == "a worker",
        "rules C4 (conventions.md), I4 (tokens.md): {page}"
    );
    let micros = |time: std::time::Duration| i64::try_from(time.as_micros());
    let quorum = 2;
    let terms = [
        CLIENT_TIMEOUT_MICROS,
        quorum,
        micros(HEARTBEAT)?,
        micros(SERVER_TIMEOUT)?,
        0,
    ];
    let stranger = TestPeer::open(stand.servers(), CLIENTS, 0)?;
    stranger.wait_until_read_by(PROGRAM)?;
    for sent in stand.sent_by(PROGRAM)? {
        let wanted = match sent.datagram.body {
            Body::State { .. } | Body::Heartbeat { .. } | Body::Elect { .. } => &terms[..],
            Body::Config { .. } => &terms[..2],
            _ => continue,
        };
        ensure!(
            sent.datagram.terms == wanted,
            "rules O11, O12 (conventions.md): {:?} instead of {wanted:?} in {:?}",
            sent.datagram.terms,
            sent.datagram.body
        );
    }
    Ok(())
}
