//! The panes and their scrolling. The panes share the height of the screen.

/// A direction and distance of scrolling.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scroll {
    Up,
    Down,
    PageUp,
    PageDown,
    Start,
    End,
}

/// The first visible row of each pane, and the pane that the keys scroll.
#[derive(Debug, Default)]
pub(super) struct Panes {
    chosen: usize,
    panes: Vec<Pane>,
}

#[derive(Debug, Default, Clone, Copy)]
struct Pane {
    first: usize,
    rows: usize,
    visible: usize,
}

impl Panes {
    /// Sets the number of panes.
    pub(super) fn set_count(&mut self, count: usize) {
        self.panes.resize(count, Pane::default());
        self.chosen = self.chosen.min(count.saturating_sub(1));
    }

    /// Sets the number of rows of a pane, and the number of rows that are visible. Returns the first visible row.
    pub(super) fn set_rows(&mut self, at: usize, rows: usize, visible: usize) -> usize {
        let Some(pane) = self.panes.get_mut(at) else {
            return 0;
        };
        let first = pane.first.min(rows.saturating_sub(visible));
        *pane = Pane {
            first,
            rows,
            visible,
        };
        first
    }

    pub(super) fn choose_next(&mut self) {
        self.chosen = (self.chosen + 1) % self.panes.len().max(1);
    }

    pub(super) fn choose_previous(&mut self) {
        let count = self.panes.len().max(1);
        self.chosen = (self.chosen + count - 1) % count;
    }

    pub(super) const fn is_chosen(&self, at: usize) -> bool {
        self.chosen == at
    }

    pub(super) fn scroll(&mut self, by: Scroll) {
        let Some(pane) = self.panes.get_mut(self.chosen) else {
            return;
        };
        let last = pane.rows.saturating_sub(pane.visible);
        let page = pane.visible.max(1);
        pane.first = match by {
            Scroll::Up => pane.first.saturating_sub(1),
            Scroll::Down => pane.first + 1,
            Scroll::PageUp => pane.first.saturating_sub(page),
            Scroll::PageDown => pane.first + page,
            Scroll::Start => 0,
            Scroll::End => last,
        }
        .min(last);
    }
}

/// Divides a height among panes. `wanted` contains the number of lines that each pane can use. The first pane is the
/// most important, so it first gets up to half of the height. Each other pane first gets up to `least` lines. Then the
/// panes share the remaining lines.
pub(super) fn divide(height: u16, wanted: &[u16], least: u16) -> Vec<u16> {
    let mut left = height;
    let mut given: Vec<u16> = Vec::with_capacity(wanted.len());
    for (at, &wanted) in wanted.iter().enumerate() {
        let least = if at == 0 {
            least.max(height / 2)
        } else {
            least
        };
        let first = wanted.min(least).min(left);
        left -= first;
        given.push(first);
    }
    while left > 0 {
        let mut is_full = true;
        for (given, &wanted) in given.iter_mut().zip(wanted) {
            if left > 0 && *given < wanted {
                *given += 1;
                left -= 1;
                is_full = false;
            }
        }
        if is_full {
            break;
        }
    }
    given
}

#[cfg(test)]
mod tests {
    use super::{Panes, Scroll, divide};

    #[test]
    fn panes_share_the_height() {
        for (height, wanted, expected) in [
            (20, &[6, 4, 30][..], &[6, 4, 10][..]),
            (20, &[1_000, 4, 30], &[11, 4, 5]),
            (9, &[1_000, 4, 30], &[4, 4, 1]),
            (2, &[1_000, 4, 30], &[2, 0, 0]),
            (50, &[6, 4, 3], &[6, 4, 3]),
            (0, &[6], &[0]),
        ] {
            assert_eq!(divide(height, wanted, 4), expected, "{height} {wanted:?}");
        }
    }

    #[test]
    fn scrolling_stays_within_the_rows() {
        let mut panes = Panes::default();
        panes.set_count(2);
        assert_eq!(panes.set_rows(0, 100, 10), 0);
        for (by, expected) in [
            (Scroll::Up, 0),
            (Scroll::Down, 1),
            (Scroll::PageDown, 11),
            (Scroll::PageUp, 1),
            (Scroll::End, 90),
            (Scroll::PageDown, 90),
            (Scroll::Start, 0),
        ] {
            panes.scroll(by);
            assert_eq!(panes.set_rows(0, 100, 10), expected, "{by:?}");
        }
        panes.scroll(Scroll::End);
        assert_eq!(panes.set_rows(0, 20, 10), 10, "most members are gone");
        panes.choose_next();
        assert!(panes.is_chosen(1));
        panes.scroll(Scroll::Down);
        assert_eq!(panes.set_rows(0, 20, 10), 10, "another pane is scrolled");
        panes.choose_next();
        assert!(panes.is_chosen(0));
        panes.choose_previous();
        panes.set_count(1);
        assert!(panes.is_chosen(0));
    }
}
