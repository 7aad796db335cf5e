//! A recording of servers and clients, for the dissector of Wireshark.

use std::process::{Child, Command, Stdio};

use anyhow::{Result, ensure};
use ring_segment::{Test, binaries, limit, tests};

use super::stand::{PORT, ServerStand};
use crate::record::Record;
use crate::wireshark::check_token_service;

pub(super) fn tests() -> Vec<Test> {
    tests![datagrams_of_servers_are_dissected_as_the_codec_decodes_them]
}

/// The first byte of a REVOKE.
const REVOKE: u8 = 23;
const CLIENT_NODE: usize = 3;

/// Starts a client on the node without a server.
fn client(stand: &ServerStand, arguments: &[&str]) -> Result<Child> {
    let mut command = Command::new(binaries().ringctl);
    command.arg("token").arg("--servers").arg(stand.list());
    command.args(arguments).stdin(Stdio::piped());
    stand.segment().node(CLIENT_NODE).ns().spawn(&mut command)
}

fn run(stand: &ServerStand, arguments: &[&str]) -> Result<()> {
    let status = client(stand, arguments)?.wait()?;
    ensure!(status.success(), "ringctl token {arguments:?}: {status}");
    Ok(())
}

fn datagrams_of_servers_are_dissected_as_the_codec_decodes_them() -> Result<()> {
    let mut stand = ServerStand::without_servers(4, 3)?;
    let record = Record::start(stand.segment())?;
    for index in 0..3 {
        stand.start(index, &[])?;
    }
    let leader = stand.wait_until_served_by(&[0, 1, 2])?;
    let held = stand.folder().join("held");
    let mark = format!("touch {}; exec cat", held.display());
    let mut holder = client(&stand, &["run", "-w", "30", "abc", "--", "sh", "-c", &mark])?;
    limit::wait_until("the client holds the token", || held.exists());
    let mut waiter = client(&stand, &["run", "-w", "30", "abc", "--", "true"])?;
    limit::wait_until("the server asks for the token", || {
        let sent = record.datagrams_both_ways(PORT);
        sent.iter().any(|it| it.bytes.starts_with(&[REVOKE]))
    });
    // These data do not fit into one datagram.
    run(&stand, &["set", "-w", "30", "long", &"d".repeat(4_000)])?;
    stand.server(leader).kill()?;
    let others: Vec<_> = (0..3).filter(|&index| index != leader).collect();
    stand.wait_until_served_by(&others)?;
    stand.server(leader).start()?;
    stand.wait_until_served_by(&[0, 1, 2])?;
    drop(holder.stdin.take());
    ensure!(holder.wait()?.success() && waiter.wait()?.success());
    // The recording must not grow while it is checked.
    drop(stand);
    check_token_service(&record, PORT)
}
