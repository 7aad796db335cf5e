//! Clients whose keys permit only some tokens, and clients with wrong keys.

use anyhow::{Result, ensure};
use ring_segment::{Test, WAIT_LIMIT, key_line, tests};

use super::{CLIENT_KEY, KeyStand, SERVERS, client_line};

pub(super) fn tests() -> Vec<Test> {
    tests![
        a_client_takes_only_the_tokens_that_its_key_permits,
        a_client_with_a_wrong_key_gets_a_reason,
        a_server_with_a_key_of_a_client_is_ignored,
        servers_that_start_again_learn_what_a_client_holds,
    ]
}

fn a_client_takes_only_the_tokens_that_its_key_permits() -> Result<()> {
    let mut stand = KeyStand::new(SERVERS + 1, &[1])?;
    stand.wait_for_key(1)?;
    let own = Some("client.keys");
    let data = "x".repeat(20_000);
    stand.expect(own, &["set", "backup/home", &data], 0, &[])?;
    let read = stand.output(own, &["get", "backup/home"])?;
    ensure!(read.stdout == data.as_bytes(), "{read:?}");
    let reason = ["key 20 does not permit", "'index'", "held load backup/*"];
    for command in [&["set", "index", "x"][..], &["run", "index", "--", "true"]] {
        stand.expect(own, command, 2, &reason)?;
    }
    // This client ignores the names that its key permits, but the servers do not.
    stand.write_client_file("all.keys", &client_line(CLIENT_KEY, ""))?;
    let all = Some("all.keys");
    for data in ["x", &data] {
        stand.expect(all, &["set", "-w", "1", "index", data], 1, &["not granted"])?;
    }
    let denied = "for the token 'index': its key 20 permits only held load backup/*";
    let logs = (0..SERVERS).map(|index| stand.servers.server(index).output());
    let logs: Vec<String> = logs.flatten().collect();
    ensure!(logs.iter().any(|line| line.contains(denied)), "{logs:#?}");
    let listed = stand.output(own, &["list"])?;
    let listed = String::from_utf8(listed.stdout)?;
    ensure!(
        listed.contains("backup/home") && !listed.contains("index"),
        "{listed}"
    );
    // The servers' key permits all tokens.
    stand.write_client_file("ring.keys", &key_line(1))?;
    stand.expect(Some("ring.keys"), &["set", "index", "x"], 0, &[])
}

fn a_client_with_a_wrong_key_gets_a_reason() -> Result<()> {
    let mut stand = KeyStand::new(SERVERS + 1, &[1])?;
    stand.wait_for_key(1)?;
    let digits = key_line(9).replacen('9', "20", 1);
    let short = key_line(CLIENT_KEY).replacen("14", "", 1);
    for (name, lines) in [("digits", &digits), ("id", &key_line(9)), ("short", &short)] {
        stand.write_client_file(&format!("{name}.keys"), lines)?;
    }
    let get = ["get", "-w", "1", "held"];
    for (file, key) in [("digits.keys", "key 20"), ("id.keys", "key 9")] {
        stand.expect(Some(file), &get, 3, &["no answer from 3 servers", key])?;
    }
    stand.expect(None, &get, 3, &["no answer", "without a key"])?;
    let run = ["run", "-w", "1", "held", "--", "true"];
    stand.expect(Some("digits.keys"), &run, 3, &["the key 20"])?;
    let refused = [
        "cannot use the key file",
        "line 1, column 4",
        "ringd keygen",
    ];
    stand.expect(Some("short.keys"), &get, 2, &refused)?;
    stand.expect(
        Some("missing.keys"),
        &get,
        2,
        &["missing.keys", "make the file"],
    )?;
    let servers = KeyStand::new(SERVERS + 1, &[])?;
    servers.servers.wait_until_served_by(&[0, 1, 2])?;
    let unsigned = ["answers without a valid signature", "key 20"];
    servers.expect(Some("client.keys"), &get, 3, &unsigned)
}

fn a_server_with_a_key_of_a_client_is_ignored() -> Result<()> {
    let mut stand = KeyStand::new(SERVERS + 1, &[1])?;
    let leader = stand.wait_for_key(1)?;
    let other = (leader + 1) % SERVERS;
    let own = stand.file(&format!("{other}.keys"));
    std::fs::write(own, key_line(CLIENT_KEY))?;
    std::fs::write(stand.file(&format!("{other}.clients")), key_line(7))?;
    let server = stand.servers.server(other);
    server.kill()?;
    server.start()?;
    server.wait_for_line(WAIT_LIMIT, |line| line.contains("signs with key 20"))?;
    let leads = stand.servers.server(leader);
    leads.wait_for_status(WAIT_LIMIT, |status| {
        status["servers"][other]["state"] == "DOWN"
            && status["counters"]["unproven.unknown_key"].as_u64() > Some(5)
    })?;
    // The other two servers have a quorum.
    stand.expect(Some("client.keys"), &["set", "held", "x"], 0, &[])
}

/// Servers that start again do not know the key of the client. The data of its token are longer than a datagram.
fn servers_that_start_again_learn_what_a_client_holds() -> Result<()> {
    let mut stand = KeyStand::new(SERVERS + 1, &[1])?;
    stand.wait_for_key(1)?;
    let own = Some("client.keys");
    stand.expect(own, &["set", "held", &"x".repeat(20_000)], 0, &[])?;
    let _hold = stand.hold(own, "held")?;
    for index in 0..SERVERS {
        let server = stand.servers.server(index);
        server.kill()?;
        server.start()?;
        stand.servers.wait_until_served_by(&[0, 1, 2])?;
        stand.expect(own, &["set", "-w", "1", "held", "y"], 1, &["not granted"])?;
    }
    Ok(())
}
