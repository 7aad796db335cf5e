//! The terminal, which only one process group at a time may read from.

use std::fs::{File, OpenOptions};
use std::io::{self, IsTerminal};

use nix::unistd::{Pid, getpgrp, getpid, tcgetpgrp, tcsetpgrp};

/// The terminal of this process's session.
pub(super) struct Terminal {
    tty: File,
    own: Pid,
}

impl Terminal {
    /// `None`: the session has none.
    pub(super) fn open() -> Option<Self> {
        let tty = OpenOptions::new().read(true).write(true).open("/dev/tty");
        Some(Self {
            tty: tty.ok()?,
            own: getpgrp(),
        })
    }

    /// Whether a command is to have it from the start. In a pipeline and in a script others of the
    /// process group want it as well, and want to hear Ctrl-C; there a command gets it when it
    /// asks, by reading.
    pub(super) fn is_for_command_alone(&self) -> bool {
        getpid() == self.own && io::stdin().is_terminal() && io::stdout().is_terminal()
    }

    /// Gives it to the process group if this one has it, and returns whether it had.
    pub(super) fn give(&self, group: Pid) -> bool {
        let is_ours = tcgetpgrp(&self.tty) == Ok(self.own);
        is_ours && tcsetpgrp(&self.tty, group).is_ok()
    }

    /// Takes it back if the process group has it. Signal::SIGTTOU must be blocked.
    pub(super) fn take_back(&self, group: Pid) {
        if tcgetpgrp(&self.tty) == Ok(group) {
            // Only a shell can have taken it in between, and a shell knows what it does.
            let _ = tcsetpgrp(&self.tty, self.own);
        }
    }
}
