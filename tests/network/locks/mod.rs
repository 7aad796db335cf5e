//! Locks of real daemons, used by programs on their machines.
//!
//! `scene.rs` contains the usual scene: work under the token on one node, and a client on a second node that waits for
//! the token. `program.rs` runs `ringctl`, and `client.rs` uses the protocol of the control socket.
//! `crates/ringctl/tests` tests `ringctl` without a real daemon.

mod bad_clients;
mod client;
mod command_line;
mod crashes;
mod data;
mod expiry;
mod holders;
mod library;
mod names;
mod once;
pub(crate) mod program;
mod scene;
mod scripts;
mod signals;
mod waits;

use std::fs;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use ring_segment::{
    Daemon, Layout, Ring, SharedRing, Test, Timing, WAIT, WAIT_LIMIT, binaries, tests,
};
use serde_json::{Value, json};

pub(crate) use client::Client;

const HEARTBEAT: Duration = Duration::from_millis(100);
/// Exit code of a `ringctl` that lost the token.
const LOST_CODE: i32 = 75;

pub(crate) fn tests() -> Vec<Test> {
    let mut tests = tests![
        a_command_runs_under_the_token_and_ringctl_returns_its_exit_code,
        programs_on_three_machines_lose_no_update,
        two_hundred_clients_get_the_lock_in_the_order_of_their_requests,
        data_of_a_holder_survive_its_machine,
        a_watcher_sees_every_event_once_and_can_continue_where_it_ended,
    ];
    tests.extend(expiry::tests());
    tests.extend(holders::tests());
    tests.extend(library::tests());
    tests.extend(signals::tests());
    tests.extend(crashes::tests());
    tests.extend(command_line::tests());
    tests.extend(waits::tests());
    tests.extend(scripts::tests());
    tests.extend(data::tests());
    tests.extend(names::tests());
    tests.extend(bad_clients::tests());
    tests.extend(once::tests());
    tests
}

/// Returns constants that let a holder keep its lock during a stall of half a second.
pub(crate) fn timing() -> Timing {
    Timing::stall_tolerant(HEARTBEAT).idle_hold(HEARTBEAT)
}

/// Returns a ring for a test that harms no daemon.
pub(crate) fn shared_ring(count: usize) -> Result<SharedRing> {
    let layout = Layout::new(count).addresses();
    SharedRing::on(layout, timing(), binaries(), &[])
}

fn form(count: usize) -> Result<Ring> {
    form_with(count, timing())
}

fn form_with(count: usize, timing: Timing) -> Result<Ring> {
    let segment = Layout::new(count).addresses().bridge()?;
    let ring = Ring::start(segment, count, timing, binaries())?;
    ring.wait_until_formed()?;
    Ok(ring)
}

fn connect(daemon: &Daemon) -> Result<Client> {
    Client::connect(&daemon.control())
}

/// Returns `ringctl` for a daemon, with all signals at their defaults. The parent process of the tests may ignore some
/// signals, like a shell that starts a background command. Children would inherit this setting.
pub(crate) fn ringctl(daemon: &Daemon, arguments: &[&str]) -> Command {
    let mut command = Command::new("env");
    command.arg("--default-signal").arg(binaries().ringctl);
    command.arg("--socket").arg(daemon.control());
    command.args(arguments).stdin(Stdio::null());
    command
}

fn wait_for(child: &mut Child) -> Result<Option<i32>> {
    let deadline = Instant::now() + WAIT_LIMIT;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status.code());
        }
        if Instant::now() > deadline {
            child.kill()?;
            bail!("the command does not end");
        }
        thread::sleep(Duration::from_millis(2));
    }
}

/// Waits until a daemon knows the program that holds the token on another machine.
fn wait_until_holder_is_known(daemon: &Daemon, program: &str) -> Result<Value> {
    daemon.wait_for_status(WAIT_LIMIT, |status| status["holder"]["program"] == program)
}

fn clients(daemon: &Daemon) -> Result<Vec<Value>> {
    let status = daemon.status()?;
    Ok(status["clients"].as_array().context("a list")?.clone())
}

/// Waits until a client of this daemon holds the token.
fn wait_until_held(daemon: &Daemon) -> Result<()> {
    let waited = ringctl(daemon, &["wait", "held", "-w", WAIT]).output()?;
    ensure!(waited.status.success(), "{waited:?}");
    Ok(())
}

fn a_command_runs_under_the_token_and_ringctl_returns_its_exit_code() -> Result<()> {
    let ring = shared_ring(3)?;
    for daemon in &ring.daemons {
        let script = "test \"$RINGD_TOKEN\" = \"$(echo $RINGD_TOKEN | sed s/^.*$RINGD_PROGRESS-/$RINGD_PROGRESS-/)\"; \
             echo \"$RINGD_TOKEN\"; exit 7";
        let output = ringctl(
            daemon,
            &["run", "--label", "seven", "--", "sh", "-c", script],
        );
        let output = { output }.output()?;
        ensure!(output.status.code() == Some(7), "{output:?}");
        let token = String::from_utf8(output.stdout)?;
        ensure!(token.trim().split('-').count() == 3, "{token}");
        ensure!(
            clients(daemon)?.is_empty(),
            "the holder has released the token"
        );
    }
    Ok(())
}

/// The test is Jepsen's test of etcd's locks: each program reads, waits and writes under the lock.
fn programs_on_three_machines_lose_no_update() -> Result<()> {
    const CLIENTS: usize = 3;
    const ROUNDS: usize = 40;
    let ring = shared_ring(3)?;
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("counter");
    fs::write(&file, "0")?;
    let work = |socket: &std::path::Path| -> Result<()> {
        let mut client = Client::connect(socket)?;
        for _ in 0..ROUNDS {
            client.lock("counter")?;
            client.expect("granted")?;
            let count: usize = fs::read_to_string(&file)?.parse()?;
            thread::yield_now();
            fs::write(&file, (count + 1).to_string())?;
            client.unlock()?;
        }
        Ok(())
    };
    let sockets = ring.daemons.iter().map(Daemon::control);
    let sockets: Vec<_> = sockets.flat_map(|it| vec![it; CLIENTS]).collect();
    thread::scope(|scope| {
        let workers: Vec<_> = sockets
            .iter()
            .map(|socket| scope.spawn(|| work(socket)))
            .collect();
        for worker in workers {
            worker.join().expect("the thread does not panic")?;
        }
        Ok::<(), anyhow::Error>(())
    })?;
    let count = fs::read_to_string(&file)?;
    let all = 3 * CLIENTS * ROUNDS;
    ensure!(
        count == all.to_string(),
        "{count} of {all} updates are left"
    );
    Ok(())
}

fn two_hundred_clients_get_the_lock_in_the_order_of_their_requests() -> Result<()> {
    let ring = shared_ring(2)?;
    let daemon = &ring.daemons[0];
    let mut waiting = Vec::new();
    for n in 0..200 {
        let mut client = connect(daemon)?;
        client.lock(&n.to_string())?;
        // The wait ensures that the next client queues after this client.
        if n == 0 {
            client.expect("granted")?;
        } else if n % 16 == 0 {
            let count = || clients(daemon).map(|clients| clients.len());
            while count()? < n {
                thread::sleep(Duration::from_millis(2));
            }
        }
        waiting.push(client);
    }
    while clients(daemon)?.len() < 200 {
        thread::sleep(Duration::from_millis(2));
    }
    let order = clients(daemon)?;
    let label = |client: &Value| client["label"].as_str().map(str::to_owned);
    let labels: Vec<_> = order.iter().filter_map(label).collect();
    ensure!(order[0]["holds"] == true && order[1]["holds"] == false);
    // One client in the queue disconnects.
    let gone: usize = labels[100].parse()?;
    let mut waiting: Vec<_> = waiting.into_iter().map(Some).collect();
    waiting[gone] = None;
    for (place, label) in labels.iter().enumerate() {
        let Some(mut client) = waiting[label.parse::<usize>()?].take() else {
            continue;
        };
        if place > 0 {
            client.expect("granted")?;
        }
        client.unlock()?;
    }
    ensure!(clients(daemon)?.is_empty());
    Ok(())
}

fn data_of_a_holder_survive_its_machine() -> Result<()> {
    let mut ring = form(3)?;
    let mut holder = connect(&ring.daemons[0])?;
    holder.lock("writer")?;
    holder.expect("granted")?;
    let (text, hex) = ("last backup", "6c617374206261636b7570");
    holder.send(&json!({"request": "data_set", "hex": hex}))?;
    holder.expect("done")?;
    holder.unlock()?;
    // The other members learn of the holder's end at once. Then the holder's machine dies.
    let read_data = |daemon: &Daemon| -> Result<String> {
        let output = ringctl(daemon, &["data", "get", "--raw"]).output()?;
        Ok(String::from_utf8(output.stdout)?)
    };
    let deadline = Instant::now() + WAIT_LIMIT;
    while read_data(&ring.daemons[1])? != text {
        ensure!(
            Instant::now() < deadline,
            "the others do not know the event"
        );
    }
    ring.daemons[0].kill()?;
    let script = "echo \"$RINGD_DATA\"";
    let output = ringctl(&ring.daemons[2], &["run", "--", "sh", "-c", script]).output()?;
    ensure!(String::from_utf8(output.stdout)?.trim() == hex, "{hex}");
    Ok(())
}

fn a_watcher_sees_every_event_once_and_can_continue_where_it_ended() -> Result<()> {
    let ring = shared_ring(2)?;
    let daemon = &ring.daemons[0];
    let mut watcher = connect(daemon)?;
    watcher.send(&json!({"request": "watch"}))?;
    let snapshot = watcher.expect("snapshot")?;
    ensure!(snapshot["status"]["interface"] == "eth0", "{snapshot}");
    let mut number = snapshot["number"].as_u64().context("a number")?;
    for _ in 0..100 {
        let event = watcher.expect("event")?;
        number += 1;
        ensure!(event["number"] == number, "{event} after {}", number - 1);
    }
    drop(watcher);
    let mut again = connect(daemon)?;
    again.send(&json!({"request": "watch", "from": number + 1}))?;
    let event = again.expect("event")?;
    ensure!(event["number"] == number + 1, "{event}");
    let mut late = connect(daemon)?;
    late.send(&json!({"request": "watch", "from": u64::MAX}))?;
    late.expect("snapshot").map(drop)
}
