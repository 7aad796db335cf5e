//! Captures every frame of the ring that a node sends: each frame once, in order, with the kernel's timestamp.

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
use crate::packet_socket::{RawSocket, Received};
use crate::wire::Seen;

/// Longest time until the capture's thread notices that it should end.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// Change of the thread's nice value: a little larger than the change that daemons request.
const NICE_CHANGE: i32 = -11;

#[derive(Debug, Default)]
pub(crate) struct Recording {
    frames: Mutex<Vec<Seen>>,
    /// Frames that arrived after the frames in `frames`. Because this list is separate, a test that reads `frames` for
    /// a long time does not block the thread. Lock order: `frames` first.
    inbox: Mutex<Vec<Seen>>,
    grown: Condvar,
    ports: Mutex<HashMap<usize, usize>>,
    lost: AtomicU32,
    over: AtomicBool,
}

/// A recording of each node's link, at the hub's end of the link. The recording has each frame in the form in which the
/// node sent it, before the bridge or the switch handles the frame. The recording also has the frames of a node that is
/// cut off.
#[derive(Debug)]
pub struct Capture {
    recording: Arc<Recording>,
    socket: Arc<RawSocket>,
    ethertype: u16,
    thread: Option<JoinHandle<Result<()>>>,
}

impl Recording {
    fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
        // If a test panicked while it held the lock, the list still contains only whole frames.
        mutex.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn frames(&self) -> Vec<Seen> {
        let mut frames = Self::lock(&self.frames);
        frames.append(&mut Self::lock(&self.inbox));
        frames.clone()
    }

    fn parse_received(&self, received: Received) -> Option<Seen> {
        let port = *Self::lock(&self.ports).get(&received.interface)?;
        Seen::read(received.at, port, received.bytes)
    }

    /// Records all frames that the kernel has already received. A test calls this function before it reads the frames,
    /// so the test does not depend on the progress of the capture's thread.
    ///
    /// The function locks the inbox for one frame at a time. If the function locked the inbox for longer, a test that
    /// waits for a CPU would block the capture's thread.
    fn catch_up(&self, socket: &RawSocket) -> Result<()> {
        let began = clock::now();
        loop {
            let mut inbox = Self::lock(&self.inbox);
            let Some(received) = socket.try_receive()? else {
                return Ok(());
            };
            self.lost.store(received.lost, Ordering::Relaxed);
            // Without this limit a storm of frames would keep the loop running, because another frame would always
            // follow.
            let is_later = received.at > began;
            if let Some(seen) = self.parse_received(received) {
                inbox.push(seen);
                self.grown.notify_all();
            }
            if is_later {
                return Ok(());
            }
        }
    }

    /// Returns all frames up to now.
    fn develop(&self, socket: &RawSocket) -> Result<MutexGuard<'_, Vec<Seen>>> {
        let mut frames = Self::lock(&self.frames);
        self.catch_up(socket)?;
        frames.append(&mut Self::lock(&self.inbox));
        Ok(frames)
    }

    fn run(&self, socket: &RawSocket) -> Result<()> {
        // Daemons raise their priority as far as the kernel permits. Three daemons that pass the token without a pause
        // would leave no CPU time for this thread at normal priority.
        let _ = nice(NICE_CHANGE);
        while !self.over.load(Ordering::Relaxed) {
            socket.wait(POLL_INTERVAL)?;
            self.catch_up(socket)?;
        }
        self.catch_up(socket)
    }
}

impl Capture {
    /// Starts a recording of all frames that arrive at a node, including frames to other destinations.
    pub(crate) fn of_arrivals(node: usize, ns: &NetNs, ethertype: u16) -> Result<Self> {
        let this = Self::start(ns, ethertype)?;
        let interface = ns
            .run(|| if_nametoindex("eth0"))?
            .context("the node has no eth0")?;
        this.assign_interface(usize::try_from(interface)?, node);
        Ok(this)
    }

    /// Starts a recording of the frames that a hub receives from its ports.
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

    /// Assigns the frames from an interface of the hub to a node.
    pub(crate) fn assign_interface(&self, interface: usize, port: usize) {
        Recording::lock(&self.recording.ports).insert(interface, port);
    }

    /// Stops the recording of a node's frames, for example if the node floods the segment.
    pub fn ignore(&self, port: usize) -> Result<()> {
        let ports = Recording::lock(&self.recording.ports).clone();
        let interfaces = ports.into_iter().filter(|(_, node)| *node == port);
        let ignored: Vec<usize> = interfaces.map(|(interface, _)| interface).collect();
        self.accept(Destinations::All, &ignored)
    }

    /// Stops recording all nodes. A stopped capture uses no CPU time.
    pub fn stop(&self) -> Result<()> {
        let ports = Recording::lock(&self.recording.ports).clone();
        let interfaces: Vec<usize> = ports.into_keys().collect();
        self.accept(Destinations::All, &interfaces)
    }

    /// Records only broadcasts. A fast ring sends only few broadcasts.
    pub fn record_only_broadcasts(&self) -> Result<()> {
        self.accept(Destinations::Broadcast, &[])
    }

    /// Records all frames again, not only broadcasts.
    pub fn record_all(&self) -> Result<()> {
        self.accept(Destinations::All, &[])
    }

    fn accept(&self, destinations: Destinations, ignored: &[usize]) -> Result<()> {
        let ethertype = Some(self.ethertype);
        self.socket.accept(ethertype, destinations, ignored)
    }

    /// Returns the recording up to now.
    fn develop(&self) -> MutexGuard<'_, Vec<Seen>> {
        let developed = self.recording.develop(&self.socket);
        developed.expect("the capture reads its socket")
    }

    /// Returns all frames up to now.
    ///
    /// # Panics
    /// Panics if the recording lacks frames because the buffer of its socket was full.
    pub fn frames(&self) -> Vec<Seen> {
        self.frames_from(0)
    }

    /// Returns the number of frames that the recording lacks because the buffer of its socket was full.
    pub fn lost(&self) -> u32 {
        self.recording.lost.load(Ordering::Relaxed)
    }

    /// Returns the frames since the last call and removes them from the recording. Earlier marks become invalid.
    /// Without regular calls of this function, a long recording would fill the memory.
    pub fn drain(&self) -> Vec<Seen> {
        std::mem::take(&mut *self.develop())
    }

    /// Returns a mark for [`Capture::wait_from`]: the number of frames up to now.
    pub fn mark(&self) -> usize {
        self.develop().len()
    }

    /// Returns the frames after a mark.
    ///
    /// # Panics
    /// Panics in the same cases as [`Capture::frames`].
    pub fn frames_from(&self, mark: usize) -> Vec<Seen> {
        self.look(|frames| frames[mark..].to_vec())
    }

    /// Calls `at` with all frames without copying them. Long recordings of fast rings are too large to copy often.
    ///
    /// # Panics
    /// Panics in the same cases as [`Capture::frames`].
    pub fn look<T>(&self, at: impl FnOnce(&[Seen]) -> T) -> T {
        let frames = self.develop();
        let lost = self.lost();
        assert_eq!(
            lost, 0,
            "the capture lost frames, so the test proves nothing"
        );
        at(&frames)
    }

    /// Waits for the first frame after a mark that `wanted` accepts.
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

    /// Waits for the next frame that `wanted` accepts.
    pub fn wait_for(&self, timeout: Duration, wanted: impl Fn(&Seen) -> bool) -> Result<Seen> {
        self.wait_from(self.mark(), timeout, wanted)
    }

    /// Calls `wanted` with all frames whenever new frames have arrived, until `wanted` returns a value.
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
                    "the expected frames did not arrive in {timeout:?}; the last frames, newest \
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
