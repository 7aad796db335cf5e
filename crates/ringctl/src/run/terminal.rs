//! The terminal. Only one process group at a time can read from the terminal.

use std::fs::{File, OpenOptions};
use std::io::{self, IsTerminal};

use nix::unistd::{Pid, getpgrp, getpid, tcgetpgrp, tcsetpgrp};

pub(super) struct Terminal {
    tty: File,
    own_group: Pid,
}

impl Terminal {
    /// Opens the terminal; `None` if the session has no terminal.
    pub(super) fn open() -> Option<Self> {
        let tty = OpenOptions::new().read(true).write(true).open("/dev/tty");
        Some(Self {
            tty: tty.ok()?,
            own_group: getpgrp(),
        })
    }

    /// Whether the command gets the terminal at its start. In a pipeline or a script, it does not: other processes of
    /// the group also need the terminal and its Ctrl-C. Then the command gets the terminal when it reads from the
    /// terminal.
    pub(super) fn is_for_command_only(&self) -> bool {
        getpid() == self.own_group && io::stdin().is_terminal() && io::stdout().is_terminal()
    }

    /// If the group of this process has the terminal, gives the terminal to another process group. Returns whether the
    /// process group got the terminal.
    pub(super) fn give_to(&self, group: Pid) -> bool {
        let is_ours = tcgetpgrp(&self.tty) == Ok(self.own_group);
        is_ours && tcsetpgrp(&self.tty, group).is_ok()
    }

    /// If the given process group has the terminal, takes it back. SIGTTOU must be blocked.
    pub(super) fn take_from(&self, group: Pid) {
        if tcgetpgrp(&self.tty) == Ok(group) {
            // The call fails only if a shell has taken the terminal in the meantime. Then the shell needs the terminal.
            let _ = tcsetpgrp(&self.tty, self.own_group);
        }
    }
}
