//! Faults of nodes. A fault affects a node with a working client. Only one fault exists at a time.

use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::Result;
use clap::ValueEnum;
use nix::sys::signal::Signal;
use nix::unistd::Pid;
use ring_segment::Rng;

use super::locks::Locks;
use super::processes::{parent, runs, send};
use super::{draw_time, name};
use crate::rivals::Server;

const POLL_INTERVAL: Duration = Duration::from_millis(2);

/// Kinds of fault. The first faults apply to any lock. The next faults need a lock that has daemons, and `PauseKeeper`
/// needs `ringctl`. The faults after `PauseKeeper` need a ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Fault {
    None,
    /// SIGSTOP the lock's client (ringctl, etcdctl, flock), but not the command.
    PauseClient,
    /// SIGSTOP the whole node: command, client, daemon.
    PauseHolder,
    /// SIGKILL the lock's client, but not the command.
    KillClient,
    /// SIGSTOP the daemon of the node that holds the lock.
    PauseDaemon,
    /// Split the nodes into two halves. All links stay up.
    Cut,
    /// SIGKILL the daemon, and start it again later.
    KillDaemon,
    /// SIGSTOP the process behind ringctl that holds the lock, but not ringctl.
    PauseKeeper,
    /// SIGSTOP the daemons of all other nodes.
    PauseOthers,
    /// Cut the node off, SIGKILL the daemons of all other nodes, and start them again at once.
    RestartOthers,
    /// Any of the faults above, at random.
    Mixed,
    /// Each fault that can affect the lock, one by one.
    All,
}

/// Causes one fault after the other for some time. Returns the faults with their times.
pub(super) fn cause_faults(
    kind: Fault,
    locks: &Locks,
    time: Duration,
    chance: &mut Rng,
) -> Result<Vec<(Instant, String)>> {
    let (faults, lasting, _) = locks.target.fault_settings();
    let (until, mut done) = (Instant::now() + time, Vec::new());
    if kind == Fault::None {
        sleep(time);
    }
    while Instant::now() < until {
        sleep(draw_time(0.2..0.8, chance));
        let fault = match kind {
            // The first element is the fault `None`, which causes no fault.
            Fault::Mixed => *chance.choice(&faults[1..]).unwrap_or(&kind),
            _ => kind,
        };
        let lasting = draw_time(lasting.clone(), chance);
        let Some((node, work)) = find_holder(locks, until, chance) else {
            break;
        };
        done.push((
            Instant::now(),
            format!("{} at node {}", name(&fault), node + 1),
        ));
        cause_fault(fault, locks, (node, work), lasting, chance)?;
    }
    Ok(done)
}

/// Waits for a process that works on the set. Returns `None` at the end of the time.
fn find_holder(locks: &Locks, until: Instant, chance: &mut Rng) -> Option<(usize, Pid)> {
    while Instant::now() < until {
        if let Some(one) = chance.choice(locks.working_processes()) {
            return Some(one);
        }
        sleep(POLL_INTERVAL);
    }
    None
}

/// Causes one fault on the node of the process `work`, which works on the set. Then ends the fault.
fn cause_fault(
    fault: Fault,
    locks: &Locks,
    (node, work): (usize, Pid),
    lasting: Duration,
    chance: &mut Rng,
) -> Result<()> {
    match fault {
        Fault::Cut => {
            let mut nodes: Vec<usize> = (0..locks.nodes().len()).collect();
            chance.shuffle(&mut nodes);
            locks.move_to("br1", &nodes[..nodes.len() / 2])?;
            sleep(lasting);
            return locks.move_to("br0", &nodes);
        }
        Fault::KillDaemon => {
            locks.daemons()[node].kill()?;
            sleep(lasting);
            return locks.daemons()[node].restart();
        }
        Fault::RestartOthers => {
            locks.move_to("br1", &[node])?;
            let mut daemons = locks.daemons();
            let mut others = others(&mut daemons, node);
            others.iter_mut().try_for_each(|it| it.kill())?;
            others.iter_mut().try_for_each(|it| it.restart())?;
            drop(daemons);
            sleep(lasting);
            return locks.move_to("br0", &[node]);
        }
        _ => {}
    }
    let client = parent(work);
    let mut struck = targets(fault, locks, node, client);
    if fault == Fault::KillClient {
        send(&struck, Signal::SIGKILL);
        sleep(lasting);
        return Ok(());
    }
    send(&struck, Signal::SIGSTOP);
    // A process may have started another process before it stopped.
    let mut late = targets(fault, locks, node, client);
    late.retain(|pid| !struck.contains(pid));
    send(&late, Signal::SIGSTOP);
    struck.append(&mut late);
    sleep(lasting);
    chance.shuffle(&mut struck);
    send(&struck, Signal::SIGCONT);
    Ok(())
}

/// Returns the processes that get the signal of a fault.
fn targets(fault: Fault, locks: &Locks, node: usize, client: Option<Pid>) -> Vec<Pid> {
    let all = locks.processes().into_iter();
    let here = all.filter_map(|(place, pid)| (place == node).then_some(pid));
    match fault {
        // If the client has just ended, the parent of its command is process 1, which belongs to no node.
        Fault::PauseClient | Fault::KillClient => here.filter(|&it| Some(it) == client).collect(),
        Fault::PauseKeeper => here
            .filter(|&it| parent(it) == client && runs(it, "ringd-keeper\0"))
            .collect(),
        Fault::PauseDaemon => vec![locks.daemons()[node].pid()],
        Fault::PauseOthers => {
            let mut daemons = locks.daemons();
            others(&mut daemons, node)
                .iter()
                .map(|it| it.pid())
                .collect()
        }
        _ => here.collect(),
    }
}

fn others(daemons: &mut [Server], node: usize) -> Vec<&mut Server> {
    let others = daemons.iter_mut().enumerate();
    others
        .filter_map(|(place, it)| (place != node).then_some(it))
        .collect()
}
