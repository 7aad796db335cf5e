//! The content of the display, in the same form for all systems.

use ring_control::ftn::SYSTEM as FTN;
use ring_control::jitterbug::SYSTEM as JITTERBUG;
use ring_control::lab2::NamedLockStatus;
use ring_control::{Health, NodeStatus, Verdict, escape_control_characters};

use super::super::nodes::BOARD;
use super::super::render;
use super::{board, ftn, jitterbug, lab2};

/// The content of the display for one status. All texts are free of control characters.
#[derive(Debug, Default)]
pub(super) struct Page {
    /// The daemon and its node.
    pub title: String,
    pub health: Health,
    /// The problems and their remedies, the worst first.
    pub troubles: Vec<String>,
    /// Names and values, the most important first.
    pub facts: Vec<(&'static str, String)>,
    pub tables: Vec<Table>,
    /// The counters whose rates are shown. The rate of the first counter is also shown as bars.
    pub counters: Vec<Counter>,
    pub bars: Bars,
    /// The present owner, for the path of the token.
    pub owner: Option<String>,
}

/// The meaning of the bars.
#[derive(Debug, Clone, Copy, Default)]
pub(super) enum Bars {
    /// The events of the first counter per second.
    #[default]
    Rate,
    /// The mean time between two events of the first counter. The text is the name of this time.
    Time(&'static str),
}

/// The value of a counter.
#[derive(Debug, Clone)]
pub(super) struct Counter {
    pub name: &'static str,
    pub value: u64,
    /// The origin of the value, such as a daemon. Values of different origins cannot be compared.
    pub origin: String,
}

/// A table with a title.
#[derive(Debug, Default)]
pub(super) struct Table {
    pub title: &'static str,
    pub columns: Vec<Column>,
    pub rows: Vec<Row>,
}

/// A column of a table.
#[derive(Debug, Clone, Copy)]
pub(super) struct Column {
    pub name: &'static str,
    /// The order in which columns are left out on a narrow terminal: the largest number first. Columns with the number
    /// 0 stay.
    pub rank: u8,
}

/// A row of a table.
#[derive(Debug)]
pub(super) struct Row {
    pub cells: Vec<String>,
    pub emphasis: Emphasis,
}

/// The importance of a row.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Emphasis {
    #[default]
    None,
    /// The row of the owner or holder.
    Owner,
    /// The row of a member with a problem.
    Problem,
}

impl Page {
    /// Builds the page of a status: the page of its system or, if there is none, a page with the plain values.
    ///
    /// # Errors
    /// Fails if a key of the status is missing.
    pub(super) fn of(node: &NodeStatus, locks: &[NamedLockStatus]) -> serde_json::Result<Self> {
        let mut page = match node.system().as_deref() {
            None => lab2::page(&node.json().decode()?, locks),
            Some(FTN) => ftn::page(&node.json().decode()?),
            Some(JITTERBUG) => jitterbug::page(&node.json().decode()?),
            Some(BOARD) => board::page(&node.json().decode()?),
            Some(other) => Self {
                title: escape_control_characters(other),
                facts: vec![("Status", render::View::summary(node))],
                ..Self::default()
            },
        };
        let Verdict { health, troubles } = node.verdict();
        page.health = health;
        page.troubles = troubles
            .iter()
            .map(|it| escape_control_characters(it))
            .collect();
        Ok(page)
    }
}

impl Table {
    pub(super) fn new<const N: usize>(
        title: &'static str,
        columns: [(&'static str, u8); N],
    ) -> Self {
        let columns = columns.map(|(name, rank)| Column { name, rank });
        Self {
            title,
            columns: columns.into(),
            rows: Vec::new(),
        }
    }

    /// Adds a row. Escapes the control characters of its cells.
    pub(super) fn add<const N: usize>(&mut self, emphasis: Emphasis, cells: [String; N]) {
        debug_assert_eq!(N, self.columns.len(), "one cell per column");
        let cells = cells.map(|cell| escape_control_characters(&cell));
        self.rows.push(Row {
            cells: cells.into(),
            emphasis,
        });
    }
}

/// Creates a counter. Its origin is the daemon.
pub(super) fn counter(name: &'static str, value: u64) -> Counter {
    Counter {
        name,
        value,
        origin: String::new(),
    }
}
