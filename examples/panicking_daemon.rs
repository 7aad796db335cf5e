//! A daemon of a ring that panics when SIGUSR1 makes it log its status. For the tests of recordings.
//!
//! All of the daemon's code is unchanged. Only the subscriber of its log panics.

use std::io;
use std::process::ExitCode;

use ringd::cli::Invocation;
use ringd::system::lab2;
use tracing::{Event, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::{fmt, registry};

/// The field of the log that has the status.
const STATUS: &str = "status";

struct Panic;

impl<S: Subscriber> Layer<S> for Panic {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let has_status = event.metadata().fields().field(STATUS).is_some();
        assert!(!has_status, "the example panics");
    }
}

fn main() -> ExitCode {
    let Ok(Invocation::Daemon(options)) = Invocation::parse() else {
        return ExitCode::from(2);
    };
    let log = fmt::layer().with_writer(io::stderr).with_ansi(false);
    let ended =
        tracing::subscriber::with_default(registry().with(log).with(Panic), || lab2::run(options));
    ended.map_or(ExitCode::FAILURE, |()| ExitCode::SUCCESS)
}
