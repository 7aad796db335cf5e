//! The widths of a table's columns.

use ratatui::text::Span;

use super::page::Table;

/// Number of blanks between two columns.
pub(super) const GAP: u16 = 2;

/// Returns the columns of a table that fit into `width`, with their widths. Leaves out empty columns. If the width is
/// not sufficient, first leaves out the columns with the largest rank.
pub(super) fn fit(table: &Table, width: u16) -> Vec<(usize, u16)> {
    let cells = |at: usize| table.rows.iter().filter_map(move |row| row.cells.get(at));
    let measure = |(at, column): (usize, &super::page::Column)| {
        let widest = cells(at).map(|cell| text_width(cell)).max()?;
        (widest > 0).then(|| (at, widest.max(text_width(column.name)), column.rank))
    };
    let columns = table.columns.iter().enumerate();
    let mut fitting: Vec<_> = columns.filter_map(measure).collect();
    while total(&fitting) > width {
        let Some(worst) = fitting.iter().map(|column| column.2).max() else {
            break;
        };
        if worst == 0 {
            break;
        }
        fitting.retain(|column| column.2 < worst);
    }
    // The columns that always stay may still be too wide, so make them narrower.
    shrink(&mut fitting, width);
    fitting
        .into_iter()
        .map(|(at, width, _)| (at, width))
        .collect()
}

fn total(columns: &[(usize, u16, u8)]) -> u16 {
    let widths: u16 = columns.iter().map(|column| column.1).sum();
    let gaps = u16::try_from(columns.len().saturating_sub(1)).unwrap_or(u16::MAX);
    widths.saturating_add(gaps.saturating_mul(GAP))
}

/// Makes the widest columns narrower until all columns fit.
fn shrink(columns: &mut [(usize, u16, u8)], width: u16) {
    while total(columns) > width {
        let Some(widest) = columns.iter_mut().max_by_key(|column| column.1) else {
            return;
        };
        if widest.1 <= 1 {
            return;
        }
        widest.1 -= 1;
    }
}

pub(super) fn text_width(text: &str) -> u16 {
    u16::try_from(Span::raw(text).width()).unwrap_or(u16::MAX)
}

#[cfg(test)]
mod tests {
    use super::super::page::{Emphasis, Table};
    use super::fit;

    #[test]
    fn less_important_columns_are_left_out_first() {
        let columns = [
            ("NAME", 0),
            ("MAC", 2),
            ("IP", 1),
            ("NOTE", 3),
            ("EMPTY", 0),
        ];
        let mut table = Table::new("Members", columns);
        let cells = ["north", "02:00:00:00:00:01", "10.0.0.1", "paused by me", ""];
        table.add(Emphasis::None, cells.map(str::to_owned));
        for (width, expected) in [
            (80, &[(0, 5), (1, 17), (2, 8), (3, 12)][..]),
            (40, &[(0, 5), (1, 17), (2, 8)]),
            (30, &[(0, 5), (2, 8)]),
            (14, &[(0, 5)]),
            (3, &[(0, 3)]),
            (0, &[(0, 1)]),
        ] {
            assert_eq!(fit(&table, width), expected, "{width}");
        }
        assert_eq!(fit(&Table::new("Members", columns), 80), []);
    }
}
