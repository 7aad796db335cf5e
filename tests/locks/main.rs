//! Locks of real daemons, as programs on the machines hold them.

mod client;

use std::fs;
use std::process::{Child, Command, ExitCode, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use nix::sys::signal::Signal;
use ring_segment::{Binaries, Daemon, Layout, Ring, Timing, binaries, trials};
use serde_json::{Value, json};

use client::Client;

const BINARIES: Binaries = binaries!();
const HEARTBEAT: Duration = Duration::from_millis(100);
/// Far longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(30);
/// `ringctl run` has lost the token.
const LOST: i32 = 75;

fn main() -> ExitCode {
    ring_segment::main(trials![
        a_command_runs_under_the_token_and_its_exit_code_is_handed_on,
        programs_on_three_machines_lose_no_update,
        two_hundred_clients_get_it_in_the_order_in_which_they_came,
        what_a_holder_wrote_survives_its_machine,
        a_crashed_daemon_ends_the_work_and_does_not_believe_in_it_afterwards,
        a_stopped_daemon_ends_its_holders_work_before_another_begins,
        a_planned_stop_waits_for_the_holder,
        the_token_can_be_sent_to_a_member,
        a_watcher_sees_every_event_once_and_can_go_on_where_it_ended,
        clients_that_send_garbage_flood_or_do_not_read_disturb_nobody,
        the_client_in_the_manual_works_and_ends_with_its_lock,
    ])
}

fn form(count: usize) -> Result<Ring> {
    let segment = Layout::new(count).addresses().bridge()?;
    let ring = Ring::start(segment, count, Timing::patient(HEARTBEAT), BINARIES)?;
    ring.wait_until_formed()?;
    Ok(ring)
}

fn connect(daemon: &Daemon) -> Result<Client> {
    Client::connect(&daemon.control())
}

/// `ringctl` with its arguments, for a daemon.
fn ringctl(daemon: &Daemon, arguments: &[&str]) -> Command {
    let mut command = Command::new(BINARIES.ringctl);
    command.arg("--socket").arg(daemon.control());
    command.args(arguments).stdin(Stdio::null());
    command
}

fn wait_for(child: &mut Child) -> Result<Option<i32>> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status.code());
        }
        if Instant::now() > deadline {
            child.kill()?;
            bail!("it does not end");
        }
        thread::sleep(Duration::from_millis(2));
    }
}

fn clients(daemon: &Daemon) -> Result<Vec<Value>> {
    let status = daemon.status()?;
    Ok(status["clients"].as_array().context("a list")?.clone())
}

/// Waits until a client of this daemon has the token.
fn wait_until_held(daemon: &Daemon) -> Result<()> {
    let waited = ringctl(daemon, &["wait", "held", "-w", "20"]).output()?;
    ensure!(waited.status.success(), "{waited:?}");
    Ok(())
}

fn a_command_runs_under_the_token_and_its_exit_code_is_handed_on() -> Result<()> {
    let ring = form(3)?;
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
        ensure!(clients(daemon)?.is_empty(), "it has let go");
    }
    Ok(())
}

/// What Jepsen asked of etcd's locks: read, wait, write, under the lock.
fn programs_on_three_machines_lose_no_update() -> Result<()> {
    const CLIENTS: usize = 3;
    const ROUNDS: usize = 40;
    let ring = form(3)?;
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("counter");
    fs::write(&file, "0")?;
    let work = |socket: &std::path::Path| -> Result<()> {
        let mut client = Client::connect(socket)?;
        for _ in 0..ROUNDS {
            client.lock("counter")?;
            client.hears("granted")?;
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
            worker.join().expect("it does not panic")?;
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

fn two_hundred_clients_get_it_in_the_order_in_which_they_came() -> Result<()> {
    let ring = form(2)?;
    let daemon = &ring.daemons[0];
    let mut waiting = Vec::new();
    for n in 0..200 {
        let mut client = connect(daemon)?;
        client.lock(&n.to_string())?;
        // So that the next one comes after it.
        if n == 0 {
            client.hears("granted")?;
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
    // One leaves the queue without a word.
    let gone: usize = labels[100].parse()?;
    let mut waiting: Vec<_> = waiting.into_iter().map(Some).collect();
    waiting[gone] = None;
    for (place, label) in labels.iter().enumerate() {
        let Some(mut client) = waiting[label.parse::<usize>()?].take() else {
            continue;
        };
        if place > 0 {
            client.hears("granted")?;
        }
        client.unlock()?;
    }
    ensure!(clients(daemon)?.is_empty());
    Ok(())
}

fn what_a_holder_wrote_survives_its_machine() -> Result<()> {
    let mut ring = form(3)?;
    let mut holder = connect(&ring.daemons[0])?;
    holder.lock("writer")?;
    holder.hears("granted")?;
    let (text, hex) = ("last backup", "6c617374206261636b7570");
    holder.say(&json!({"request": "data_set", "hex": hex}))?;
    holder.hears("done")?;
    holder.unlock()?;
    // The others hear of it at once; then its machine is gone.
    let heard = |daemon: &Daemon| -> Result<String> {
        let output = ringctl(daemon, &["data", "get", "--raw"]).output()?;
        Ok(String::from_utf8(output.stdout)?)
    };
    let deadline = Instant::now() + PATIENCE;
    while heard(&ring.daemons[1])? != text {
        ensure!(Instant::now() < deadline, "it is not heard of");
    }
    ring.daemons[0].kill()?;
    let script = "echo \"$RINGD_DATA\"";
    let output = ringctl(&ring.daemons[2], &["run", "--", "sh", "-c", script]).output()?;
    ensure!(String::from_utf8(output.stdout)?.trim() == hex, "{hex}");
    Ok(())
}

fn a_crashed_daemon_ends_the_work_and_does_not_believe_in_it_afterwards() -> Result<()> {
    let mut ring = form(2)?;
    let mut run = ringctl(&ring.daemons[0], &["run", "--", "sleep", "1000"]).spawn()?;
    wait_until_held(&ring.daemons[0])?;
    ring.daemons[0].kill()?;
    ensure!(wait_for(&mut run)? == Some(LOST));
    ring.daemons[0].start()?;
    ring.daemons[0].wait_for_status(PATIENCE, |status| {
        status["state"] == "WAITER" || status["state"] == "OWNER"
    })?;
    ensure!(clients(&ring.daemons[0])?.is_empty(), "nobody holds it");
    let mut next = connect(&ring.daemons[0])?;
    next.lock("next")?;
    next.hears("granted").map(drop)
}

/// The daemon of the holder is stopped: nobody renews the lease, and nobody says that it is over.
fn a_stopped_daemon_ends_its_holders_work_before_another_begins() -> Result<()> {
    let ring = form(3)?;
    let folder = tempfile::tempdir()?;
    let (ended, begun) = (folder.path().join("ended"), folder.path().join("begun"));
    let clock = "date +%s.%N";
    let work = format!(
        "trap '{clock} > {}; exit 0' TERM; sleep 1000 & wait",
        ended.display()
    );
    let mut run = ringctl(&ring.daemons[0], &["run", "--", "sh", "-c", &work]).spawn()?;
    wait_until_held(&ring.daemons[0])?;
    ring.daemons[0].signal(Signal::SIGSTOP)?;
    let script = format!("{clock} > {}", begun.display());
    let next = ringctl(
        &ring.daemons[1],
        &["run", "-w", "20", "--", "sh", "-c", &script],
    )
    .output()?;
    ensure!(next.status.success(), "{next:?}");
    ensure!(wait_for(&mut run)? == Some(LOST));
    ring.daemons[0].signal(Signal::SIGCONT)?;
    let time = |path| -> Result<f64> { Ok(fs::read_to_string(path)?.trim().parse()?) };
    let (ended, begun) = (time(&ended)?, time(&begun)?);
    ensure!(ended < begun, "ended at {ended}, the next began at {begun}");
    Ok(())
}

fn a_planned_stop_waits_for_the_holder() -> Result<()> {
    let mut ring = form(2)?;
    let mut holder = connect(&ring.daemons[0])?;
    holder.lock("holder")?;
    holder.hears("granted")?;
    let mut next = connect(&ring.daemons[1])?;
    next.lock("next")?;
    ring.daemons[0].signal(Signal::SIGTERM)?;
    let lost = holder.hears("lost")?;
    ensure!(lost["why"] == "shutdown", "{lost}");
    holder.unlock()?;
    next.hears("granted")?;
    let status = ring.daemons[0].wait_exit(PATIENCE)?;
    ensure!(status.success(), "{status}");
    Ok(())
}

fn the_token_can_be_sent_to_a_member() -> Result<()> {
    let ring = form(4)?;
    let mut holder = connect(&ring.daemons[0])?;
    holder.lock("holder")?;
    holder.hears("granted")?;
    let mac = ring.daemons[2].node().mac().to_string();
    let mut watcher = connect(&ring.daemons[2])?;
    watcher.say(&json!({"request": "watch"}))?;
    watcher.hears("snapshot")?;
    let stranger = ringctl(&ring.daemons[0], &["yield", "02:00:00:00:77:77"]).output()?;
    ensure!(!stranger.status.success(), "{stranger:?}");
    let output = ringctl(&ring.daemons[0], &["yield", &mac]).output()?;
    ensure!(output.status.success(), "{output:?}");
    let lost = holder.hears("lost")?;
    ensure!(lost["why"] == "yield", "{lost}");
    holder.unlock()?;
    loop {
        let event = watcher.hears("event")?;
        if event["from"] == "WAITER" && event["state"] == "OWNER" {
            return Ok(());
        }
    }
}

fn a_watcher_sees_every_event_once_and_can_go_on_where_it_ended() -> Result<()> {
    let ring = form(2)?;
    let daemon = &ring.daemons[0];
    let mut watcher = connect(daemon)?;
    watcher.say(&json!({"request": "watch"}))?;
    let snapshot = watcher.hears("snapshot")?;
    ensure!(snapshot["status"]["interface"] == "eth0", "{snapshot}");
    let mut number = snapshot["number"].as_u64().context("a number")?;
    for _ in 0..100 {
        let event = watcher.hears("event")?;
        number += 1;
        ensure!(event["number"] == number, "{event} after {}", number - 1);
    }
    drop(watcher);
    let mut again = connect(daemon)?;
    again.say(&json!({"request": "watch", "from": number + 1}))?;
    let event = again.hears("event")?;
    ensure!(event["number"] == number + 1, "{event}");
    let mut late = connect(daemon)?;
    late.say(&json!({"request": "watch", "from": u64::MAX}))?;
    late.hears("snapshot").map(drop)
}

fn clients_that_send_garbage_flood_or_do_not_read_disturb_nobody() -> Result<()> {
    let ring = form(3)?;
    let daemon = &ring.daemons[0];
    let mut lazy = connect(daemon)?;
    lazy.say(&json!({"request": "watch"}))?;
    let stop = std::sync::atomic::AtomicBool::new(false);
    let over = || stop.load(std::sync::atomic::Ordering::Relaxed);
    thread::scope(|scope| {
        let socket = daemon.control();
        for request in [
            "{\"request\":\"status\"}",
            "\u{1}garbage",
            "{\"request\":\"unlock\"}",
        ] {
            let socket = socket.clone();
            scope.spawn(move || {
                while !over() {
                    // Whatever becomes of it.
                    let Ok(mut client) = Client::connect(&socket) else {
                        continue;
                    };
                    let _ = client.say(&json!(request));
                    let _ = client.hear();
                }
            });
        }
        let mut grants = 0;
        let worked = (|| {
            let mut client = connect(daemon)?;
            for _ in 0..50 {
                client.lock("in spite of all")?;
                client.hears("granted")?;
                grants += 1;
                client.unlock()?;
            }
            Ok::<(), anyhow::Error>(())
        })();
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        worked.with_context(|| format!("after {grants} grants"))
    })?;
    ring.check()
}

/// As `docs/control.md` has it.
fn the_client_in_the_manual_works_and_ends_with_its_lock() -> Result<()> {
    let ring = form(2)?;
    let daemon = &ring.daemons[0];
    let page = include_str!("../../docs/control.md");
    let (_, rest) = page.split_once("```python\n").context("no client")?;
    let (program, _) = rest.split_once("```").context("no end")?;
    let start = |program: &str| {
        let mut python = Command::new("python3");
        python.args(["-c", program]).arg(daemon.control());
        python.stdout(Stdio::piped()).spawn()
    };
    let output = start(program)
        .context("cannot start python3: install it")?
        .wait_with_output()?;
    ensure!(output.status.success(), "{output:?}");
    let said = String::from_utf8(output.stdout)?;
    ensure!(said.starts_with("working under "), "{said}");
    let mut long = start(&program.replace("time.sleep(1)", "time.sleep(1000)"))?;
    wait_until_held(daemon)?;
    let output = ringctl(daemon, &["yield"]).output()?;
    ensure!(output.status.success(), "{output:?}");
    ensure!(wait_for(&mut long)? == Some(LOST));
    Ok(())
}
