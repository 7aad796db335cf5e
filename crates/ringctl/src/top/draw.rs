//! Draws the model into a buffer of any size.

use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Rect};
use ratatui::style::Style as TextStyle;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Row as TableRow, Sparkline, Table as TableWidget, Widget};
use ring_control::Health;

use super::columns::{self, text_width};
use super::model::Model;
use super::page::{Bars, Table};
use super::panes::{Panes, divide};
use super::style::Style;
use super::text::{FACT_GAP, bar_text, bar_value, cut, flow, joined_width, wrap};

/// The beginning of lines that continue a text.
pub(super) const INDENT: &str = "  ";
/// Minimum height with a last line about the keys.
const WITH_KEYS: u16 = 14;
/// Number of lines that each pane gets before the other lines are divided: the title, the heads of the columns, and two
/// rows.
const PANE_HEIGHT_MIN: u16 = 4;

/// The keys, for the help.
const KEYS: [(&str, &str); 6] = [
    ("q, Ctrl-C", "quit"),
    ("?", "show or hide this help"),
    ("Tab", "choose the table to scroll"),
    ("Up, Down", "scroll by a row (also k, j)"),
    ("PageUp, PageDown", "scroll by a page"),
    ("Home, End", "scroll to the start or the end"),
];

/// The part of the display that does not come from the daemon.
#[derive(Debug, Default)]
pub(super) struct Layout {
    pub panes: Panes,
    pub shows_help: bool,
    /// Whether the output is text for a pipe or a file. Then the buffer is high enough for all rows.
    pub is_text: bool,
}

/// A buffer with a place for the next line.
struct Canvas<'a> {
    buffer: &'a mut Buffer,
    /// The part of the buffer that is still empty.
    free: Rect,
    style: Style,
}

pub(super) fn draw(model: &Model, layout: &mut Layout, style: Style, buffer: &mut Buffer) {
    let free = *buffer.area();
    let height = free.height;
    if free.is_empty() {
        return;
    }
    let mut canvas = Canvas {
        buffer,
        free,
        style,
    };
    canvas.title(model);
    if let Some(text) = model.loss_text() {
        let style = style.of_health(Health::Critical);
        let lines_max = if layout.is_text { u16::MAX } else { 3 };
        canvas.paragraph("! ", &text, lines_max, style);
    }
    if layout.shows_help {
        for (key, meaning) in KEYS {
            canvas.line(Line::raw(format!("{key:<18}{meaning}")));
        }
        return;
    }
    let part = |share: u16| {
        if layout.is_text {
            u16::MAX
        } else {
            height / share
        }
    };
    canvas.troubles(model, part(3).max(2));
    canvas.facts(model, part(3).max(2), layout.is_text);
    if !layout.is_text && height >= WITH_KEYS {
        canvas.keys();
    }
    canvas.panes(model, layout);
}

impl Canvas<'_> {
    /// Takes lines from the top of the free part.
    fn take(&mut self, height: u16) -> Rect {
        let height = height.min(self.free.height);
        let taken = Rect {
            height,
            ..self.free
        };
        self.free.y += height;
        self.free.height -= height;
        taken
    }

    fn line(&mut self, line: Line<'_>) {
        let area = self.take(1);
        line.render(area, self.buffer);
    }

    fn title(&mut self, model: &Model) {
        let page = model.page();
        let area = self.take(1);
        self.buffer.set_style(area, Style::title());
        let (health, text) = if model.is_lost() {
            (Health::Critical, " no answer ".to_owned())
        } else {
            (page.health, format!(" {} ", page.health.name()))
        };
        let width = text_width(&text);
        let title = self.style.shown(&page.title);
        let left = area.width.saturating_sub(width + 1);
        self.buffer.set_stringn(
            area.x,
            area.y,
            format!(" {title}"),
            left.into(),
            TextStyle::new(),
        );
        let is_known = model.is_lost() || !page.title.is_empty();
        if is_known && area.width > width {
            let style = self.style.of_health(health);
            self.buffer
                .set_stringn(area.right() - width, area.y, text, width.into(), style);
        }
    }

    /// Draws a text in at most `lines_max` lines. If the text is longer, it ends with dots.
    fn paragraph(&mut self, mark: &str, text: &str, lines_max: u16, style: TextStyle) {
        let text = self.style.shown(text);
        let width = self.free.width.saturating_sub(text_width(mark));
        let lines = wrap(&text, width);
        let count = usize::from(lines_max.min(self.free.height));
        for (at, line) in lines.iter().take(count).enumerate() {
            let mark = if at == 0 { mark } else { INDENT };
            let is_cut = at + 1 == count && count < lines.len();
            let line = if is_cut {
                cut(line, width)
            } else {
                line.clone()
            };
            self.line(Line::styled(format!("{mark}{line}"), style));
        }
    }

    fn troubles(&mut self, model: &Model, lines_max: u16) {
        let troubles = &model.page().troubles;
        let style = self.style.of_health(model.page().health);
        let end = self.free.y.saturating_add(lines_max);
        for (at, trouble) in troubles.iter().enumerate() {
            let more = troubles.len() - at;
            // If more troubles follow, keep one line for their number.
            let kept = u16::from(more > 1);
            let left = { end.saturating_sub(self.free.y) }.min(self.free.height);
            if left <= kept {
                let text = format!("! and {more} more: ringctl status");
                return self.line(Line::styled(text, style));
            }
            self.paragraph("! ", trouble, left - kept, style);
        }
    }

    /// Draws the facts, the rates and the path. Each line contains as many of them as fit. Then draws the bars.
    fn facts(&mut self, model: &Model, lines_max: u16, wraps: bool) {
        let page = model.page();
        let facts = model.facts();
        let lines = flow(&facts, self.free.width);
        let lines_max = usize::from(lines_max);
        let has_bars = !page.counters.is_empty() && lines_max > 2;
        for line in lines.iter().take(lines_max - usize::from(has_bars)) {
            if let [(name, value)] = line[..]
                && joined_width(name, value) > self.free.width
            {
                self.long_fact(name, value, wraps);
                continue;
            }
            let mut spans = Vec::new();
            for (at, (name, value)) in line.iter().enumerate() {
                let gap = if at == 0 { 0 } else { FACT_GAP.into() };
                spans.push(Span::raw(" ".repeat(gap)));
                spans.push(Span::styled(*name, self.style.label()));
                spans.push(Span::raw(format!(" {}", self.style.shown(value))));
            }
            self.line(Line::from(spans));
        }
        if has_bars {
            self.bars(model);
        }
    }

    /// Draws a fact that is longer than a line.
    fn long_fact(&mut self, name: &str, value: &str, wraps: bool) {
        let name_area = Rect {
            width: text_width(name).min(self.free.width),
            height: self.free.height.min(1),
            ..self.free
        };
        let text = format!("{name} {value}");
        let lines = if wraps {
            self.indented_lines(&text)
        } else {
            vec![cut(&self.style.shown(&text), self.free.width)]
        };
        for line in lines {
            self.line(Line::raw(line));
        }
        self.buffer.set_style(name_area, self.style.label());
    }

    fn bars(&mut self, model: &Model) {
        if self.free.height == 0 {
            return;
        }
        let (name, latest) = (bars_name(model), model.rates().history().back());
        let bars = model.page().bars;
        let latest = latest.copied().flatten();
        let latest = latest.map_or_else(|| "-".to_owned(), |rate| bar_text(bars, rate));
        let head = format!("{name} {latest} ");
        let area = self.take(1);
        let (x, _) =
            self.buffer
                .set_stringn(area.x, area.y, &head, area.width.into(), TextStyle::new());
        let name_area = Rect {
            width: text_width(name).min(area.width),
            ..area
        };
        self.buffer.set_style(name_area, self.style.label());
        let room = Rect {
            x,
            width: area.right() - x,
            ..area
        };
        let history = model.rates().history();
        let first = history.len().saturating_sub(room.width.into());
        let heights = history.iter().skip(first);
        let heights: Vec<Option<u64>> = heights
            .map(|rate| rate.map(|it| bar_value(bars, it)))
            .collect();
        Sparkline::default()
            .data(heights)
            .bar_set(self.style.bars())
            .absent_value_symbol(self.style.dot())
            .render(room, self.buffer);
    }

    fn keys(&mut self) {
        let y = self.free.bottom().saturating_sub(1);
        self.free.height = self.free.height.saturating_sub(1);
        let text = "q quit   ? keys   Tab, arrows, PageUp, PageDown scroll";
        self.buffer.set_stringn(
            self.free.x,
            y,
            text,
            self.free.width.into(),
            self.style.label(),
        );
    }

    /// Draws the tables and the events below each other.
    fn panes(&mut self, model: &Model, layout: &mut Layout) {
        let tables: Vec<&Table> = { model.page().tables.iter() }
            .filter(|table| !table.rows.is_empty())
            .collect();
        let events = { model.events().iter() }.flat_map(|event| self.indented_lines(event));
        let events: Vec<String> = events.collect();
        let mut wanted: Vec<u16> = tables.iter().map(|it| height(it.rows.len() + 2)).collect();
        wanted.push(height(events.len() + 1));
        layout.panes.set_count(wanted.len());
        let least = if layout.is_text {
            u16::MAX
        } else {
            PANE_HEIGHT_MIN
        };
        let given = divide(self.free.height, &wanted, least);
        for (at, (table, height)) in tables.iter().zip(&given).enumerate() {
            let area = self.take(*height);
            self.table(table, area, at, layout);
        }
        let title = format!("Events ({}), newest first, UTC", model.events().len());
        self.events(&title, &events, tables.len(), layout);
    }

    /// Divides a text into lines.
    fn indented_lines(&self, text: &str) -> Vec<String> {
        let width = self.free.width.saturating_sub(text_width(INDENT));
        let mut lines = wrap(&self.style.shown(text), width);
        for line in lines.iter_mut().skip(1) {
            line.insert_str(0, INDENT);
        }
        lines
    }

    /// Draws the title of a pane. If not all rows are visible, adds the numbers of the visible rows.
    fn heading(&mut self, title: &str, at: usize, visible: Visible, area: Rect, layout: &Layout) {
        let is_cut = visible.count < visible.rows;
        let text = match visible.first + visible.count {
            last if is_cut && visible.count > 0 => {
                format!(
                    "{title}, lines {} to {last} of {}",
                    visible.first + 1,
                    visible.rows
                )
            }
            _ => title.to_owned(),
        };
        // Mark the chosen pane only if it can be scrolled.
        let style = if is_cut && layout.panes.is_chosen(at) {
            Style::title()
        } else {
            Style::heading()
        };
        self.buffer
            .set_stringn(area.x, area.y, text, area.width.into(), style);
    }

    fn table(&mut self, table: &Table, area: Rect, at: usize, layout: &mut Layout) {
        if area.height == 0 {
            return;
        }
        let rows = table.rows.len();
        let visible = Visible::of(rows, area.height.saturating_sub(2), at, layout);
        let title = format!("{} ({rows})", table.title);
        self.heading(&title, at, visible, area, layout);
        let columns = columns::fit(table, area.width);
        let names = columns.iter().map(|(at, _)| table.columns[*at].name);
        let header = TableRow::new(names).style(self.style.label());
        let style = self.style;
        let shown = table.rows.iter().skip(visible.first).take(visible.count);
        let rows = shown.map(|row| {
            let cells = columns.iter().map(|(at, _)| style.shown(&row.cells[*at]));
            TableRow::new(cells).style(style.of_row(row.emphasis))
        });
        let widths = columns.iter().map(|(_, width)| Constraint::Length(*width));
        let mut body = area;
        body.y += 1;
        body.height -= 1;
        let widget = TableWidget::new(rows, widths)
            .header(header)
            .column_spacing(columns::GAP);
        Widget::render(widget, body, self.buffer);
    }

    fn events(&mut self, title: &str, lines: &[String], at: usize, layout: &mut Layout) {
        let area = self.free;
        if area.height == 0 {
            return;
        }
        let visible = Visible::of(lines.len(), area.height - 1, at, layout);
        self.heading(title, at, visible, area, layout);
        self.take(1);
        for line in lines.iter().skip(visible.first).take(visible.count) {
            self.line(Line::raw(line));
        }
    }
}

/// The visible rows of a pane.
#[derive(Debug, Clone, Copy)]
struct Visible {
    first: usize,
    count: usize,
    rows: usize,
}

impl Visible {
    fn of(rows: usize, height: u16, at: usize, layout: &mut Layout) -> Self {
        let count = rows.min(height.into());
        let first = layout.panes.set_rows(at, rows, count);
        Self { first, count, rows }
    }
}

fn height(lines: usize) -> u16 {
    u16::try_from(lines).unwrap_or(u16::MAX)
}

fn bars_name(model: &Model) -> &'static str {
    match (model.page().bars, model.page().counters.first()) {
        (Bars::Time(name), _) => name,
        (Bars::Rate, Some(counter)) => counter.name,
        (Bars::Rate, None) => "",
    }
}
