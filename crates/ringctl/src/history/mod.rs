//! `ringctl history`: the programs that held locks, from systemd's journal and from the files of daemons without a
//! journal. The command asks no daemon.

mod files;
mod holds;
mod journal;
mod page;
mod record;

use std::cmp::Reverse;
use std::io::{self, Write};
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use clap::{Args, value_parser};
use clap_complete::ArgValueCandidates;
use ring_proto::lab2::LockName;
use ring_text::parse_duration_or_seconds;

use super::lab2::{lock_candidates, parse_lock_name};
use super::{Error, Options};
use holds::{Collector, LockChoice};
use record::Record;

const HISTORY_HELP: &str = "\
Each row is one hold: a program that had the token or a named lock. The newest hold is \
the last row. Times are in UTC.

The last column has the exit code of the command, or the reason of a loss. It is \
'still held' if no line about the end exists, and 'unknown' if ringd ended during the \
hold. For a program on another machine, it is '-', because only that machine knows \
the exit code.

The rows of this machine are complete, but short holds (below 1s) may be missing if \
a machine grants more than 100 locks in a short time. For other machines, ringd looks \
once per second, so holds below 1s are missing, and times differ by up to 2s.

The rows come from the journal, or from /var/lib/ringd/IFACE.history if ringd does not \
log to the journal. For the journal, run the command as root or as a member of the \
group systemd-journal. For the file, run it as root or as the user of ringd. ringd \
need not run.

Examples:
  ringctl history --since 2h
  ringctl history --lock backup -n 5
  ringctl history --since '2026-11-30 03:00' --json";

/// Options of `ringctl history`.
#[derive(Debug, Clone, Args)]
#[command(after_long_help = HISTORY_HELP)]
pub(crate) struct HistoryOptions {
    /// Show only holds that began or ended after TIME.
    ///
    /// TIME is a duration before now, such as 2h, or a time in UTC, such as '2026-11-30 03:00'.
    #[arg(long, value_name = "TIME", value_parser = parse_since)]
    pub since: Option<SystemTime>,
    /// Show only holds of the lock NAME.
    #[arg(
        long,
        value_name = "NAME",
        value_parser = parse_lock_name,
        conflicts_with = "token",
        add = ArgValueCandidates::new(lock_candidates)
    )]
    pub lock: Option<LockName>,
    /// Show only holds of the token.
    #[arg(long)]
    pub token: bool,
    /// Show at most the N newest holds.
    #[arg(
        short = 'n',
        long,
        value_name = "N",
        default_value_t = 100,
        value_parser = value_parser!(u32).range(1..=100_000)
    )]
    pub limit: u32,
    /// Read the files in the state directory of ringd.
    #[arg(long, value_name = "DIR", default_value = "/var/lib/ringd")]
    pub state_dir: PathBuf,
    /// Print one JSON array.
    #[arg(long)]
    pub json: bool,
}

/// Parses the beginning of the history.
fn parse_since(text: &str) -> Result<SystemTime, String> {
    if let Ok(ago) = parse_duration_or_seconds(text) {
        return Ok(SystemTime::now().checked_sub(ago).unwrap_or(UNIX_EPOCH));
    }
    let spellings = ["", ":00", " 00:00:00"].map(|rest| format!("{text}{rest}"));
    let mut times = spellings.iter().map(|it| humantime::parse_rfc3339_weak(it));
    times.find_map(Result::ok).ok_or_else(|| {
        "not a time: give a duration, as in 2h, or a time in UTC, as in '2026-11-30 03:00'"
            .to_owned()
    })
}

/// Prints the holds.
///
/// # Errors
/// Fails if the journal or a file cannot be read, or if `output` cannot be written.
pub(super) fn print(
    options: &Options,
    history: &HistoryOptions,
    output: &mut impl Write,
) -> anyhow::Result<()> {
    if options.socket.is_some() {
        let why =
            "ringctl history asks no ringd: use -i IFACE and --state-dir DIR instead of --socket";
        return Err(Error::Usage(why.to_owned()).into());
    }
    let chosen = match (history.lock, history.token) {
        (Some(name), _) => LockChoice::Named(name.to_string()),
        (None, true) => LockChoice::Token,
        (None, false) => LockChoice::All,
    };
    let limit = usize::try_from(history.limit).unwrap_or(usize::MAX);
    let mut collector = Collector::new(chosen, limit);
    let (node, since) = (options.interface.as_ref(), history.since);
    let (of_files, denied_file) = split_denied(files::read(&history.state_dir, node))?;
    let (of_journal, denied_journal) = split_denied(journal::read(node, since))?;
    let of_journal = of_journal.flatten().into_iter().flatten();
    for record in merge(of_files.unwrap_or_default(), since, of_journal) {
        if !collector.add(record?) {
            break;
        }
    }
    let holds = collector.into_holds();
    if let (true, Some(denied)) = (holds.is_empty(), denied_journal.or(denied_file)) {
        return Err(denied.into());
    }
    if history.json {
        page::write_json(&holds, output)?;
    } else {
        page::write_table(&holds, SystemTime::now(), output)?;
    }
    output.flush()?;
    if holds.is_empty() && !history.json && !options.quiet {
        // If standard error is closed, the empty output still reports the result.
        let _ = writeln!(io::stderr(), "ringctl: no hold of a lock was found");
    }
    Ok(())
}

/// Separates the lack of a permission from other errors. A daemon uses only one of the two sources, and a user may have
/// no permission for the other source.
fn split_denied<T>(source: Result<T, Error>) -> Result<(Option<T>, Option<Error>), Error> {
    match source {
        Ok(records) => Ok((Some(records), None)),
        Err(error) if error.is_denied_source() => Ok((None, Some(error))),
        Err(error) => Err(error),
    }
}

/// Returns the records of the files and of the journal, the newest first.
fn merge(
    mut of_files: Vec<Record>,
    since: Option<SystemTime>,
    of_journal: impl Iterator<Item = Result<Record, Error>>,
) -> impl Iterator<Item = Result<Record, Error>> {
    // The sort keeps the order of records with equal times.
    of_files.sort_by_key(|record| Reverse(record.time_ms));
    let since_ms = since.map_or(0, time_ms);
    of_files.retain(|record| record.time_ms >= since_ms);
    let mut of_files = of_files.into_iter().peekable();
    let mut of_journal = of_journal.peekable();
    std::iter::from_fn(move || {
        let in_file = of_files.peek().map(|record| record.time_ms);
        match of_journal.peek() {
            Some(Ok(record)) if in_file.is_some_and(|at| at > record.time_ms) => {
                of_files.next().map(Ok)
            }
            Some(_) => of_journal.next(),
            None => of_files.next().map(Ok),
        }
    })
}

/// Returns a time in milliseconds since 1970.
fn time_ms(time: SystemTime) -> u64 {
    let since_1970 = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since_1970.as_millis()).unwrap_or(u64::MAX)
}

/// Returns the time with this number of milliseconds since 1970.
fn time_of(ms: u64) -> SystemTime {
    UNIX_EPOCH
        .checked_add(Duration::from_millis(ms))
        .unwrap_or(UNIX_EPOCH)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::{parse_since, time_ms};

    #[test]
    fn the_beginning_is_a_duration_or_a_time() {
        let hour = Duration::from_secs(3_600);
        let found = parse_since("1h").expect("a duration");
        let expected = SystemTime::now() - hour;
        assert!(expected.duration_since(found).expect("earlier") < Duration::from_secs(60));
        for text in [
            "2026-11-30",
            "2026-11-30 00:00",
            "2026-11-30 00:00:00",
            "2026-11-30T00:00:00Z",
        ] {
            assert_eq!(
                parse_since(text).map(time_ms),
                Ok(1_795_996_800_000),
                "{text}"
            );
        }
        for text in ["", "yesterday", "2026-13-01"] {
            assert!(parse_since(text).is_err(), "{text}");
        }
    }
}
