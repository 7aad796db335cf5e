//! All tables. The tables of the programs are compiled into this test, because the programs keep them private.

use ring_control::Trouble;
use ring_host::observe::LogEvent;

#[path = "../../board/src/events.rs"]
mod board_events;
#[path = "../../board/src/troubles.rs"]
mod board_troubles;
#[path = "../../src/system/ftn/events.rs"]
mod ftn_events;
#[path = "../../src/system/ftn/troubles.rs"]
mod ftn_troubles;
#[path = "../../src/system/jitterbug/events.rs"]
mod jitterbug_events;
#[path = "../../src/system/jitterbug/troubles.rs"]
mod jitterbug_troubles;
#[path = "../../src/system/lab2/events.rs"]
mod lab2_events;
#[path = "../../src/system/lab2/troubles.rs"]
mod lab2_troubles;
#[path = "../../src/system/events.rs"]
mod shared_events;
#[path = "../../src/system/troubles.rs"]
mod shared_troubles;

/// The events and troubles of one part of the code.
pub(super) struct Table {
    /// Title of the table in the documents.
    pub title: &'static str,
    /// Beginning of the paths of the files that log these events.
    pub source: &'static str,
    pub events: &'static [LogEvent],
    pub troubles: &'static [Trouble],
}

/// The tables, in the order of the documents. If the paths of several tables match, the longest path decides.
pub(super) const TABLES: [Table; 6] = [
    Table {
        title: "All daemons",
        source: "crates/host/src/",
        events: ring_host::observe::events::EVENTS,
        troubles: ring_host::troubles::TROUBLES,
    },
    Table {
        title: "All systems of ringd",
        source: "src/system/",
        events: shared_events::EVENTS,
        troubles: shared_troubles::TROUBLES,
    },
    Table {
        title: "The ring",
        source: "src/system/lab2/",
        events: lab2_events::EVENTS,
        troubles: lab2_troubles::TROUBLES,
    },
    Table {
        title: "The token service",
        source: "src/system/ftn/",
        events: ftn_events::EVENTS,
        troubles: ftn_troubles::TROUBLES,
    },
    Table {
        title: "Jitterbug",
        source: "src/system/jitterbug/",
        events: jitterbug_events::EVENTS,
        troubles: jitterbug_troubles::TROUBLES,
    },
    Table {
        title: "The board",
        source: "board/src/",
        events: board_events::EVENTS,
        troubles: board_troubles::TROUBLES,
    },
];

/// Returns the troubles of all tables, and those that `ringctl` finds.
pub(super) fn troubles() -> impl Iterator<Item = &'static Trouble> {
    let own = ring_control::troubles::TROUBLES;
    TABLES.iter().flat_map(|table| table.troubles).chain(own)
}
