//! Reads systemd's journal with journalctl, the newest entry first.

use std::collections::HashSet;
use std::fs;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use nix::errno::Errno;
use nix::unistd::{AccessFlags, User, access, getuid};
use ring_control::hold_history::{HOLD_EVENTS, STARTED};
use ring_control::{NodeName, message_id};

use super::super::Error;
use super::record::Record;

/// The directories of the journal on the disk and in memory.
const JOURNAL_DIRS: [&str; 2] = ["/var/log/journal", "/run/log/journal"];
/// The users as which the units run. Entries of other users are ignored, because every user may write to the journal.
const SERVICE_USERS: [&str; 2] = ["ringd", "ringd-jitterbug"];

/// The records of the journal.
pub(super) struct Journal {
    child: Child,
    output: BufReader<ChildStdout>,
    is_over: bool,
}

/// Starts to read the records of one node or of all nodes. Also returns the names of all nodes that have logged their
/// start to the journal. Returns `None` if the machine has no journal.
///
/// # Errors
/// Fails if this user may not read the journal, or if journalctl fails.
pub(super) fn read(node: Option<&NodeName>) -> Result<Option<(Journal, HashSet<String>)>, Error> {
    let directories = JOURNAL_DIRS.map(Path::new);
    if !directories.iter().any(|directory| directory.is_dir()) {
        return Ok(None);
    }
    if let Some(path) = directories.into_iter().find_map(unreadable_file) {
        return Err(Error::NoJournal(path));
    }
    let Some(starts) = Journal::open(node, &[STARTED])? else {
        return Ok(None);
    };
    let nodes = starts
        .map(|record| Ok(record?.node))
        .collect::<Result<_, Error>>()?;
    let journal = Journal::open(node, &HOLD_EVENTS)?;
    Ok(journal.map(|journal| (journal, nodes)))
}

/// Returns the path of a file of the system's journal that this user may not read.
fn unreadable_file(directory: &Path) -> Option<PathBuf> {
    let machines = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            return Some(directory.to_owned());
        }
        Err(_) => return None,
    };
    let files = machines.filter_map(|entry| Some(entry.ok()?.path().join("system.journal")));
    let mut denied = files.filter(|file| access(file, AccessFlags::R_OK) == Err(Errno::EACCES));
    denied.next()
}

impl Journal {
    /// Starts journalctl for these events. Returns `None` if the machine has no journalctl.
    fn open(node: Option<&NodeName>, events: &[&str]) -> Result<Option<Self>, Error> {
        let mut command = Command::new("journalctl");
        command.args(["--quiet", "--no-pager", "--reverse", "--output=json"]);
        command.arg(format!("--output-fields={}", Record::journal_fields()));
        let ids = events.iter().filter_map(|event| message_id(event));
        command.args(ids.map(|id| format!("MESSAGE_ID={id}")));
        let users = SERVICE_USERS
            .iter()
            .filter_map(|name| User::from_name(name).ok()?);
        let users = users
            .map(|user| user.uid.as_raw())
            .chain([0, getuid().as_raw()]);
        command.args(users.map(|uid| format!("_UID={uid}")));
        command.args(node.map(|node| format!("RINGD_INSTANCE={node}")));
        let streams = command.stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = match streams.stderr(Stdio::piped()).spawn() {
            Ok(child) => child,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Error::Journal(error.to_string())),
        };
        let output = child
            .stdout
            .take()
            .ok_or_else(|| Error::Journal("it has no output".to_owned()))?;
        Ok(Some(Self {
            child,
            output: BufReader::new(output),
            is_over: false,
        }))
    }

    /// Waits for the end of journalctl, and returns the reason of a failure.
    fn end(&mut self) -> Result<(), Error> {
        self.is_over = true;
        let mut errors = String::new();
        if let Some(mut stream) = self.child.stderr.take() {
            // If this read fails, the exit code of journalctl still shows its failure.
            let _ = stream.read_to_string(&mut errors);
        }
        let status = self.child.wait().map_err(Error::System)?;
        if status.success() {
            return Ok(());
        }
        let cause = errors
            .lines()
            .next()
            .map_or_else(|| status.to_string(), str::to_owned);
        Err(Error::Journal(cause))
    }
}

impl Iterator for Journal {
    type Item = Result<Record, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut line = Vec::new();
        while !self.is_over {
            line.clear();
            match self.output.read_until(b'\n', &mut line) {
                Ok(0) => return self.end().err().map(Err),
                Ok(_) => {}
                Err(error) => {
                    self.is_over = true;
                    return Some(Err(Error::System(error)));
                }
            }
            let record = Record::from_journal_entry(&String::from_utf8_lossy(&line));
            if let Some(record) = record {
                return Some(Ok(record));
            }
        }
        None
    }
}

impl Drop for Journal {
    /// Ends journalctl, because it may still have many entries to print.
    fn drop(&mut self) {
        // A process that has already ended needs no signal.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
