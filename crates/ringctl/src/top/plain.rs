//! Prints snapshots as text.

use std::env;
use std::io::{self, IsTerminal, Write};
use std::time::{Instant, SystemTime};

use ratatui::buffer::Buffer;
use ratatui::crossterm::terminal;
use ratatui::layout::Rect;

use super::columns::text_width;
use super::draw::{INDENT, Layout, draw};
use super::feed::{self, Feed};
use super::model::Model;
use super::style::Style;

/// Width of the output if it does not go to a terminal. At this width, the tables have all their columns.
const TEXT_WIDTH: u16 = 160;

/// Prints a snapshot after each round of requests, until `count` answers are printed or the reader closes the output.
///
/// # Errors
/// Fails if the first answer of the daemon cannot be read, or if `output` cannot be written.
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
    let mut answers = 0;
    for update in updates {
        let wall = SystemTime::now();
        let Some(round) = model.apply(update, Instant::now(), wall) else {
            continue;
        };
        if answers == 0 {
            round?;
            answers = 1;
        } else {
            writeln!(output)?;
            answers += u32::from(round.is_ok());
        }
        writeln!(output, "{}", humantime::format_rfc3339_seconds(wall))?;
        for line in lines(&model, style, width) {
            writeln!(output, "{line}")?;
        }
        output.flush()?;
        if count == Some(answers) {
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

pub(super) fn lines(model: &Model, style: Style, width: u16) -> Vec<String> {
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

/// Returns a height that is sufficient for all rows.
fn text_height(model: &Model, width: u16) -> u16 {
    let page = model.page();
    let loss = model.loss_text();
    // When a text is divided between words, each line is at least half full, unless a word is longer than half a line.
    let lines_of = |text: &String| {
        let width = width.saturating_sub(text_width(INDENT)).max(1);
        2 + 2 * usize::from(text_width(text)) / usize::from(width)
    };
    let texts = page.troubles.iter().chain(&loss).chain(model.events());
    let texts: usize = texts.map(lines_of).sum();
    let facts = model.facts();
    let facts = facts
        .iter()
        .map(|(name, value)| lines_of(&format!("{name} {value}")));
    let rows: usize = page.tables.iter().map(|table| table.rows.len() + 2).sum();
    // The number 3 stands for the title, the bars, and the title of the events.
    let height = texts + rows + facts.sum::<usize>() + 3;
    u16::try_from(height).unwrap_or(u16::MAX)
}

/// Returns the lines of a buffer, without the blanks at their ends.
pub(super) fn text_lines(buffer: &Buffer) -> Vec<String> {
    let width = usize::from(buffer.area().width.max(1));
    let line = |cells: &[ratatui::buffer::Cell]| {
        let mut text = String::new();
        let mut column = 0;
        while let Some(cell) = cells.get(column) {
            text.push_str(cell.symbol());
            // Skip the further cells that a wide character covers, because they are blank.
            column += usize::from(text_width(cell.symbol()).max(1));
        }
        text.trim_end().to_owned()
    };
    buffer.content().chunks(width).map(line).collect()
}
