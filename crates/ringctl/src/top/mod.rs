//! `ringctl top`: shows a node and its ring, and keeps the display current.
//!
//! [`feed`] asks the daemon in a separate thread. [`model`] stores the answers. The file of each system builds a
//! [`page`] from the model's status. [`draw`] places the page in a buffer. The buffer is either shown on a terminal by
//! [`screen`], or printed as text by [`plain`]. Add the page of a new system in [`page::Page::of`].

mod board;
mod columns;
mod draw;
mod feed;
mod ftn;
mod input;
mod jitterbug;
mod lab2;
mod model;
mod page;
mod panes;
mod plain;
mod rates;
mod screen;
mod style;
#[cfg(test)]
mod tests;
mod text;

use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::time::Duration;

use clap::Args;
use ring_text::parse_duration_or_seconds;

use self::feed::Feed;
use self::model::Model;
use self::style::Style;

/// Minimum interval. More requests would show nothing new, because the daemon sends events at once.
const INTERVAL_MIN: Duration = Duration::from_millis(100);
const INTERVAL_MAX: Duration = Duration::from_secs(24 * 60 * 60);

pub(super) const HELP: &str = "\
Works for every system. Troubles with their remedies come first. Then come the owner, \
rates, members, locks with the programs that wait, and the events since the start of \
this command. A star marks the owner. Times of day are UTC.

The bars of a ring show the mean time per hop between two requests, the newest at the \
end. There is no bar if the token did not move.

Keys:
  q, Ctrl-C            quit
  ?                    show or hide the keys
  Tab                  choose the table to scroll
  arrows, PageUp, ...  scroll

If the daemon ends, its last answer stays visible, and top tries to reach it again. If \
NO_COLOR is set, top uses no colors. If the locale is not UTF-8, top uses only ASCII \
characters.

With -n, or if the output is no terminal, top prints snapshots with all rows as text: \
one after each request, without an end unless -n limits them. A snapshot without an \
answer of the daemon does not count.

The exit code is 3 if no daemon answers at the start. It is 1 if the first answer \
cannot be read, or refuses the request.";

/// Options of `ringctl top`.
#[derive(Debug, Clone, Args)]
pub(crate) struct TopOptions {
    /// Ask the daemon again after this time.
    #[arg(long, value_name = "DURATION", default_value = "1s", value_parser = parse_interval)]
    interval: Duration,
    /// Print N snapshots as text, then exit.
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    count: Option<u32>,
}

fn parse_interval(text: &str) -> Result<Duration, String> {
    match parse_duration_or_seconds(text)? {
        it if it < INTERVAL_MIN => Err("too short: give 100ms or more, as in 1s".to_owned()),
        it if it > INTERVAL_MAX => Err("too long: give a day or less, as in 1s".to_owned()),
        it => Ok(it),
    }
}

/// Shows the daemon at `socket` until the user quits. Prints text instead if the options or the output require text.
///
/// # Errors
/// Fails if the daemon cannot be reached at the start, or if the terminal or `output` fails.
pub(super) fn top(
    socket: &Path,
    options: &TopOptions,
    output: &mut impl Write,
) -> anyhow::Result<()> {
    let feed = Feed::connect(socket, options.interval)?;
    let model = Model::new(socket);
    if options.count.is_some() || !io::stdout().is_terminal() {
        return plain::print(feed, model, options.count, Style::plain(), output);
    }
    screen::show(feed, model, Style::of_terminal())
}
