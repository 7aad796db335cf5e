//! Ends the work of a holder that disappears without giving the lock back.

use std::mem;
use std::os::fd::OwnedFd;

use crate::{Hierarchy, KeptLine, KillFile};
use nix::errno::Errno;
use tracing::warn;

use crate::{Client, ClientId};

/// Maximum life lines kept for holders that are gone.
const MOST_LINES: usize = 8;

/// The descriptors that one holder has handed over.
#[derive(Debug, Default)]
struct Backstop {
    line: Option<KeptLine>,
    /// The other end of a line of which the holder has both: a holder that is frozen does not end.
    trigger: Option<KeptLine>,
    kill: Option<KillFile>,
}

impl Backstop {
    /// Takes a line, of which there may be two.
    fn take_line(&mut self, line: KeptLine) -> Result<(), &'static str> {
        let place = if self.line.is_none() {
            &mut self.line
        } else {
            &mut self.trigger
        };
        if place.is_some() {
            return Err("there are more Unix sockets than two");
        }
        *place = Some(line);
        Ok(())
    }
}

/// The descriptors that holders have handed over, used if they disappear without a word: their process was
/// killed, and whatever else would have ended their work may be dead as well.
#[derive(Debug)]
pub struct Backstops {
    hierarchy: Option<Hierarchy>,
    of_holders: Vec<(ClientId, Backstop)>,
    /// Life lines of holders that are gone. The kernel closes a process's descriptors one after the other, so
    /// the other end of the line may close a little later than the connection.
    lines: Vec<KeptLine>,
}

impl Default for Backstops {
    fn default() -> Self {
        Self::new()
    }
}

impl Backstops {
    /// No descriptors yet.
    pub fn new() -> Self {
        Self {
            hierarchy: Hierarchy::find(),
            of_holders: Vec::new(),
            lines: Vec::new(),
        }
    }

    /// Takes the descriptors that a holder hands over; they replace those that it handed over before.
    /// Descriptors that are not taken stay where they are.
    ///
    /// # Errors
    /// Why one of the descriptors is not taken, as a sentence; the other one is taken.
    pub fn set(
        &mut self,
        client: Client,
        descriptors: &mut Vec<OwnedFd>,
    ) -> Result<(), &'static str> {
        if descriptors.is_empty() {
            return Err("no descriptor came with this request");
        }
        let mut backstop = Backstop::default();
        let mut taken = Ok(());
        for descriptor in mem::take(descriptors) {
            match KeptLine::new(descriptor, client.user()) {
                Ok(line) => taken = backstop.take_line(line).and(taken),
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

    /// The holder has given the lock back: none of its work is left.
    pub fn cancel(&mut self, client: ClientId) {
        let given_back = |(holder, _): &mut (ClientId, Backstop)| *holder == client;
        for (_, backstop) in self.of_holders.extract_if(.., given_back) {
            if let Some(line) = backstop.line {
                line.untie();
            }
        }
    }

    /// Ends the work of a client that is gone.
    pub fn end(&mut self, client: ClientId) {
        self.end_unless(|holder| holder != client);
    }

    /// Ends the work of all clients that no longer hold the lock and have not said that it has ended.
    pub fn end_unless(&mut self, holds: impl Fn(ClientId) -> bool) {
        if self.of_holders.iter().all(|(holder, _)| holds(*holder)) {
            return;
        }
        self.lines.retain(|line| !line.is_over());
        for (_, backstop) in self
            .of_holders
            .extract_if(.., |(holder, _)| !holds(*holder))
        {
            if let Some(kill) = backstop.kill {
                end_group(&kill);
            }
            if let Some(trigger) = backstop.trigger {
                trigger.pull();
            }
            self.lines.extend(backstop.line);
        }
        let surplus = self.lines.len().saturating_sub(MOST_LINES);
        self.lines.drain(..surplus);
    }
}

fn end_group(kill: &KillFile) {
    let Err(error) = kill.kill() else { return };
    // A group that is gone has no processes.
    if error.raw_os_error() != Some(Errno::ENODEV as i32) {
        warn!(
            event = "holder_not_ended",
            "a holder has gone without giving the lock back, and what it ran cannot be ended: {error}"
        );
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::fd::{AsFd, OwnedFd};
    use std::os::unix::process::ExitStatusExt;
    use std::process::{Child, Command};

    use nix::sys::signal::Signal;
    use nix::unistd::Pid;

    use super::{Backstops, Client};
    use crate::{Lifeline, Tied};

    const CLIENT: Client = Client {
        id: 1,
        pid: None,
        uid: None,
    };

    fn sleeper() -> Child {
        Command::new("sleep")
            .arg("1000")
            .spawn()
            .expect("a sleeper")
    }

    /// A line to a process, as the daemon is handed it, and its other end.
    fn line_to(process: &Child) -> (OwnedFd, OwnedFd) {
        let (line, end) = Lifeline::new().expect("a line");
        let pid = Pid::from_raw(process.id().cast_signed());
        line.tie(Tied::Process(pid), Signal::SIGTERM).expect("tied");
        let handed_over = line.as_fd().try_clone_to_owned().expect("a copy");
        (handed_over, end)
    }

    fn signal_that_ended(mut process: Child) -> Option<i32> {
        process.wait().expect("it is our child").signal()
    }

    #[test]
    fn a_life_line_is_kept_until_its_other_end_is_closed() {
        let process = sleeper();
        let (line, end) = line_to(&process);
        let mut backstops = Backstops::new();
        assert_eq!(backstops.set(CLIENT, &mut vec![line]), Ok(()));
        backstops.end_unless(|_| true);
        backstops.end(1);
        drop(end);
        assert_eq!(signal_that_ended(process), Some(Signal::SIGTERM as i32));
    }

    #[test]
    fn the_work_of_a_holder_that_does_not_end_is_ended_when_its_time_is_up() {
        let process = sleeper();
        let (line, _end) = line_to(&process);
        // The holder lives, and has both ends of the second line.
        let (second, second_end) = line_to(&process);
        let trigger = second_end.try_clone().expect("a copy");
        let mut backstops = Backstops::new();
        assert_eq!(backstops.set(CLIENT, &mut vec![line, trigger]), Ok(()));
        backstops.end_unless(|_| true);
        assert!(backstops.lines.is_empty());
        backstops.end_unless(|_| false);
        assert_eq!(signal_that_ended(process), Some(Signal::SIGTERM as i32));
        drop((second, second_end));
    }

    #[test]
    fn nothing_is_kept_for_a_holder_that_has_given_the_lock_back() {
        let mut process = sleeper();
        let (line, end) = line_to(&process);
        let mut backstops = Backstops::new();
        assert_eq!(backstops.set(CLIENT, &mut vec![line]), Ok(()));
        backstops.cancel(1);
        drop(end);
        process.kill().expect("it is our child");
        assert_eq!(signal_that_ended(process), Some(Signal::SIGKILL as i32));
    }

    #[test]
    fn what_ends_nothing_is_not_taken() {
        let mut backstops = Backstops::new();
        assert!(backstops.set(CLIENT, &mut Vec::new()).is_err());
        let file = File::open("/dev/null").expect("it is there");
        let mut descriptors = vec![file.into()];
        assert!(backstops.set(CLIENT, &mut descriptors).is_err());
        assert_eq!(descriptors.len(), 1, "who has it closes it");
    }
}
