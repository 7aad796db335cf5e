//! Locks that a node keeps for a moment after its program has released them
//! (`docs/reference/lab2/locks.md I54`).

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use ring_client::fencing::FencingToken;
use ring_segment::limit::wait_until;
use ring_segment::{
    Case, Daemon, LONG_IDLE_HOLD, Layout, Ring, SLACK, Test, Timing, binaries, side_by_side, tests,
};
use serde_json::json;

use super::connect;
use crate::locks::{Client, shared_ring, timing};

/// The heartbeat and the failure timeout of the default constants.
const HEARTBEAT: Duration = Duration::from_millis(100);
/// The bounds of `docs/explanation/guarantees.md` for these constants.
const MEMBER_BOUND: Duration = Duration::from_millis(2200);
const OWNER_BOUND: Duration = Duration::from_millis(2600);
const ATTEMPTS_MAX: usize = 5;
/// The number of programs that use the same session after the first program.
const REUSES: usize = 20;

pub(super) fn tests() -> Vec<Test> {
    tests![
        exclusive the_kept_locks_of_a_killed_daemon_are_free_in_time,
        exclusive a_node_that_takes_a_lock_again_and_again_leaves_it_to_another_node,
    ]
}

fn request(name: &str, grade: &str) -> serde_json::Value {
    json!({"request": "named_lock", "name": name, "require": grade})
}

/// Waits for a granted lock, and returns its fencing token.
fn fencing(client: &mut Client) -> Result<FencingToken> {
    let grant = client.expect("granted")?;
    let text = grant["fencing"].as_str().context("a text")?;
    text.parse().context("a fencing token")
}

fn take(client: &mut Client, name: &str, grade: &str) -> Result<FencingToken> {
    client.send(&request(name, grade))?;
    fencing(client)
}

/// Takes a lock on a node again and again, and releases it. Then kills the node's daemon while the node keeps the lock.
/// Returns `None` if the daemon released the lock before its end. Otherwise, returns the time until another node had
/// the lock.
fn kill_keeper(is_owner: bool, grade: &str) -> Result<Option<Duration>> {
    // The default TAKE_TIMEOUT of 5 ms would be too short to kill the daemon in time.
    let timing = Timing::tolerant(HEARTBEAT).idle_hold(LONG_IDLE_HOLD);
    let segment = Layout::new(3).addresses().bridge()?;
    let mut ring = Ring::start(segment, 3, timing, binaries())?;
    ring.wait_until_formed()?;
    let owner = ring.owner()?;
    let keeper = if is_owner { owner } else { (owner + 1) % 3 };
    let other = (owner + 2) % 3;
    let mut holder = connect(&ring.daemons[keeper])?;
    // The test first takes another lock, because a ring that has just started grants its first lock late, and its nodes
    // keep no lock.
    take(&mut holder, "before", grade)?;
    holder.unlock()?;
    let mut last = take(&mut holder, "kept", grade)?;
    // Only the node knows the fencing tokens of these programs.
    for _ in 0..REUSES {
        holder.unlock()?;
        let next = take(&mut holder, "kept", grade)?;
        ensure!(last < next, "{next} follows {last}");
        last = next;
    }
    holder.unlock()?;
    ring.daemons[keeper].kill()?;
    let killed = Instant::now();
    if !is_listed(&ring.daemons[other])? {
        return Ok(None);
    }
    let mut next = connect(&ring.daemons[other])?;
    let after = take(&mut next, "kept", grade)?;
    let took = killed.elapsed();
    ensure!(last < after, "{after} follows {last}");
    Ok(Some(took))
}

fn is_listed(daemon: &Daemon) -> Result<bool> {
    let locks = daemon.ask(&json!({"request": "locks"}), "locks")?;
    let locks = locks.as_array().context("a list")?;
    Ok(locks.iter().any(|it| it["name"] == "kept"))
}

fn check_killed_keeper(is_owner: bool, grade: &str) -> Result<()> {
    let mut attempts = (0..ATTEMPTS_MAX).map(|_| kill_keeper(is_owner, grade));
    let Some(took) = attempts.find_map(Result::transpose).transpose()? else {
        bail!("each of {ATTEMPTS_MAX} daemons released the lock before it was killed");
    };
    let least = Timing::tolerant(HEARTBEAT).waiter_timeout();
    ensure!(took > least, "after {took:?}, the lock was not kept");
    let bound = if is_owner { OWNER_BOUND } else { MEMBER_BOUND };
    ensure!(took < bound + SLACK, "{took:?} instead of {bound:?}");
    Ok(())
}

fn the_kept_locks_of_a_killed_daemon_are_free_in_time() -> Result<()> {
    let cases: [Case; 4] = [
        ("member, alone", || check_killed_keeper(false, "alone")),
        ("member, quorum", || check_killed_keeper(false, "quorum")),
        ("owner, alone", || check_killed_keeper(true, "alone")),
        ("owner, quorum", || check_killed_keeper(true, "quorum")),
    ];
    side_by_side(&cases)
}

fn a_node_that_takes_a_lock_again_and_again_leaves_it_to_another_node() -> Result<()> {
    const TURNS: usize = 10;
    let ring = shared_ring(3)?;
    let (order, is_over) = (Mutex::new(Vec::new()), AtomicBool::new(false));
    let turn = |client: &mut Client, node: usize| -> Result<()> {
        let token = take(client, "busy", "alone")?;
        order.lock().expect("no thread panics").push((node, token));
        client.unlock()
    };
    let took = thread::scope(|scope| {
        let greedy = scope.spawn(|| {
            let mut client = connect(&ring.daemons[0])?;
            while !is_over.load(Ordering::Relaxed) {
                turn(&mut client, 0)?;
            }
            Ok::<(), anyhow::Error>(())
        });
        let waited = (0..TURNS).map(|_| {
            let mut client = connect(&ring.daemons[1])?;
            let turns = || order.lock().expect("no thread panics").len();
            let before = turns();
            wait_until("further turns of the first node", || turns() > before + 2);
            let began = Instant::now();
            turn(&mut client, 1)?;
            Ok(began.elapsed())
        });
        let waited: Result<Vec<Duration>> = waited.collect();
        is_over.store(true, Ordering::Relaxed);
        greedy.join().expect("the thread does not panic")?;
        waited
    })?;
    let order = order.into_inner().expect("no thread panics");
    for pair in order.windows(2) {
        ensure!(pair[0].1 < pair[1].1, "{pair:?}");
    }
    // A node that kept the lock although another node wants it would keep it for up to 1 s in each turn.
    let total: Duration = took.iter().sum();
    ensure!(total < timing().waiter_timeout(), "{took:?}");
    Ok(())
}
