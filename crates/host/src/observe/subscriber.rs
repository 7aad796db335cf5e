//! Where log lines go: through a short queue and a thread of its own to the standard output or the journal, so
//! that a terminal that stands still never holds the loop up. Lines that do not fit are lost.

use std::env;
use std::fmt;
use std::io::{self, IsTerminal};
use std::os::fd::AsFd;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use nix::sys::stat::fstat;
use tracing::field::Field;
use tracing::level_filters::LevelFilter;
use tracing::subscriber::SetGlobalDefaultError;
use tracing::{Event, Level, Subscriber};
use tracing_appender::non_blocking::{ErrorCounter, NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::fmt::format::{self, Writer};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields, MakeWriter};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::LookupSpan;

use super::NotShown;
use super::journal::{Entries, Journal, priority};
use super::naming::Naming;
use super::repeats::{Repeats, not_shown};

/// The most lines that wait for the output.
const QUEUE: usize = 512;
/// How long the lines that wait may take to come out at the end.
const LAST_LINES: Duration = Duration::from_secs(1);

/// How log lines are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// A JSON object a line instead of a sentence.
    pub json: bool,
    /// Debug lines too.
    pub verbose: bool,
    /// Who takes them.
    pub taker: Taker,
}

/// Who takes log lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taker {
    /// A terminal: colours.
    Terminal,
    /// A file or a program.
    Stream,
    /// systemd's journal, through the standard output. The journal has a time for each line: a priority instead, as
    /// sd-daemon(3) has it.
    Journal,
    /// systemd's journal, through its socket, which takes the fields of a line.
    Entries,
}

impl Taker {
    fn of_stdout() -> Self {
        match io::stdout() {
            stdout if goes_to_journal(&stdout) => Self::Journal,
            stdout if stdout.is_terminal() => Self::Terminal,
            _ => Self::Stream,
        }
    }
}

/// Whether what is written to `stream` goes to systemd's journal.
pub fn goes_to_journal(stream: impl AsFd) -> bool {
    let (Ok(journal), Ok(stat)) = (env::var("JOURNAL_STREAM"), fstat(stream)) else {
        return false;
    };
    journal == format!("{}:{}", stat.st_dev, stat.st_ino)
}

/// Keeps the log's thread; on drop the last lines come out, unless the output stands still.
#[derive(Debug)]
pub struct LogOutput {
    guard: Option<WorkerGuard>,
    lost: ErrorCounter,
}

impl LogOutput {
    /// Sends all log lines of the process to the standard output, in the way that suits what that is; to the journal's
    /// own socket if the standard output goes to the journal. `named` puts names of machines into what people read; it is called
    /// on the log's thread.
    ///
    /// # Errors
    /// It was done before.
    pub fn start(
        json: bool,
        verbose: bool,
        named: impl FnMut(&str) -> String + Send + 'static,
    ) -> Result<Self, SetGlobalDefaultError> {
        let output = NonBlockingBuilder::default()
            .buffered_lines_limit(QUEUE)
            .lossy(true)
            .thread_name("log");
        let mut taker = Taker::of_stdout();
        let has_fields = taker == Taker::Journal && !json;
        let journal = has_fields.then(Journal::open).and_then(Result::ok);
        let (writer, guard) = match journal {
            Some(journal) => {
                taker = Taker::Entries;
                output.finish(Naming::new(journal, true, named))
            }
            // Programs that read JSON look machines up by their addresses.
            None if json => output.finish(io::stdout()),
            None => output.finish(Naming::new(io::stdout(), false, named)),
        };
        let lost = writer.error_counter();
        let style = Style {
            json,
            verbose,
            taker,
        };
        tracing::subscriber::set_global_default(subscriber(style, writer))?;
        Ok(Self {
            guard: Some(guard),
            lost,
        })
    }

    /// How many lines were lost since the start because the output took no more.
    pub fn lost_lines(&self) -> usize {
        self.lost.dropped_lines()
    }
}

impl Drop for LogOutput {
    fn drop(&mut self) {
        let guard = self.guard.take();
        let (done, finished) = mpsc::channel();
        // The guard may wait for an output that stands still, and even write to it: the process
        // must be able to end all the same.
        thread::spawn(move || {
            drop(guard);
            // Nobody listens once the time is over.
            let _ = done.send(());
        });
        // Over time or not, this is the end.
        let _ = finished.recv_timeout(LAST_LINES);
    }
}

/// Logs lines before the log's thread runs, straight to the standard output.
pub fn log_early(json: bool, lines: impl FnOnce()) {
    let style = Style {
        json,
        verbose: false,
        taker: Taker::of_stdout(),
    };
    tracing::subscriber::with_default(subscriber(style, io::stdout), lines);
}

/// What turns events into lines of that style on `writer`.
pub fn subscriber<W>(style: Style, writer: W) -> Box<dyn Subscriber + Send + Sync>
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let level = if style.verbose {
        Level::DEBUG
    } else {
        Level::INFO
    };
    let lines = tracing_subscriber::fmt()
        .with_writer(writer)
        .with_max_level(LevelFilter::from_level(level))
        .with_target(false)
        .with_ansi(style.taker == Taker::Terminal);
    let sentences = format::debug_fn(message_only);
    match (style.taker, style.json) {
        (Taker::Entries, _) => Box::new(limited(lines.event_format(Entries).finish())),
        (Taker::Journal, true) => {
            let lines = lines.without_time().json().flatten_event(true);
            let lines = lines.with_current_span(false).with_span_list(false);
            let lines = lines.map_event_format(|json| Prioritised(Counted(json)));
            Box::new(limited(lines.finish()))
        }
        (_, true) => {
            let lines = lines.json().flatten_event(true);
            let lines = lines.with_current_span(false).with_span_list(false);
            Box::new(limited(lines.map_event_format(Counted).finish()))
        }
        (Taker::Journal, false) => {
            let lines = lines.without_time().with_level(false).fmt_fields(sentences);
            Box::new(limited(lines.map_event_format(Prioritised).finish()))
        }
        (_, false) => Box::new(limited(lines.fmt_fields(sentences).finish())),
    }
}

/// Keeps lines that are logged again and again from filling the log.
fn limited<S>(lines: S) -> impl Subscriber + Send + Sync
where
    S: Subscriber + Send + Sync + for<'a> LookupSpan<'a>,
{
    lines.with(Repeats::new())
}

/// Adds to a line of JSON how many lines like it were not shown.
struct Counted<F>(F);

impl<S, N, F> FormatEvent<S, N> for Counted<F>
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
        let NotShown(lines @ 1..) = not_shown() else {
            return self.0.format_event(context, writer, event);
        };
        let mut line = String::new();
        self.0
            .format_event(context, Writer::new(&mut line), event)?;
        let object = line.trim_end().strip_suffix('}').ok_or(fmt::Error)?;
        writeln!(writer, "{object},\"not_shown\":{lines}}}")
    }
}

/// Puts a line's priority before it.
struct Prioritised<F>(F);

impl<S, N, F> FormatEvent<S, N> for Prioritised<F>
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

/// Prints the sentence and leaves out the fields, which say the same to machines.
fn message_only(writer: &mut Writer<'_>, field: &Field, value: &dyn fmt::Debug) -> fmt::Result {
    if field.name() == "message" {
        write!(writer, "{value:?}{}", not_shown())
    } else {
        Ok(())
    }
}
