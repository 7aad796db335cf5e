//! Where log lines go: through a short queue and a thread of its own to the standard output, so
//! that a terminal that stands still never holds the loop up. Lines that do not fit are lost.

use std::fmt;
use std::io::{self, IsTerminal};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use tracing::field::Field;
use tracing::level_filters::LevelFilter;
use tracing::subscriber::SetGlobalDefaultError;
use tracing::{Level, Subscriber};
use tracing_appender::non_blocking::{ErrorCounter, NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::fmt::format::{self, Writer};

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
    /// Colours.
    pub ansi: bool,
}

/// Keeps the log's thread; on drop the last lines come out, unless the output stands still.
#[derive(Debug)]
pub struct LogOutput {
    guard: Option<WorkerGuard>,
    lost: ErrorCounter,
}

impl LogOutput {
    /// Sends all log lines of the process to the standard output, in colours if it is a terminal.
    ///
    /// # Errors
    /// It was done before.
    pub fn start(json: bool, verbose: bool) -> Result<Self, SetGlobalDefaultError> {
        let (writer, guard) = NonBlockingBuilder::default()
            .buffered_lines_limit(QUEUE)
            .lossy(true)
            .thread_name("log")
            .finish(io::stdout());
        let lost = writer.error_counter();
        let style = Style {
            json,
            verbose,
            ansi: io::stdout().is_terminal(),
        };
        tracing::subscriber::set_global_default(subscriber(style, writer))?;
        Ok(Self {
            guard: Some(guard),
            lost,
        })
    }

    /// How many lines were lost since the start because the output took no more.
    #[must_use]
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
            // Nobody listens any more once the time is over.
            let _ = done.send(());
        });
        // Over time or not, this is the end.
        let _ = finished.recv_timeout(LAST_LINES);
    }
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
        .with_target(false);
    if style.json {
        let lines = lines.json().flatten_event(true);
        Box::new(
            lines
                .with_current_span(false)
                .with_span_list(false)
                .finish(),
        )
    } else {
        let lines = lines.with_ansi(style.ansi);
        Box::new(lines.fmt_fields(format::debug_fn(message_only)).finish())
    }
}

/// Prints the sentence and leaves out the fields, which say the same to machines.
fn message_only(writer: &mut Writer<'_>, field: &Field, value: &dyn fmt::Debug) -> fmt::Result {
    if field.name() == "message" {
        write!(writer, "{value:?}")
    } else {
        Ok(())
    }
}
