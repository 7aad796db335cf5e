//! A terminal with a screen, on which a program runs.

use std::fs::File;
use std::io::{Read, Write};
use std::num::NonZeroU16;
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::pty::openpty;
use rustix::termios::{
    ControlModes, InputModes, LocalModes, OutputModes, Winsize, tcgetattr, tcsetwinsize,
};

use crate::limit::WAIT_LIMIT;

const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// A terminal. It interprets the output of its programs as a terminal emulator does.
pub struct Pty {
    master: File,
    slave: OwnedFd,
    output: Arc<Mutex<Output>>,
    /// The modes of the terminal at the beginning.
    modes: Modes,
}

type Modes = (InputModes, OutputModes, ControlModes, LocalModes);

struct Output {
    emulator: vt100::Parser,
    bytes: Vec<u8>,
}

impl Pty {
    /// Makes a terminal with this number of columns and rows.
    ///
    /// # Panics
    /// Panics if the system has no free terminals.
    pub fn new(columns: u16, rows: u16) -> Self {
        let pty = openpty(None, None).expect("a terminal");
        for side in [&pty.master, &pty.slave] {
            // Commands must not inherit the descriptor, because other tests count the descriptors that their commands
            // inherit.
            fcntl(side, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC)).expect("set");
        }
        let master = File::from(pty.master);
        let emulator = vt100::Parser::new(size(rows), size(columns), 0);
        let output = Arc::new(Mutex::new(Output {
            emulator,
            bytes: Vec::new(),
        }));
        let (mut reader, shared) = (master.try_clone().expect("a copy"), Arc::clone(&output));
        thread::spawn(move || {
            let mut part = [0; 4096];
            while let Ok(len @ 1..) = reader.read(&mut part) {
                let mut output = shared.lock().unwrap_or_else(PoisonError::into_inner);
                output.emulator.process(&part[..len]);
                output.bytes.extend_from_slice(&part[..len]);
            }
        });
        let pty = Self {
            modes: modes(&pty.slave),
            master,
            slave: pty.slave,
            output,
        };
        pty.resize(columns, rows);
        pty
    }

    /// Returns a command that runs the program on this terminal, in a new session.
    ///
    /// # Panics
    /// Panics if the process has too many files open.
    pub fn command(&self, program: &str) -> Command {
        let side = || Stdio::from(self.slave.try_clone().expect("a descriptor"));
        let mut command = Command::new("setsid");
        command.args(["-c", program]);
        command.stdin(side()).stdout(side()).stderr(side());
        command.env("TERM", "xterm-256color").env("LANG", "C.UTF-8");
        command.env_remove("LC_ALL").env_remove("NO_COLOR");
        command
    }

    /// Changes the size. The foreground program gets SIGWINCH.
    ///
    /// # Panics
    /// Panics if the terminal refuses the size.
    pub fn resize(&self, columns: u16, rows: u16) {
        let winsize = Winsize {
            ws_row: rows,
            ws_col: columns,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        let mut output = self.output();
        let screen = output.emulator.screen_mut();
        screen.set_size(size(rows), size(columns));
        tcsetwinsize(&self.slave, winsize).expect("set");
    }

    /// Sends keys to the program.
    ///
    /// # Panics
    /// Panics if the terminal is closed.
    pub fn type_keys(&mut self, keys: &str) {
        self.master.write_all(keys.as_bytes()).expect("it is open");
    }

    /// Returns the text on the screen.
    pub fn screen(&self) -> String {
        self.output().emulator.screen().contents()
    }

    /// Waits until the screen shows `text`.
    ///
    /// # Panics
    /// Panics if the screen does not show the text in time.
    pub fn wait_for(&self, text: &str) {
        self.wait_until(text, |screen| screen.contains(text));
    }

    /// Waits until `is_so` accepts the text on the screen.
    ///
    /// # Panics
    /// Panics if the screen does not show such a text in time.
    pub fn wait_until(&self, what: &str, is_so: impl Fn(&str) -> bool) {
        let by = Instant::now() + WAIT_LIMIT;
        while !is_so(&self.screen()) {
            assert!(
                Instant::now() < by,
                "{what} is missing on\n{}",
                self.screen()
            );
            thread::sleep(POLL_INTERVAL);
        }
    }

    /// Returns all bytes that the program wrote.
    pub fn bytes(&self) -> Vec<u8> {
        self.output().bytes.clone()
    }

    /// Whether a program has the whole screen and hides the cursor.
    pub fn is_taken(&self) -> bool {
        let output = self.output();
        let screen = output.emulator.screen();
        screen.alternate_screen() && screen.hide_cursor()
    }

    /// Waits until the terminal does not show the keys that a person types.
    ///
    /// # Panics
    /// Panics if the terminal still shows the keys after the time limit.
    pub fn wait_until_hidden(&self) {
        self.wait_until("a terminal without echo", |_| {
            !modes(&self.slave).3.contains(LocalModes::ECHO)
        });
    }

    /// Waits until a shell can continue: the screen, the cursor and the mode are those of the beginning. The last bytes
    /// of a program may arrive after its end.
    ///
    /// # Panics
    /// Panics if the terminal is closed, or is not restored in time.
    pub fn wait_until_restored(&self) {
        self.wait_until("the restored terminal", |_| self.is_restored());
    }

    fn is_restored(&self) -> bool {
        let is_same = modes(&self.slave) == self.modes;
        let output = self.output();
        let screen = output.emulator.screen();
        is_same && !screen.alternate_screen() && !screen.hide_cursor()
    }

    fn output(&self) -> MutexGuard<'_, Output> {
        self.output.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn modes(terminal: &OwnedFd) -> Modes {
    let it = tcgetattr(terminal).expect("it is open");
    (
        it.input_modes,
        it.output_modes,
        it.control_modes,
        it.local_modes,
    )
}

fn size(cells: u16) -> NonZeroU16 {
    NonZeroU16::new(cells).unwrap_or(NonZeroU16::MIN)
}
