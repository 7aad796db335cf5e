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

use super::{Letter, Member};
use crate::journal::{Journal, What};

/// Longest time until the thread notices a new command.
const TURN: Duration = Duration::from_millis(10);
const LONGEST_HOLD: Duration = Duration::from_millis(30);
const LONGEST_REST: Duration = Duration::from_millis(150);

#[derive(Debug, Default)]
struct Orders {
    over: AtomicBool,
    busy: AtomicBool,
}

/// A running member. It ends on drop.
#[derive(Debug)]
pub struct Handle {
    orders: Arc<Orders>,
    thread: Option<JoinHandle<Result<()>>>,
}

impl Handle {
    /// Makes the member want the token again and again, or stop doing so.
    pub fn keep_busy(&self, busy: bool) {
        self.orders.busy.store(busy, Ordering::Relaxed);
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.orders.over.store(true, Ordering::Relaxed);
        if let Some(Ok(Err(error))) = self.thread.take().map(JoinHandle::join) {
            eprintln!("a member ended early: {error:#}");
        }
    }
}

/// Outputs of a member.
pub struct Says {
    /// Name in the journal.
    pub name: String,
    /// Log, in the format of the daemons.
    pub log: PathBuf,
    /// Journal of the run.
    pub journal: Journal,
}

/// Starts a member on a node.
pub fn start(node: &Node, timing: Timing, dice: Rng, says: Says) -> Result<Handle> {
    let ip = node.ip().map_or([0; 16], |ip| ip.to_ipv6_mapped().octets());
    let log = File::create(&says.log).context("cannot write a member's log")?;
    let mut life = Life {
        peer: node.peer()?,
        member: Member::new(node.mac(), ip, timing, now()),
        timing,
        dice,
        says,
        log: BufWriter::new(log),
        next_wish: Duration::ZERO,
    };
    let orders = Arc::new(Orders::default());
    let heard = Arc::clone(&orders);
    let thread = thread::Builder::new()
        .name("member".to_owned())
        .spawn(move || life.run(&heard))
        .context("cannot start a member's thread")?;
    Ok(Handle {
        orders,
        thread: Some(thread),
    })
}

struct Life {
    peer: Peer,
    member: Member,
    timing: Timing,
    dice: Rng,
    says: Says,
    log: BufWriter<File>,
    next_wish: Duration,
}

impl Life {
    fn run(&mut self, orders: &Orders) -> Result<()> {
        self.say("started", None)?;
        while !orders.over.load(Ordering::Relaxed) {
            let due = self.member.deadline();
            let wait = due.saturating_sub(now()).min(TURN);
            let seen = self.peer.receive(wait)?;
            let before = self.member.state();
            let at = now();
            // Reads waiting frames before any timeout: they may be the answers that the timeout waits for.
            let letters = if let Some(seen) = seen {
                self.notice(at.saturating_sub(seen.at))?;
                self.member.hear(at, &seen)
            } else {
                self.notice(at.saturating_sub(due.max(at.saturating_sub(wait))))?;
                self.wish(at, orders.busy.load(Ordering::Relaxed));
                self.member.wake(at)
            };
            self.post(letters);
            if self.member.state() != before {
                self.say("state_changed", Some(before))?;
            }
        }
        self.log.flush().context("cannot write a member's log")
    }

    fn wish(&mut self, at: Duration, busy: bool) {
        if busy && !self.member.wants() && at >= self.next_wish {
            let hold = LONGEST_HOLD.mul_f64(self.dice.f64());
            self.next_wish = at + hold + LONGEST_REST.mul_f64(self.dice.f64());
            self.member.want(at, hold);
        }
    }

    /// Sends messages. If the link is down, the frame is lost.
    fn post(&self, letters: Vec<Letter>) {
        for (to, message) in letters {
            let _ = self.peer.send(to, &message);
        }
    }

    fn notice(&self, late: Duration) -> Result<()> {
        if late <= self.timing.take_timeout {
            return Ok(());
        }
        self.says.journal.note(What::Late {
            who: self.says.name.clone(),
            by_ns: u64::try_from(late.as_nanos()).unwrap_or(u64::MAX),
        })
    }

    fn say(&mut self, event: &str, from: Option<&str>) -> Result<()> {
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
