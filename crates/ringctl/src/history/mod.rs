//! `ringctl history`: the programs that held locks, from systemd's journal and from the files of daemons without a
//! journal. The command asks no daemon.

mod files;
mod holds;
mod journal;
mod page;
mod record;

use std::collections::HashSet;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use clap::{Args, value_parser};
use clap_complete::ArgValueCandidates;
use ring_control::NodeName;
use ring_proto::lab2::LockName;
use ring_text::parse_duration_or_seconds;

use super::lab2::{lock_candidates, parse_lock_name};
use super::{Error, Options};
use holds::{Collector, Hold, LockChoice};
use record::Record;

const HISTORY_HELP: &str = "\
Each row is one hold: a program that had the token or a named lock. The newest hold is \
the last row. Times are in UTC.

The last column has the code with which the command ended, or the reason of a loss. It \
is 'still held' if no line about the end exists. It is 'unknown' if ringd ended during \
the hold, or if only a later hold shows the end. For a program on another machine, it \
is '-', because only that machine knows the code.

Of this machine, the history has all holds of at least 1s. If the machine grants more \
than 100 locks in a short time, shorter holds may be missing. Of other machines, holds \
below 1s are missing, because ringd looks once per second. Their times differ by up to \
2s.

The rows come from the journal, or from files in /var/lib/ringd if ringd does not log \
to the journal, or logs with --log-format json. For the journal, run the command as root or as a member of the group \
systemd-journal. For the files, run it as root or as the user of ringd. ringd \
need not run, so the command refuses --socket.

Examples:
  ringctl history --since 2h
  ringctl history --lock backup -n 5
  ringctl history --since '2026-11-30 03:00' --json";

/// Options of `ringctl history`.
#[derive(Debug, Clone, Args)]
#[command(after_long_help = HISTORY_HELP)]
pub(crate) struct HistoryOptions {
    /// Show only holds that last or ended after TIME.
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
    let since_ms = history.since.map_or(0, time_ms);
    let (holds, errors) = find(options.interface.as_ref(), &history.state_dir, |nodes| {
        Collector::new(chosen, since_ms, limit, nodes)
    });
    let skipped = errors.skipped(holds.is_empty())?;
    if history.json {
        page::write_json(&holds, output)?;
    } else {
        page::write_table(&holds, SystemTime::now(), output)?;
    }
    output.flush()?;
    if options.quiet {
        return Ok(());
    }
    // If the errors cannot be printed, the output is still correct.
    for error in skipped {
        let _ = writeln!(
            io::stderr(),
            "ringctl: warning: holds may be missing: {error}"
        );
    }
    if holds.is_empty() && !history.json {
        let _ = writeln!(io::stderr(), "ringctl: the history contains no lock");
    }
    Ok(())
}

/// The errors of the two sources: the journal and the files. Each daemon uses only one of them, and the user may have
/// no permission to read the other.
struct SourceErrors {
    journal: Option<Error>,
    file: Option<Error>,
    /// Whether this user may read the journal, and a daemon logged its start there.
    has_journal: bool,
}

impl SourceErrors {
    /// Returns the errors that the user should see. `found_none` is `true` if no hold was found.
    ///
    /// # Errors
    /// Fails if no hold was found, and if this user cannot read the journal. Without a journal, also fails if this user
    /// cannot read a file.
    fn skipped(self, found_none: bool) -> Result<Vec<Error>, Error> {
        // If daemons use the journal, this user usually has no access to the directory of the files, which is empty. So
        // ignore this error.
        let file = self.file.filter(|_| found_none || !self.has_journal);
        match (self.journal, file) {
            (Some(error), _) if found_none => Err(error),
            (None, Some(error)) if found_none && !self.has_journal => Err(error),
            (journal, file) => Ok(journal.into_iter().chain(file).collect()),
        }
    }
}

/// Returns the holds of both sources. `make_collector` gets the names of the nodes in the sources.
fn find(
    node: Option<&NodeName>,
    state_dir: &Path,
    make_collector: impl FnOnce(HashSet<String>) -> Collector,
) -> (Vec<Hold>, SourceErrors) {
    let of_files = files::read(state_dir, node);
    let (journal, mut journal_error) = match journal::read(node) {
        Ok(journal) => (journal, None),
        Err(error) => (None, Some(error)),
    };
    let (journal, nodes) = journal.unzip();
    let mut nodes: HashSet<String> = nodes.unwrap_or_default();
    let has_journal = !nodes.is_empty();
    let of_file = |records: &Vec<Record>| Some(records.first()?.node.clone());
    nodes.extend(of_files.records.iter().filter_map(of_file));
    let mut collector = make_collector(nodes);
    for record in merge(of_files.records, journal.into_iter().flatten()) {
        match record {
            Ok(record) => {
                if !collector.add(record) {
                    break;
                }
            }
            Err(error) => journal_error = Some(error),
        }
    }
    let errors = SourceErrors {
        journal: journal_error,
        file: of_files.error,
        has_journal,
    };
    (collector.into_holds(), errors)
}

/// Merges the records of the files and of the journal by their times. The records of one source keep their order,
/// because the clock may have been set back between two records.
fn merge(
    of_files: Vec<Vec<Record>>,
    of_journal: impl Iterator<Item = Result<Record, Error>>,
) -> impl Iterator<Item = Result<Record, Error>> {
    let mut of_files: Vec<_> = of_files
        .into_iter()
        .map(|records| records.into_iter().peekable())
        .collect();
    let mut of_journal = of_journal.peekable();
    std::iter::from_fn(move || {
        let in_files = of_files
            .iter_mut()
            .filter_map(|records| Some((records.peek()?.time_ms, records)));
        let newest = in_files.max_by_key(|&(time_ms, _)| time_ms);
        match (newest, of_journal.peek()) {
            (Some((time_ms, records)), Some(Ok(record))) if time_ms > record.time_ms => {
                records.next().map(Ok)
            }
            (_, Some(_)) => of_journal.next(),
            (Some((_, records)), None) => records.next().map(Ok),
            (None, None) => None,
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

    use super::{Error, Record, SourceErrors, merge, parse_since, time_ms};

    fn record(time_ms: u64, node: &str) -> Record {
        Record {
            time_ms,
            node: node.to_owned(),
            ..Record::default()
        }
    }

    #[test]
    fn a_source_keeps_its_order_after_a_change_of_the_clock() {
        let files = vec![
            vec![record(40, "a"), record(90, "a"), record(10, "a")],
            vec![record(30, "b")],
        ];
        let journal = [record(50, "j"), record(20, "j")].map(Ok);
        let merged = merge(files, journal.into_iter());
        let times: Vec<_> = merged.map(|it| it.expect("a record").time_ms).collect();
        assert_eq!(times, [50, 40, 90, 30, 20, 10]);
    }

    #[test]
    fn a_skipped_source_is_an_error_only_if_it_may_have_all_holds() {
        let error = |name: &str, is_there: bool| is_there.then(|| Error::Journal(name.to_owned()));
        for (journal, file, has_journal, found_none, expected) in [
            (false, false, false, true, Ok(0)),
            // Members of the group systemd-journal have no permission to read the directory of the files.
            (false, true, true, false, Ok(0)),
            (false, true, true, true, Ok(1)),
            (false, true, false, true, Err("file")),
            (false, true, false, false, Ok(1)),
            (true, false, false, false, Ok(1)),
            (true, false, false, true, Err("journal")),
            (true, true, false, true, Err("journal")),
            (true, true, false, false, Ok(2)),
        ] {
            let errors = SourceErrors {
                journal: error("journal", journal),
                file: error("file", file),
                has_journal,
            };
            let found = errors.skipped(found_none).map(|skipped| skipped.len());
            let found = found.map_err(|error| match error {
                Error::Journal(name) => name,
                other => panic!("{other}"),
            });
            assert_eq!(found, expected.map_err(str::to_owned));
        }
    }

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
