//! Backstops. If a holder disappears without releasing its lock, a backstop ends the holder's work.

use std::mem;
use std::os::fd::{BorrowedFd, OwnedFd};

use crate::{Hierarchy, KeptLine, KillFile};
use nix::errno::Errno;
use tracing::warn;

use crate::{Client, ClientId};

/// Maximum number of life lines that the daemon keeps after the end of their holders.
const LINES_MAX: usize = 8;

#[derive(Debug, Default)]
struct Backstop {
    /// No other backstop of this process has the same number.
    number: u64,
    line: Option<KeptLine>,
    /// A copy of one end of a second life line. The holder has both ends of this line. If the holder is frozen, it does
    /// not end. Then the daemon uses this copy to signal the holder's work.
    trigger: Option<KeptLine>,
    kill: Option<KillFile>,
}

impl Backstop {
    /// Stores a life line. A holder may pass two life lines.
    fn store_line(&mut self, line: KeptLine) -> Result<(), &'static str> {
        let place = if self.line.is_none() {
            &mut self.line
        } else {
            &mut self.trigger
        };
        if place.is_some() {
            return Err("the client has sent more than two Unix sockets");
        }
        *place = Some(line);
        Ok(())
    }
}

/// The descriptors of all holders. If a holder disappears without a release, it was probably killed. The processes that
/// should end its work may be dead too. So the daemon uses the descriptors of the holder to end this work.
#[derive(Debug)]
pub struct Backstops {
    hierarchy: Option<Hierarchy>,
    of_holders: Vec<(ClientId, Backstop)>,
    /// The number of the last backstop.
    last_number: u64,
    /// Life lines of ended holders. When a process ends, the kernel closes its descriptors one by one. So the holder's
    /// end of its line may close a little later than its connection to the daemon.
    lines: Vec<KeptLine>,
}

impl Default for Backstops {
    fn default() -> Self {
        Self::new()
    }
}

impl Backstops {
    /// Creates an empty store.
    pub fn new() -> Self {
        Self {
            hierarchy: Hierarchy::find(),
            of_holders: Vec::new(),
            last_number: 0,
            lines: Vec::new(),
        }
    }

    /// Stores the descriptors of a holder, and drops the holder's earlier descriptors. Descriptors that it refuses stay
    /// in `descriptors`.
    ///
    /// # Errors
    /// Fails if it refuses a descriptor. The error is a sentence with the reason. The other descriptors are stored.
    pub fn store(
        &mut self,
        client: Client,
        descriptors: &mut Vec<OwnedFd>,
    ) -> Result<(), &'static str> {
        if descriptors.is_empty() {
            return Err("this request needs a descriptor");
        }
        self.last_number += 1;
        let mut backstop = Backstop {
            number: self.last_number,
            ..Backstop::default()
        };
        let mut taken = Ok(());
        for descriptor in mem::take(descriptors) {
            match KeptLine::new(descriptor, client.user()) {
                Ok(line) => taken = backstop.store_line(line).and(taken),
                Err(other) => match self.kill_file(other) {
                    Ok(kill) => backstop.kill = Some(kill),
                    Err((why, other)) => {
                        taken = Err(why);
                        descriptors.push(other);
                    }
                },
            }
        }
        self.of_holders.retain(|(holder, _)| *holder != client.id);
        self.of_holders.push((client.id, backstop));
        taken
    }

    fn kill_file(&self, descriptor: OwnedFd) -> Result<KillFile, (&'static str, OwnedFd)> {
        let Some(hierarchy) = self.hierarchy else {
            return Err(("this daemon sees no control groups (version 2)", descriptor));
        };
        let found = hierarchy.kill_file(descriptor);
        found.map_err(|other| {
            let why = "a descriptor is neither a Unix socket nor a cgroup.kill";
            (why, other)
        })
    }

    /// Returns the life line of a holder, with a number that no other line has. Returns `None` if the holder passed no
    /// life line.
    pub fn line(&self, client: ClientId) -> Option<(u64, BorrowedFd<'_>)> {
        let mut holders = self.of_holders.iter();
        let (_, backstop) = holders.find(|(holder, _)| *holder == client)?;
        let line = backstop.line.as_ref()?.descriptor()?;
        Some((backstop.number, line))
    }

    /// Drops the descriptors of a holder that released the lock, because its work is over.
    pub fn cancel(&mut self, client: ClientId) {
        let given_back = |(holder, _): &mut (ClientId, Backstop)| *holder == client;
        for (_, backstop) in self.of_holders.extract_if(.., given_back) {
            if let Some(line) = backstop.line {
                line.untie();
            }
        }
    }

    /// Ends the work of a client that disappeared.
    pub fn end(&mut self, client: ClientId) {
        self.end_unless(|holder| holder != client);
    }

    /// Ends the work of all clients that lost the lock without a release.
    pub fn end_unless(&mut self, holds: impl Fn(ClientId) -> bool) {
        if self.of_holders.iter().all(|(holder, _)| holds(*holder)) {
            return;
        }
        self.lines.retain(|line| !line.is_closed());
        for (_, backstop) in self
            .of_holders
            .extract_if(.., |(holder, _)| !holds(*holder))
        {
            if let Some(kill) = backstop.kill {
                end_group(&kill);
            }
            if let Some(trigger) = backstop.trigger {
                trigger.signal_target();
            }
            self.lines.extend(backstop.line);
        }
        let surplus = self.lines.len().saturating_sub(LINES_MAX);
        self.lines.drain(..surplus);
    }
}

fn end_group(kill: &KillFile) {
    let Err(error) = kill.kill() else { return };
    // This error means that the control group was removed, so it has no processes.
    if error.raw_os_error() != Some(Errno::ENODEV as i32) {
        warn!(
            event = "holder_not_ended",
            "cannot end the processes of a holder that disappeared without releasing the lock: {error}"
        );
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::fd::{AsFd, OwnedFd};
    use std::process::Child;

    use nix::sys::signal::Signal;
    use nix::unistd::Pid;

    use super::{Backstops, Client};
    use crate::test_processes::{signal_that_ended, sleeper};
    use crate::{Lifeline, SignalTarget};

    const CLIENT: Client = Client {
        id: 1,
        pid: None,
        uid: None,
    };

    /// Makes a life line whose target is a process, and returns both ends. The first end is for the daemon.
    fn line_to(process: &Child) -> (OwnedFd, OwnedFd) {
        let (line, end) = Lifeline::new().expect("a line");
        let pid = Pid::from_raw(process.id().cast_signed());
        line.tie(SignalTarget::Process(pid), Signal::SIGTERM)
            .expect("tied");
        let handed_over = line.as_fd().try_clone_to_owned().expect("a copy");
        (handed_over, end)
    }

    #[test]
    fn a_life_line_is_kept_until_its_other_end_closes() {
        let (process, _) = sleeper();
        let (line, end) = line_to(&process);
        let mut backstops = Backstops::new();
        assert_eq!(backstops.store(CLIENT, &mut vec![line]), Ok(()));
        backstops.end_unless(|_| true);
        backstops.end(1);
        drop(end);
        assert_eq!(signal_that_ended(process), Some(Signal::SIGTERM as i32));
    }

    #[test]
    fn the_work_of_a_frozen_holder_is_ended() {
        let (process, _) = sleeper();
        let (line, _end) = line_to(&process);
        // The holder still lives, and has both ends of the second line.
        let (second, second_end) = line_to(&process);
        let trigger = second_end.try_clone().expect("a copy");
        let mut backstops = Backstops::new();
        assert_eq!(backstops.store(CLIENT, &mut vec![line, trigger]), Ok(()));
        backstops.end_unless(|_| true);
        assert!(backstops.lines.is_empty());
        backstops.end_unless(|_| false);
        assert_eq!(signal_that_ended(process), Some(Signal::SIGTERM as i32));
        drop((second, second_end));
    }

    #[test]
    fn a_release_drops_the_holders_descriptors() {
        let (mut process, _) = sleeper();
        let (line, end) = line_to(&process);
        let mut backstops = Backstops::new();
        assert_eq!(backstops.store(CLIENT, &mut vec![line]), Ok(()));
        assert!(backstops.line(1).is_some() && backstops.line(2).is_none());
        backstops.cancel(1);
        assert!(backstops.line(1).is_none());
        drop(end);
        process.kill().expect("it is our child");
        assert_eq!(signal_that_ended(process), Some(Signal::SIGKILL as i32));
    }

    #[test]
    fn other_descriptors_are_refused() {
        let mut backstops = Backstops::new();
        assert!(backstops.store(CLIENT, &mut Vec::new()).is_err());
        let file = File::open("/dev/null").expect("it is there");
        let mut descriptors = vec![file.into()];
        assert!(backstops.store(CLIENT, &mut descriptors).is_err());
        assert_eq!(descriptors.len(), 1, "the caller closes it");
    }
}
