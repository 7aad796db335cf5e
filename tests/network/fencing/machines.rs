//! Two machines on which the tests run the page's commands.

use std::env;
use std::fs;
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use ring_client::fencing::FencingToken;
use ring_segment::{Layout, SharedRing, Timing, binaries};
use tempfile::TempDir;

/// Exit code of `ringctl guard` and of the recipes for a stale token.
const STALE_CODE: i32 = 76;

/// A ring of two, and a folder that both machines can use.
pub(super) struct Machines {
    ring: SharedRing,
    folder: TempDir,
    tools: PathBuf,
}

impl Machines {
    pub(super) fn new() -> Result<Self> {
        Self::with_tools(PathBuf::new())
    }

    pub(super) fn with_tools(tools: PathBuf) -> Result<Self> {
        let timing = Timing::stall_tolerant(Duration::from_millis(100));
        let ring = SharedRing::on(Layout::new(2).addresses(), timing, binaries(), &[])?;
        for node in ring.segment.nodes() {
            // The recipes' servers and clients use the loopback interface.
            node.ns().ip("link set lo up\n")?;
        }
        let folder = tempfile::tempdir()?;
        // This `ringctl` finds the daemon of its machine, as on a real machine with one daemon.
        for (n, daemon) in ring.daemons.iter().enumerate() {
            let (program, socket) = (binaries().ringctl, daemon.control());
            let text = format!(
                "#!/bin/sh\nexec {program} --socket {} \"$@\"\n",
                socket.display()
            );
            let bin = folder.path().join(format!("bin{n}"));
            fs::create_dir(&bin)?;
            script(&bin.join("ringctl"), &text)?;
        }
        Ok(Self {
            ring,
            folder,
            tools,
        })
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(super) fn address(&self, machine: usize) -> Result<String> {
        let ip = self.ring.segment.node(machine).ip();
        Ok(ip.context("an address")?.to_string())
    }

    /// Returns a command for [`Machines::spawn`].
    pub(super) fn command(&self, machine: usize, line: &[&str]) -> Result<Command> {
        let own = self.path(&format!("bin{machine}"));
        let old = env::var_os("PATH").unwrap_or_default();
        let first = [own, self.tools.clone()].into_iter();
        let path = env::join_paths(first.chain(env::split_paths(&old)))?;
        // The command runs in a shell, because the shell searches for the program in the changed PATH.
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "exec \"$@\"", "sh"]).args(line);
        // The proxy of the real machine is not reachable from the sandbox.
        command.env("PATH", path).env("no_proxy", "*");
        command.stdin(Stdio::null());
        Ok(command)
    }

    pub(super) fn run(&self, machine: usize, command: &mut Command) -> Result<Output> {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = self.ring.segment.node(machine).ns().spawn(command)?;
        Ok(child.wait_with_output()?)
    }

    pub(super) fn spawn(
        &self,
        machine: usize,
        command: &mut Command,
    ) -> Result<std::process::Child> {
        self.ring.segment.node(machine).ns().spawn(command)
    }

    pub(super) fn connect(&self, machine: usize, to: &str) -> Result<TcpStream> {
        let node = self.ring.segment.node(machine);
        Ok(node.ns().run(|| TcpStream::connect(to))??)
    }

    /// Takes the lock on this machine, and returns the fencing token of the lock.
    pub(super) fn grant_token(&self, machine: usize) -> Result<String> {
        let print = ["ringctl", "run", "--", "printenv", "RINGD_TOKEN"];
        let output = self.run(machine, &mut self.command(machine, &print)?)?;
        ensure!(output.status.success(), "{output:?}");
        Ok(String::from_utf8(output.stdout)?.trim().to_owned())
    }
}

/// Whether the exit code of a recipe reports a stale token.
pub(super) fn is_stale(output: &Output) -> bool {
    output.status.code() == Some(STALE_CODE)
}

pub(super) fn script(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))?;
    Ok(())
}

/// Checks that a recipe refuses every token that is older than the last accepted token, and accepts all other tokens.
/// `write` writes object `n` with a token, and returns whether the recipe accepted the write.
pub(super) fn check_order(mut write: impl FnMut(usize, &str) -> Result<bool>) -> Result<()> {
    let tokens = [
        "9-02:00:00:00:00:01-7",
        "10-02:00:00:00:00:02-10",
        "10-02:00:00:00:00:02-9",
        "10-02:00:00:00:00:01-4294967295",
        "9223372036854775807-fe:ff:ff:ff:ff:ff-1",
    ];
    let mut object = 0;
    for first in tokens {
        for second in tokens {
            let newer = second.parse::<FencingToken>()? >= first.parse::<FencingToken>()?;
            ensure!(write(object, first)?, "the first token {first} was refused");
            ensure!(
                write(object, second)? == newer,
                "{second} after {first} must be accepted: {newer}"
            );
            object += 1;
        }
    }
    Ok(())
}

/// Checks a recipe on two machines. `write` writes a text with the given token. If no token is given, `write` first
/// takes the lock to get a token. `read` returns the stored text. `is_refusal` checks whether this output of a `write`
/// reports a refusal.
pub(super) fn check_late_writer(
    machines: &Machines,
    write: impl Fn(usize, Option<&str>, &str) -> Result<Output>,
    read: impl Fn() -> Result<String>,
    is_refusal: impl Fn(&Output) -> bool,
) -> Result<()> {
    let accepted = |output: Output| -> Result<()> {
        ensure!(output.status.success(), "{output:?}");
        Ok(())
    };
    accepted(write(0, None, "first")?)?;
    ensure!(read()? == "first", "{}", read()?);
    let late = machines.grant_token(0)?;
    accepted(write(0, Some(&late), "once")?)?;
    accepted(write(0, Some(&late), "twice")?)?;
    ensure!(read()? == "twice", "{}", read()?);
    accepted(write(1, None, "newer")?)?;
    let refused = write(0, Some(&late), "late")?;
    ensure!(is_refusal(&refused), "{refused:?}");
    ensure!(read()? == "newer", "{}", read()?);
    accepted(write(0, None, "again")?)?;
    ensure!(read()? == "again", "{}", read()?);
    Ok(())
}
