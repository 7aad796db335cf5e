//! Prints snapshots as text.

use std::env;
use std::io::{self, IsTerminal, Write};
use std::time::{Instant, SystemTime};

use ratatui::buffer::Buffer;
use ratatui::crossterm::terminal;
use ratatui::layout::Rect;

use super::super::Error;
use super::columns::text_width;
use super::draw::{Layout, draw, text_height};
use super::feed::{self, Feed, Update};
use super::model::Model;
use super::style::Style;

/// Width of a text that goes to no terminal. At this width, all tables have all columns.
const TEXT_WIDTH: u16 = 160;

/// Prints a snapshot after each answer of the daemon, `count` times or until the reader closes the output.
///
/// # Errors
/// Fails if the daemon gives no first answer, or if `output` cannot be written.
pub(super) fn print(
    feed: Feed,
    mut model: Model,
    count: Option<u32>,
    style: Style,
    output: &mut impl Write,
) -> anyhow::Result<()> {
    let (sender, updates) = feed::channel();
    feed.start(sender, |update| update);
    let width = text_columns();
    let mut printed = 0;
    for update in updates {
        if let (Update::Lost(reason), 0) = (&update, printed) {
            return Err(Error::Gone(reason.clone()).into());
        }
        let wall = SystemTime::now();
        if !model.apply(update, Instant::now(), wall) {
            continue;
        }
        if printed > 0 {
            writeln!(output)?;
        }
        writeln!(output, "{}", humantime::format_rfc3339_seconds(wall))?;
        for line in lines(&model, style, width) {
            writeln!(output, "{line}")?;
        }
        output.flush()?;
        printed += 1;
        if count == Some(printed) {
            break;
        }
    }
    Ok(())
}

/// Returns the width that the user or the terminal gives.
fn text_columns() -> u16 {
    let given = env::var("COLUMNS").ok();
    let given = given.and_then(|columns| columns.parse().ok());
    let of_terminal = || {
        let is_terminal = io::stdout().is_terminal();
        let (columns, _) = is_terminal.then(terminal::size)?.ok()?;
        Some(columns)
    };
    let columns = given.or_else(of_terminal).filter(|columns| *columns > 0);
    columns.unwrap_or(TEXT_WIDTH)
}

fn lines(model: &Model, style: Style, width: u16) -> Vec<String> {
    let area = Rect::new(0, 0, width, text_height(model, width));
    let mut buffer = Buffer::empty(area);
    let mut layout = Layout {
        is_text: true,
        ..Layout::default()
    };
    draw(model, &mut layout, style, &mut buffer);
    let mut lines = text_lines(&buffer);
    let used = lines.iter().rposition(|line| !line.is_empty());
    lines.truncate(used.map_or(0, |last| last + 1));
    lines
}

/// Returns the lines of a buffer, without the blanks at their ends.
pub(super) fn text_lines(buffer: &Buffer) -> Vec<String> {
    let width = usize::from(buffer.area().width.max(1));
    let line = |cells: &[ratatui::buffer::Cell]| {
        let mut text = String::new();
        let mut column = 0;
        while let Some(cell) = cells.get(column) {
            text.push_str(cell.symbol());
            // The cells that a wide character covers are blank.
            column += usize::from(text_width(cell.symbol()).max(1));
        }
        text.trim_end().to_owned()
    };
    buffer.content().chunks(width).map(line).collect()
}
