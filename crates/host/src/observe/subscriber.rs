//! Sends log lines to standard output or the journal. The lines pass through a short queue and a thread, so that a
//! stalled terminal never blocks the loop. Lines that do not fit into the queue are lost.

use std::env;
use std::fmt;
use std::io::{self, IsTerminal};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use nix::sys::stat::fstat;
use ring_control::NodeName;
use tracing::field::Field;
use tracing::level_filters::LevelFilter;
use tracing::subscriber::SetGlobalDefaultError;
use tracing::{Event, Level, Subscriber};
use tracing_appender::non_blocking::{ErrorCounter, NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::filter::dynamic_filter_fn;
use tracing_subscriber::fmt::format::{self, Writer};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields, MakeWriter};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::LookupSpan;

use super::HiddenLines;
use super::hold_file::HoldFiles;
use super::hold_layer::HoldLayer;
use super::journal::{EntryFormat, Journal, priority};
use super::name_writer::NameWriter;
use super::repeat_filter::{RepeatFilter, hidden_lines};

const QUEUED_LINES_MAX: usize = 512;
/// Maximum time to write the queued lines when the process ends.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(1);

/// The format of log lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Whether each line is a JSON object instead of a sentence.
    pub json: bool,
    /// Receiver of the log lines.
    pub target: LogTarget,
}

/// Whether a log includes debug lines. All clones have the same value, which may change at any time.
#[derive(Debug, Clone)]
pub struct Verbosity(Arc<AtomicBool>);

impl Verbosity {
    /// Creates a value that includes debug lines if `verbose` is `true`.
    pub fn new(verbose: bool) -> Self {
        Self(Arc::new(AtomicBool::new(verbose)))
    }

    fn includes(&self, level: Level) -> bool {
        level < Level::DEBUG || self.0.load(Ordering::Relaxed)
    }
}

/// The receiver of log lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogTarget {
    /// A terminal, to which lines are written in color.
    Terminal,
    /// A file or a program.
    Stream,
    /// systemd's journal, through standard output. The journal adds the time. Each line begins with a priority, as in
    /// sd-daemon(3).
    Journal,
    /// systemd's journal, through the journal's socket. So the journal also gets the fields of a line.
    Entries,
}

impl LogTarget {
    fn of_stdout() -> Self {
        match io::stdout() {
            stdout if goes_to_journal(&stdout) => Self::Journal,
            stdout if stdout.is_terminal() => Self::Terminal,
            _ => Self::Stream,
        }
    }
}

/// Whether `stream` leads to systemd's journal.
pub fn goes_to_journal(stream: impl AsFd) -> bool {
    let (Ok(journal), Ok(stat)) = (env::var("JOURNAL_STREAM"), fstat(stream)) else {
        return false;
    };
    journal == format!("{}:{}", stat.st_dev, stat.st_ino)
}

/// The receivers of a daemon's log.
#[derive(Debug)]
pub struct LogSettings {
    /// Whether each line is a JSON object instead of a sentence.
    pub json: bool,
    /// Whether the log includes debug lines at its start.
    pub verbose: bool,
    /// Name of the node, for the journal and the files of holds.
    pub node: NodeName,
    /// Directory of the files of holds. The files are not used if the journal gets the fields of all lines.
    pub hold_dir: Option<PathBuf>,
}

/// The threads of the log. When this value is dropped, the threads write the queued lines, unless the output is
/// stalled.
#[derive(Debug)]
pub struct LogOutput {
    guards: Vec<WorkerGuard>,
    lost: ErrorCounter,
    /// Counter of the lines that are missing in the files of holds. `None` if the files are not used.
    lost_holds: Option<ErrorCounter>,
    verbosity: Verbosity,
}

impl LogOutput {
    /// Sends all log lines of the process to standard output. The format depends on the receiver, for example a
    /// terminal. If standard output leads to the journal, sends the lines to the journal's socket instead. The thread
    /// of the log calls `add_names` to add the names of machines to texts.
    ///
    /// # Errors
    /// Fails if the log was already started.
    pub fn start(
        settings: LogSettings,
        add_names: impl FnMut(&str) -> String + Send + 'static,
    ) -> Result<Self, SetGlobalDefaultError> {
        let LogSettings {
            json,
            verbose,
            node,
            hold_dir,
        } = settings;
        let output = thread_for_lines("log");
        let mut target = LogTarget::of_stdout();
        let has_fields = target == LogTarget::Journal && !json;
        let journal = has_fields.then(|| Journal::open(&node));
        let journal = journal.and_then(Result::ok);
        let (writer, guard) = match journal {
            Some(journal) => {
                target = LogTarget::Entries;
                output.finish(NameWriter::new(journal, true, add_names))
            }
            // Do not add names to JSON, because programs that read it identify machines by their addresses.
            None if json => output.finish(io::stdout()),
            None => output.finish(NameWriter::new(io::stdout(), false, add_names)),
        };
        let lost = writer.error_counter();
        let verbosity = Verbosity::new(verbose);
        let lines = subscriber(Style { json, target }, verbosity.clone(), writer);
        let mut guards = vec![guard];
        let mut lost_holds = None;
        match hold_dir.filter(|_| target != LogTarget::Entries) {
            Some(directory) => {
                let output = thread_for_lines("history");
                let files = HoldFiles::new(node.history_paths(&directory));
                let (writer, guard) = output.finish(files);
                lost_holds = Some(writer.error_counter());
                guards.push(guard);
                tracing::subscriber::set_global_default(lines.with(HoldLayer::new(writer)))?;
            }
            None => tracing::subscriber::set_global_default(lines)?,
        }
        Ok(Self {
            guards,
            lost,
            lost_holds,
            verbosity,
        })
    }

    /// Sets whether later debug lines are logged.
    pub fn set_verbose(&self, verbose: bool) {
        self.verbosity.0.store(verbose, Ordering::Relaxed);
    }

    /// Returns the number of lines that were lost since the start because the output was too slow.
    pub fn lost_lines(&self) -> usize {
        self.lost.dropped_lines()
    }

    /// Returns the number of lines that are missing in the files of holds, because the disk was too slow.
    pub fn lost_holds(&self) -> usize {
        let lost = self.lost_holds.as_ref();
        lost.map_or(0, ErrorCounter::dropped_lines)
    }
}

impl Drop for LogOutput {
    fn drop(&mut self) {
        let guards = std::mem::take(&mut self.guards);
        let (done, finished) = mpsc::channel();
        // Drop the guards in a separate thread: they may wait for a stalled output, but the process must be able to
        // end.
        thread::spawn(move || {
            drop(guards);
            // After the timeout, the channel has no receiver.
            let _ = done.send(());
        });
        // The process ends even if the last lines are not written.
        let _ = finished.recv_timeout(FLUSH_TIMEOUT);
    }
}

fn thread_for_lines(name: &str) -> NonBlockingBuilder {
    NonBlockingBuilder::default()
        .buffered_lines_limit(QUEUED_LINES_MAX)
        .lossy(true)
        .thread_name(name)
}

/// Logs lines before the log's thread runs, directly to standard output.
pub fn log_early(json: bool, lines: impl FnOnce()) {
    let style = Style {
        json,
        target: LogTarget::of_stdout(),
    };
    let early = subscriber(style, Verbosity::new(false), io::stdout);
    tracing::subscriber::with_default(early, lines);
}

/// Makes a subscriber that writes events as lines of this style to `writer`.
pub fn subscriber<W>(
    style: Style,
    verbosity: Verbosity,
    writer: W,
) -> Box<dyn Subscriber + Send + Sync>
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let lines = tracing_subscriber::fmt()
        .with_writer(writer)
        .with_max_level(LevelFilter::DEBUG)
        .with_target(false)
        .with_ansi(style.target == LogTarget::Terminal);
    let sentences = format::debug_fn(write_message_only);
    match (style.target, style.json) {
        (LogTarget::Entries, _) => {
            Box::new(filter(lines.event_format(EntryFormat).finish(), verbosity))
        }
        (LogTarget::Journal, true) => {
            let lines = lines.without_time().json().flatten_event(true);
            let lines = lines.with_current_span(false).with_span_list(false);
            let lines = lines.map_event_format(|json| WithPriority(WithHiddenLines(json)));
            Box::new(filter(lines.finish(), verbosity))
        }
        (_, true) => {
            let lines = lines.json().flatten_event(true);
            let lines = lines.with_current_span(false).with_span_list(false);
            let lines = lines.map_event_format(WithHiddenLines);
            Box::new(filter(lines.finish(), verbosity))
        }
        (LogTarget::Journal, false) => {
            let lines = lines.without_time().with_level(false).fmt_fields(sentences);
            let lines = lines.map_event_format(WithPriority);
            Box::new(filter(lines.finish(), verbosity))
        }
        (_, false) => Box::new(filter(lines.fmt_fields(sentences).finish(), verbosity)),
    }
}

/// Omits repeated lines. Omits debug lines too, unless `verbosity` includes them.
fn filter<S>(lines: S, verbosity: Verbosity) -> impl Subscriber + Send + Sync
where
    S: Subscriber + Send + Sync + for<'a> LookupSpan<'a>,
{
    let levels = dynamic_filter_fn(move |line, _| verbosity.includes(*line.level()));
    lines.with(levels).with(RepeatFilter::new())
}

struct WithHiddenLines<F>(F);

impl<S, N, F> FormatEvent<S, N> for WithHiddenLines<F>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
    F: FormatEvent<S, N>,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let HiddenLines(lines @ 1..) = hidden_lines() else {
            return self.0.format_event(context, writer, event);
        };
        let mut line = String::new();
        self.0
            .format_event(context, Writer::new(&mut line), event)?;
        let object = line.trim_end().strip_suffix('}').ok_or(fmt::Error)?;
        writeln!(writer, "{object},\"not_shown\":{lines}}}")
    }
}

/// A formatter that puts a line's priority in front of the line.
struct WithPriority<F>(F);

impl<S, N, F> FormatEvent<S, N> for WithPriority<F>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
    F: FormatEvent<S, N>,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        write!(writer, "<{}>", priority(*event.metadata().level()))?;
        self.0.format_event(context, writer, event)
    }
}

/// Writes only the sentence of a line. The other fields contain the same facts for programs.
fn write_message_only(
    writer: &mut Writer<'_>,
    field: &Field,
    value: &dyn fmt::Debug,
) -> fmt::Result {
    if field.name() == "message" {
        write!(writer, "{value:?}{}", hidden_lines())
    } else {
        Ok(())
    }
}
