//! Runs a member on a node, with a socket, a clock and a thread.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::{Context, Result};
use ring_segment::{Node, Peer, Rng, Timing, epoch, now};

use super::{Member, Outgoing};
use crate::journal::{Event, Journal};

/// Longest time until the thread notices a new command.
const POLL_INTERVAL: Duration = Duration::from_millis(10);
const HOLD_MAX: Duration = Duration::from_millis(30);
const REST_MAX: Duration = Duration::from_millis(150);

#[derive(Debug, Default)]
struct Commands {
    over: AtomicBool,
    busy: AtomicBool,
}

#[derive(Debug)]
pub struct MemberHandle {
    commands: Arc<Commands>,
    thread: Option<JoinHandle<Result<()>>>,
}

impl MemberHandle {
    /// Sets whether the member wants the token repeatedly.
    pub fn keep_busy(&self, busy: bool) {
        self.commands.busy.store(busy, Ordering::Relaxed);
    }
}

impl Drop for MemberHandle {
    fn drop(&mut self) {
        self.commands.over.store(true, Ordering::Relaxed);
        if let Some(Ok(Err(error))) = self.thread.take().map(JoinHandle::join) {
            eprintln!("a member ended early: {error:#}");
        }
    }
}

pub struct MemberOutputs {
    pub name: String,
    /// Path of the log, which has the format of the daemons' logs.
    pub log: PathBuf,
    pub journal: Journal,
}

pub fn start(
    node: &Node,
    timing: Timing,
    rng: Rng,
    outputs: MemberOutputs,
) -> Result<MemberHandle> {
    let ip = node.ip().map_or([0; 16], |ip| ip.to_ipv6_mapped().octets());
    let log = File::create(&outputs.log).context("cannot write a member's log")?;
    let mut life = MemberThread {
        peer: node.peer()?,
        member: Member::new(node.mac(), ip, timing, now()),
        timing,
        rng,
        outputs,
        log: BufWriter::new(log),
        next_wish: Duration::ZERO,
    };
    let commands = Arc::new(Commands::default());
    let received = Arc::clone(&commands);
    let thread = thread::Builder::new()
        .name("member".to_owned())
        .spawn(move || life.run(&received))
        .context("cannot start a member's thread")?;
    Ok(MemberHandle {
        commands,
        thread: Some(thread),
    })
}

struct MemberThread {
    peer: Peer,
    member: Member,
    timing: Timing,
    rng: Rng,
    outputs: MemberOutputs,
    log: BufWriter<File>,
    next_wish: Duration,
}

impl MemberThread {
    fn run(&mut self, commands: &Commands) -> Result<()> {
        self.log_event("started", None)?;
        while !commands.over.load(Ordering::Relaxed) {
            let due = self.member.deadline();
            let wait = due.saturating_sub(now()).min(POLL_INTERVAL);
            let seen = self.peer.receive(wait)?;
            let before = self.member.state();
            let at = now();
            // Reads waiting frames before any timeout fires, because the frames may be the answers for which the
            // timeout waits.
            let outgoing = if let Some(seen) = seen {
                self.note_delay(at.saturating_sub(seen.at))?;
                self.member.on_frame(at, &seen)
            } else {
                self.note_delay(at.saturating_sub(due.max(at.saturating_sub(wait))))?;
                self.request(at, commands.busy.load(Ordering::Relaxed));
                self.member.on_timeout(at)
            };
            self.send_all(outgoing);
            if self.member.state() != before {
                self.log_event("state_changed", Some(before))?;
            }
        }
        self.log.flush().context("cannot write a member's log")
    }

    fn request(&mut self, at: Duration, busy: bool) {
        if busy && !self.member.wants() && at >= self.next_wish {
            let hold = HOLD_MAX.mul_f64(self.rng.f64());
            self.next_wish = at + hold + REST_MAX.mul_f64(self.rng.f64());
            self.member.want(at, hold);
        }
    }

    /// Sends messages. If the link is down, the frame is lost.
    fn send_all(&self, outgoing: Vec<Outgoing>) {
        for (to, message) in outgoing {
            let _ = self.peer.send(to, &message);
        }
    }

    fn note_delay(&self, late: Duration) -> Result<()> {
        if late <= self.timing.take_timeout {
            return Ok(());
        }
        self.outputs.journal.note(Event::Late {
            who: self.outputs.name.clone(),
            by_ns: u64::try_from(late.as_nanos()).unwrap_or(u64::MAX),
        })
    }

    fn log_event(&mut self, event: &str, from: Option<&str>) -> Result<()> {
        let at = std::time::UNIX_EPOCH + epoch() + now();
        let line = serde_json::json!({
            "timestamp": humantime::format_rfc3339_micros(at).to_string(),
            "event": event,
            "from": from,
            "to": self.member.state(),
        });
        writeln!(self.log, "{line}").context("cannot write a member's log")
    }
}
