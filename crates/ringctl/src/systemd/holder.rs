//! The process that starts a target, and stops the target when the lock ends. For the keeper, this process is the
//! command: it runs only while the lock is held, and gets SIGTERM when the lock is lost.
//!
//! While the lock is held, the runtime directory of the service contains the file `held`. The target can start only if
//! this file exists. Without this condition, `systemctl start` of a bound unit would start the target on a machine that
//! only waits for the lock. When the service ends, systemd removes the directory.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::{env, fs, io};

use nix::sys::signal::{SigSet, Signal};

use super::super::fence::TOKEN_VARIABLE;
use super::{Error, Target, bound_units, systemctl};

/// The signals on which the process stops the target. `ringctl` forwards them.
const STOP_SIGNALS: [Signal; 4] = [
    Signal::SIGTERM,
    Signal::SIGINT,
    Signal::SIGHUP,
    Signal::SIGQUIT,
];

/// The environment variable with the runtime directory of a service.
const DIRECTORY_VARIABLE: &str = "RUNTIME_DIRECTORY";

/// Starts the target, waits for a signal, and then stops the target. systemd stops the units of the target first.
///
/// # Errors
/// Fails if systemd cannot start or stop the target.
pub(crate) fn hold_target(target: &Target) -> Result<(), Error> {
    // Check the units again, because they may have changed during the wait for the lock.
    bound_units::check(target)?;
    let name = target.to_string();
    let mut awaited = SigSet::from_iter(STOP_SIGNALS);
    awaited.add(Signal::SIGCHLD);
    awaited
        .thread_block()
        .map_err(io::Error::from)
        .map_err(Error::System)?;
    let held = HeldFile::create().map_err(Error::System)?;
    let starter = Command::new("systemctl")
        .args(["start", &name])
        .stdin(Stdio::null())
        .spawn();
    let mut starter = starter.map_err(Error::System)?;
    loop {
        let signal = awaited
            .wait()
            .map_err(io::Error::from)
            .map_err(Error::System)?;
        if signal == Signal::SIGCHLD {
            check_start(&mut starter, &name)?;
        } else {
            drop(held);
            // If the start is not complete, this call cancels it too.
            return systemctl::run(&["stop", &name]).map(drop);
        }
    }
}

/// Fails if the start of the target failed. `systemctl` has then printed the reason.
fn check_start(starter: &mut Child, target: &str) -> Result<(), Error> {
    match starter.try_wait().map_err(Error::System)? {
        Some(status) if !status.success() => Err(Error::Systemctl {
            line: format!("start {target}"),
            reason: status.to_string(),
        }),
        _ => Ok(()),
    }
}

/// The file that permits the start of the target. Units can use it as an environment file: it contains the fencing
/// token.
struct HeldFile(Option<PathBuf>);

impl HeldFile {
    /// Creates the file if a service manager has created a runtime directory.
    fn create() -> io::Result<Self> {
        let Some(directory) = env::var_os(DIRECTORY_VARIABLE) else {
            return Ok(Self(None));
        };
        let path = Path::new(&directory).join("held");
        let token = env::var(TOKEN_VARIABLE).unwrap_or_default();
        fs::write(&path, format!("{TOKEN_VARIABLE}={token}\n"))?;
        Ok(Self(Some(path)))
    }
}

impl Drop for HeldFile {
    fn drop(&mut self) {
        if let Some(path) = &self.0 {
            // If this fails, systemd removes the file when the service ends.
            let _ = fs::remove_file(path);
        }
    }
}
