//! Every frame of the ring that any node sends: once, in order, with the kernel's time stamp.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use nix::net::if_::if_nametoindex;
use rustix::process::nice;

use crate::clock;
use crate::filter::Destinations;
use crate::netns::NetNs;
use crate::raw::{RawSocket, Received};
use crate::wire::Seen;

/// How soon the thread notices that it is no longer wanted.
const TURN: Duration = Duration::from_millis(20);
/// What is added to the thread's nice value: a little more than what daemons ask for.
const FAVOURED: i32 = -11;

/// The frames seen so far.
#[derive(Debug, Default)]
pub(crate) struct Recording {
    frames: Mutex<Vec<Seen>>,
    /// Those that follow them. Long looks at the frames do not keep the thread from reading.
    /// Locked after them.
    inbox: Mutex<Vec<Seen>>,
    grown: Condvar,
    ports: Mutex<HashMap<usize, usize>>,
    lost: AtomicU32,
    over: AtomicBool,
}

/// A recording of the segment, made on the far side of every node's interface. It sees a frame as
/// the node sent it, before the bridge or the switch does anything with it, and even if the node
/// is cut off.
#[derive(Debug)]
pub struct Capture {
    recording: Arc<Recording>,
    socket: Arc<RawSocket>,
    ethertype: u16,
    thread: Option<JoinHandle<Result<()>>>,
}

impl Recording {
    fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
        // A test that failed while it held the lock has left whole frames behind.
        mutex.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn frames(&self) -> Vec<Seen> {
        let mut frames = Self::lock(&self.frames);
        frames.append(&mut Self::lock(&self.inbox));
        frames.clone()
    }

    fn seen(&self, received: Received) -> Option<Seen> {
        let port = *Self::lock(&self.ports).get(&received.interface)?;
        Seen::read(received.at, port, received.bytes)
    }

    /// Records what has come by now. Whoever looks at the frames does so first: what they see is
    /// then what the kernel has, however far behind the thread is.
    ///
    /// The inbox is locked for one frame at a time: who looks may have to wait for a processor in
    /// the middle of it, and is not to keep the thread from reading.
    fn catch_up(&self, socket: &RawSocket) -> Result<()> {
        let began = clock::now();
        loop {
            let mut inbox = Self::lock(&self.inbox);
            let Some(received) = socket.try_receive()? else {
                return Ok(());
            };
            self.lost.store(received.lost, Ordering::Relaxed);
            // A storm has no end to wait for.
            let is_later = received.at > began;
            if let Some(seen) = self.seen(received) {
                inbox.push(seen);
                self.grown.notify_all();
            }
            if is_later {
                return Ok(());
            }
        }
    }

    /// Everything up to now.
    fn develop(&self, socket: &RawSocket) -> Result<MutexGuard<'_, Vec<Seen>>> {
        let mut frames = Self::lock(&self.frames);
        self.catch_up(socket)?;
        frames.append(&mut Self::lock(&self.inbox));
        Ok(frames)
    }

    fn run(&self, socket: &RawSocket) -> Result<()> {
        // Daemons favour themselves as far as they may: three that pass the token round without a
        // pause leave nothing for who is not favoured as well.
        let _ = nice(FAVOURED);
        while !self.over.load(Ordering::Relaxed) {
            socket.wait(TURN)?;
            self.catch_up(socket)?;
        }
        self.catch_up(socket)
    }
}

impl Capture {
    /// Starts to record what arrives at a node, whoever it is for.
    pub(crate) fn of_arrivals(node: usize, ns: &NetNs, ethertype: u16) -> Result<Self> {
        let this = Self::start(ns, ethertype)?;
        let interface = ns
            .run(|| if_nametoindex("eth0"))?
            .context("the node has no eth0")?;
        this.attribute(usize::try_from(interface)?, node);
        Ok(this)
    }

    /// Starts to record what comes in from the ports of a hub.
    pub(crate) fn start(hub: &NetNs, ethertype: u16) -> Result<Self> {
        let recording = Arc::new(Recording::default());
        let socket = Arc::new(hub.run(|| RawSocket::on_all(Some(ethertype)))??);
        let lens = Arc::clone(&socket);
        let (script, name) = (Arc::clone(&recording), "capture".to_owned());
        let thread = thread::Builder::new()
            .name(name)
            .spawn(move || script.run(&lens))
            .context("cannot start the capture's thread")?;
        Ok(Self {
            recording,
            socket,
            ethertype,
            thread: Some(thread),
        })
    }

    pub(crate) fn recording(&self) -> Arc<Recording> {
        Arc::clone(&self.recording)
    }

    /// Attributes what comes in from an interface of the hub to a node.
    pub(crate) fn attribute(&self, interface: usize, port: usize) {
        Recording::lock(&self.recording.ports).insert(interface, port);
    }

    /// Records nothing more from a node (one that floods the segment with garbage).
    pub fn ignore(&self, port: usize) -> Result<()> {
        let ports = Recording::lock(&self.recording.ports).clone();
        let interfaces = ports.into_iter().filter(|(_, node)| *node == port);
        let ignored: Vec<usize> = interfaces.map(|(interface, _)| interface).collect();
        self.accept(Destinations::All, &ignored)
    }

    /// Records nothing more from anybody, and costs nothing more.
    pub fn stop(&self) -> Result<()> {
        let ports = Recording::lock(&self.recording.ports).clone();
        let interfaces: Vec<usize> = ports.into_keys().collect();
        self.accept(Destinations::All, &interfaces)
    }

    /// Records nothing but what is for everybody: of a fast ring that is little.
    pub fn record_broadcasts(&self) -> Result<()> {
        self.accept(Destinations::Broadcast, &[])
    }

    /// Records everything again.
    pub fn record_all(&self) -> Result<()> {
        self.accept(Destinations::All, &[])
    }

    fn accept(&self, destinations: Destinations, ignored: &[usize]) -> Result<()> {
        let ethertype = Some(self.ethertype);
        self.socket.accept(ethertype, destinations, ignored)
    }

    /// The recording, up to now.
    fn develop(&self) -> MutexGuard<'_, Vec<Seen>> {
        let developed = self.recording.develop(&self.socket);
        developed.expect("the kernel gives what the socket has")
    }

    /// Everything so far.
    ///
    /// # Panics
    /// If the recording has gaps: its socket had no room for a frame.
    pub fn frames(&self) -> Vec<Seen> {
        self.frames_from(0)
    }

    /// How many frames the recording lacks, since its socket had no room for them.
    pub fn lost(&self) -> u32 {
        self.recording.lost.load(Ordering::Relaxed)
    }

    /// Everything since the last call; it is kept no longer, and marks lose their meaning. For
    /// recordings that last longer than memory.
    pub fn drain(&self) -> Vec<Seen> {
        std::mem::take(&mut *self.develop())
    }

    /// How many frames so far: where [`Capture::wait_from`] begins to look.
    pub fn mark(&self) -> usize {
        self.develop().len()
    }

    /// Everything since a mark.
    ///
    /// # Panics
    /// As [`Capture::frames`].
    pub fn frames_from(&self, mark: usize) -> Vec<Seen> {
        self.look(|frames| frames[mark..].to_vec())
    }

    /// Looks at everything so far where it lies. Long recordings of fast rings are too much to copy
    /// again and again.
    ///
    /// # Panics
    /// As [`Capture::frames`].
    pub fn look<T>(&self, at: impl FnOnce(&[Seen]) -> T) -> T {
        let frames = self.develop();
        let lost = self.lost();
        assert_eq!(lost, 0, "the capture itself lost frames: it proves nothing");
        at(&frames)
    }

    /// Waits for the first frame since a mark that is as `wanted`.
    pub fn wait_from(
        &self,
        mark: usize,
        timeout: Duration,
        wanted: impl Fn(&Seen) -> bool,
    ) -> Result<Seen> {
        let mut next = mark;
        self.wait_until(timeout, |frames| {
            let found = frames[next..].iter().find(|seen| wanted(seen)).cloned();
            next = frames.len();
            found
        })
    }

    /// Waits for the next frame that is as `wanted`.
    pub fn wait_for(&self, timeout: Duration, wanted: impl Fn(&Seen) -> bool) -> Result<Seen> {
        self.wait_from(self.mark(), timeout, wanted)
    }

    /// Looks at all frames whenever there are new ones, until `wanted` finds something.
    pub fn wait_until<T>(
        &self,
        timeout: Duration,
        mut wanted: impl FnMut(&[Seen]) -> Option<T>,
    ) -> Result<T> {
        let deadline = Instant::now() + timeout;
        loop {
            let frames = self.recording.develop(&self.socket)?;
            if let Some(found) = wanted(&frames) {
                return Ok(found);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                let tail: Vec<String> = frames
                    .iter()
                    .rev()
                    .take(12)
                    .map(|seen| format!("  {seen:?}"))
                    .collect();
                bail!(
                    "what was waited for did not come in {timeout:?}; the last frames, newest \
                     first:\n{}",
                    tail.join("\n")
                );
            }
            let inbox = Recording::lock(&self.recording.inbox);
            drop(frames);
            if inbox.is_empty() {
                drop(self.recording.grown.wait_timeout(inbox, left));
            }
        }
    }

    /// Lets the segment run for a while and gives what was sent meanwhile.
    pub fn watch(&self, window: Duration) -> Vec<Seen> {
        let mark = self.mark();
        thread::sleep(window);
        self.frames_from(mark)
    }
}

impl Drop for Capture {
    fn drop(&mut self) {
        self.recording.over.store(true, Ordering::Relaxed);
        if let Some(Ok(Err(error))) = self.thread.take().map(JoinHandle::join) {
            eprintln!("the capture ended early: {error:#}");
        }
    }
}
