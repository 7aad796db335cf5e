//! The guardian's process.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::Instant;

use ring_process::capabilities::CapabilitySet;
use ring_process::sandbox::{Files, Sandbox};
use ring_process::{RingLock, SharedRecord, WorkLines, helper};
use ring_runtime::net::FrameSender;
use ring_runtime::{clock, nice};

use super::shared_frames::SharedFrames;

/// Starts the process. It keeps the lock of the daemon until it ends. So no new daemon starts before it has sent its
/// frames of `ethertype`.
pub(super) fn start(
    record: &SharedRecord,
    lock: &RingLock,
    ethertype: u16,
) -> io::Result<UnixStream> {
    let sender = FrameSender::open()?;
    let kept = [lock.as_fd(), sender.as_fd()];
    helper::start_survivor(c"ringd-guardian", &kept, |daemon_end| {
        // Without the permission for a higher priority, the guardian of a busy machine is later.
        let _ = nice::raise_priority(nice::URGENT_NICE);
        let sandbox = Sandbox {
            capabilities: CapabilitySet::empty(),
            address_families: &[libc::AF_UNIX],
            files: Files::default(),
        };
        if sandbox.enter().is_ok() {
            let mut lines = WorkLines::default();
            // The thread that ended is the loop. No other thread sends frames.
            if daemon_end.wait(&mut lines) {
                send_last_frames(record, ethertype, &sender, &lines);
                // The end of this process also closes descriptors of programs, which may take long.
                lock.unlock();
            }
        }
    })
}

fn send_last_frames(
    record: &SharedRecord,
    ethertype: u16,
    sender: &FrameSender,
    lines: &WorkLines,
) {
    let Some(bytes) = record.read() else { return };
    let Some(mut frames) = SharedFrames::decode(&bytes) else {
        return;
    };
    let interface = frames.interface;
    // The lock does not exclude a daemon of another user or container. The socket of the dead daemon excludes it only
    // for some milliseconds. If the interface no longer exists, no daemon can use it.
    let _ = sender.occupy(interface, ethertype);
    let deadline = Instant::now() + frames.programs_limit(clock::now().monotonic);
    if lines.wait_for_ends(&frames.work_lines, deadline) {
        // If the interface sends nothing, the members notice the silence.
        let send = |frame: &[u8]| drop(sender.send(interface, frame));
        while let Some((frame, pause)) = frames.next_offer(clock::now().monotonic) {
            send(&frame);
            thread::sleep(pause);
        }
        send(&frames.leaving(clock::now().monotonic));
    }
    // A new daemon that gets the lock must not find this socket.
    let _ = sender.occupy(0, ethertype);
}
