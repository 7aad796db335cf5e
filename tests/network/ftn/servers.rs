//! Servers without clients: election of a leader, loss of a server, and errors at the start.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use nix::sys::signal::Signal;
use ring_segment::{Daemon, Ringd, SLACK, Test, WAIT_LIMIT, tests};
use serde_json::Value;

use super::stand::{HEARTBEAT, PORT, SERVER_TIMEOUT, ServerStand};

pub(super) fn tests() -> Vec<Test> {
    tests![
        three_servers_agree_on_a_leader_and_show_it,
        exclusive another_server_leads_in_time_when_the_leader_is_killed,
        a_leader_that_is_cut_off_serves_no_tokens_and_follows_after_its_return,
        a_server_that_is_started_again_never_counts_configurations_back,
        the_others_do_not_wait_for_a_server_that_leaves_and_watchers_see_it_leave,
        a_server_whose_quorum_is_no_majority_warns_of_splits,
        a_server_that_cannot_start_prints_the_reason,
        a_state_file_or_control_socket_of_another_server_is_reported,
    ]
}

fn majority() -> [(&'static str, &'static str); 1] {
    [("--quorum", "majority")]
}

fn three_servers_agree_on_a_leader_and_show_it() -> Result<()> {
    let mut stand = ServerStand::new(3, 3, &majority())?;
    let leader = stand.wait_until_served_by(&[0, 1, 2])?;
    for index in 0..3 {
        let server = stand.server(index);
        let status = server.ringctl(&["status", "--json"])?;
        ensure!(status.status.code() == Some(0), "{status:?}");
        let status: Value = serde_json::from_slice(&status.stdout)?;
        let role = if index == leader {
            "leader"
        } else {
            "follower"
        };
        ensure!(
            status["system"] == "ftn" && status["role"] == role,
            "{status:#}"
        );
        ensure!(
            status["leader"] == leader && status["index"] == index,
            "{status:#}"
        );
        let page = server.ringctl(&["status"])?;
        let page = String::from_utf8(page.stdout)?;
        let (own, led) = (line_of(&page, index)?, line_of(&page, leader)?);
        ensure!(
            own.contains("this server") && led.contains("leader"),
            "{page}"
        );
        ensure!(!page.contains("same token"), "{page}");
    }
    Ok(())
}

/// Returns the line of a server on the status page.
fn line_of(page: &str, index: usize) -> Result<&str> {
    let name = format!("10.77.0.{}:{PORT}", index + 1);
    let found = page.lines().find(|line| line.contains(&name));
    found.with_context(|| format!("no {name} in {page}"))
}

fn another_server_leads_in_time_when_the_leader_is_killed() -> Result<()> {
    let mut stand = ServerStand::new(3, 3, &[("--quorum", "1")])?;
    let leader = stand.wait_until_served_by(&[0, 1, 2])?;
    let others: Vec<usize> = (0..3).filter(|&other| other != leader).collect();
    stand.server(leader).kill()?;
    let killed = Instant::now();
    let next = loop {
        let leads = |daemon: &Daemon| -> Result<bool> {
            Ok(daemon.wait_for_status(WAIT_LIMIT, |_| true)?["role"] == "leader")
        };
        let mut found = None;
        for &other in &others {
            if leads(stand.server(other))? {
                found = Some(other);
            }
        }
        ensure!(killed.elapsed() < WAIT_LIMIT, "no node leads");
        if let Some(next) = found {
            break next;
        }
    };
    let took = killed.elapsed();
    let bound = SERVER_TIMEOUT + 2 * HEARTBEAT + SLACK;
    ensure!(took <= bound, "{took:?}, not {bound:?}");
    ensure!(
        stand.wait_until_served_by(&others)? == next,
        "another server leads"
    );
    let status = stand.server(next).status()?;
    ensure!(status["servers"][leader]["state"] == "DOWN", "{status:#}");
    // The old leader joins again as a follower.
    stand.server(leader).start()?;
    ensure!(
        stand.wait_until_served_by(&[0, 1, 2])? == next,
        "another server leads"
    );
    Ok(())
}

fn a_leader_that_is_cut_off_serves_no_tokens_and_follows_after_its_return() -> Result<()> {
    let mut stand = ServerStand::new(3, 3, &majority())?;
    let leader = stand.wait_until_served_by(&[0, 1, 2])?;
    let others: Vec<usize> = (0..3).filter(|&other| other != leader).collect();
    let link = |stand: &ServerStand, state: &str| {
        let ns = stand.segment().node(leader).ns().clone();
        ns.ip(&format!("link set eth0 {state}\n"))
    };
    link(&stand, "down")?;
    let next = stand.wait_until_served_by(&others)?;
    let lonely = stand.server(leader);
    lonely.wait_for_status(WAIT_LIMIT, |status| status["health"] == "critical")?;
    let status = lonely.ringctl(&["status", "-q"])?;
    ensure!(status.status.code() == Some(5), "{status:?}");
    link(&stand, "up")?;
    ensure!(
        stand.wait_until_served_by(&[0, 1, 2])? == next,
        "another server leads"
    );
    Ok(())
}

/// The test ends while the number that follows from the clock is still smaller than the old number. So only the state
/// file keeps the number from becoming smaller.
fn a_server_that_is_started_again_never_counts_configurations_back() -> Result<()> {
    let mut stand = ServerStand::new(1, 1, &[])?;
    let mut last = 0;
    for _ in 0..4 {
        stand.wait_until_served_by(&[0])?;
        let server = stand.server(0);
        let configuration = server.status()?["configuration"].as_u64();
        let configuration = configuration.context("no number")?;
        ensure!(configuration > last, "{configuration} after {last}");
        last = configuration;
        server.kill()?;
        server.start()?;
    }
    ensure!(stand.server(0).state_dir().join("ftn-0.state").exists());
    Ok(())
}

/// During the test, no server is silent for as long as the timeout. So if the other servers show a server as DOWN, this
/// server has announced that it stops.
fn the_others_do_not_wait_for_a_server_that_leaves_and_watchers_see_it_leave() -> Result<()> {
    let patient = [("--server-timeout", "1h"), ("--quorum", "1")];
    let mut stand = ServerStand::new(2, 2, &patient)?;
    let leader = stand.wait_until_served_by(&[0, 1])?;
    let other = 1 - leader;
    let mut watch = UnixStream::connect(stand.server(leader).control())?;
    watch.set_read_timeout(Some(WAIT_LIMIT))?;
    watch.write_all(b"{\"request\":\"watch\"}\n")?;
    let mut events = BufReader::new(watch).lines();
    let snapshot = events.next().context("no snapshot")??;
    ensure!(snapshot.starts_with("{\"snapshot\":"), "{snapshot}");
    let leaving = stand.server(other);
    leaving.signal(Signal::SIGTERM)?;
    ensure!(leaving.wait_exit(WAIT_LIMIT)?.code() == Some(0));
    leaving.wait_for_line(WAIT_LIMIT, |line| line.contains("left the servers"))?;
    let says_so = |line: &str| {
        line.contains("\"event\":\"configuration_changed\"") && line.contains("is DOWN")
    };
    loop {
        let line = events.next().context("the watch has ended")??;
        if says_so(&line) {
            break;
        }
    }
    // The last server must end too, although it has no other server to notify.
    let last = stand.server(leader);
    last.signal(Signal::SIGTERM)?;
    ensure!(last.wait_exit(WAIT_LIMIT)?.code() == Some(0));
    Ok(())
}

fn a_server_whose_quorum_is_no_majority_warns_of_splits() -> Result<()> {
    let mut stand = ServerStand::new(2, 2, &[])?;
    stand.wait_until_served_by(&[0, 1])?;
    let server = stand.server(0);
    let says = |line: &str| line.contains("same token") && line.contains("--quorum majority");
    server.wait_for_line(WAIT_LIMIT, says)?;
    let status = server.status()?;
    let trouble = status["troubles"][0].as_str();
    ensure!(trouble.is_some_and(says), "{status:#}");
    let page = server.ringctl(&["status"])?;
    let page = String::from_utf8(page.stdout)?;
    let warning = page.lines().find(|line| line.contains("Warning: "));
    ensure!(warning.is_some_and(says), "{page}");
    server.signal(Signal::SIGUSR1)?;
    server.wait_for_line(WAIT_LIMIT, |line| line.contains("status: server 0, "))?;
    Ok(())
}

/// Checks that a server does not start, and that it ends with this exit code and this error.
fn check_refused(server: Ringd, code: i32, says: &str) -> Result<()> {
    let mut server = server.spawn()?;
    let end = server.wait_exit(WAIT_LIMIT)?;
    server.wait_for_line(WAIT_LIMIT, |line| line.contains(says))?;
    ensure!(end.code() == Some(code), "{end}: {:?}", server.output());
    Ok(())
}

/// The namespace has no route to a name server.
fn a_server_that_cannot_start_prints_the_reason() -> Result<()> {
    let stand = ServerStand::without_servers(2, 2)?;
    let server = |index| stand.server_options(index);
    let beyond = server(0)?.option("--index", "2");
    check_refused(beyond, 2, "--index 2 names none of the 2 servers")?;
    let quorum = server(0)?.option("--quorum", "3");
    check_refused(
        quorum,
        2,
        "--quorum 3 is not between 1 and the number of servers, 2",
    )?;
    let hasty = server(0)?.option("--server-timeout", "200ms");
    check_refused(hasty, 2, "less than three times --heartbeat")?;
    let missing = server(0)?.option("--servers", "/nowhere/servers");
    check_refused(
        missing,
        3,
        "cannot read the list of servers /nowhere/servers",
    )?;
    let unnamed = stand.folder().join("unnamed");
    fs::write(
        &unnamed,
        format!("10.77.0.1:{PORT}\n\nnowhere.invalid:{PORT}\n"),
    )?;
    let unnamed = server(1)?.option("--servers", unnamed);
    check_refused(unnamed, 3, "server 1 (nowhere.invalid:7301) has no address")?;
    let elsewhere = server(0)?.option("--index", "1");
    check_refused(elsewhere, 4, "10.77.0.2:7301, the address of server 1 in ")?;
    let ns = stand.segment().node(0).ns();
    let taken = ns.run(|| std::net::UdpSocket::bind(("10.77.0.1", PORT)))??;
    check_refused(server(0)?, 6, "another process uses it")?;
    drop(taken);
    let plain = stand.folder().join("plain");
    fs::write(&plain, "")?;
    check_refused(server(0)?.option("--state-dir", plain), 7, "cannot use ")
}

/// The machine has two lists of servers. Each list has a server 0.
fn a_state_file_or_control_socket_of_another_server_is_reported() -> Result<()> {
    let mut stand = ServerStand::new(1, 1, &[])?;
    stand.wait_until_served_by(&[0])?;
    let other = stand.folder().join("other");
    fs::write(&other, format!("10.77.0.1:{}\n", PORT + 1))?;
    let (state, control) = (stand.server(0).state_dir(), stand.server(0).control());
    let second = || Ok::<_, anyhow::Error>(stand.server_options(0)?.option("--servers", &other));
    let same_state = second()?.option("--state-dir", &state);
    check_refused(same_state, 7, "server 0 of this list or of another list")?;
    check_refused(second()?.option("--control", &control), 8, "--control PATH")?;
    let mut apart = second()?.spawn()?;
    apart.wait_for_status(WAIT_LIMIT, |status| status["health"] != "critical")?;
    apart.kill()?;
    // The error shows the old list only after a change of the list.
    stand.server(0).kill()?;
    let changed = stand.server_options(0)?.option("--servers", &other);
    let changed = changed.option("--state-dir", &state).spawn()?;
    changed.wait_for_line(WAIT_LIMIT, |line| {
        line.contains("belongs to another list of servers: the configuration numbers continue from")
    })?;
    Ok(())
}
