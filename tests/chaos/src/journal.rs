//! Journal of a run: the actions and their times, one JSON object per line. The journal is written during the run, so
//! an aborted run can also be checked.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result};
use ring_segment::{Timing, epoch, now};
use serde::{Deserialize, Serialize};

use crate::stations::Stations;

/// File name of the journal in the folder of a run.
pub const FILE: &str = "journal.jsonl";

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JournalEntry {
    /// Time in nanoseconds since 1970.
    pub at_ns: u64,
    #[serde(flatten)]
    pub what: Event,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    Run {
        seed: u64,
        /// Requested length in seconds.
        seconds: u64,
        #[serde(rename = "cast")]
        stations: Stations,
        timing: Timing,
        /// Whether the daemons' monotonic clocks differ.
        clocks_differ: bool,
    },
    Cycle {
        number: u32,
    },
    Fault {
        /// Number of the fault. [`Event::Undone`] refers to it.
        id: u32,
        kind: String,
        /// Places of the affected stations. An empty list means all stations.
        stations: Vec<usize>,
        detail: String,
    },
    Undone {
        id: u32,
    },
    /// All faults are over. From this time, bounds are judged.
    Calm {
        starved: bool,
    },
    /// From this time the members want the token.
    WantsBegin,
    /// The members no longer want the token.
    WantsEnd,
    /// The run killed a daemon that seemed to own the token.
    Crash {
        station: usize,
    },
    Restart {
        station: usize,
    },
    /// Status of the daemons at the end of a calm.
    Statuses {
        /// Answers of `ringctl status --json`, with the place of each daemon.
        statuses: Vec<(usize, serde_json::Value)>,
    },
    CalmEnd,
    Late {
        /// Observer: `metronome`, or the name of a member.
        who: String,
        /// Delay in nanoseconds.
        by_ns: u64,
    },
    /// A daemon exited although no command ended it.
    Died {
        station: usize,
        status: String,
    },
    /// The recordings lost frames, so the checks prove nothing.
    Blind {
        frames: u32,
    },
    End,
}

#[derive(Debug, Clone)]
pub struct Journal {
    file: Arc<Mutex<File>>,
}

impl Journal {
    pub fn create(folder: &Path) -> Result<Self> {
        let path = folder.join(FILE);
        let file =
            File::create(&path).with_context(|| format!("cannot create {}", path.display()))?;
        Ok(Self {
            file: Arc::new(Mutex::new(file)),
        })
    }

    pub fn note(&self, what: Event) -> Result<()> {
        let entry = JournalEntry {
            at_ns: since_1970(now()),
            what,
        };
        let mut line = serde_json::to_string(&entry).context("an entry is JSON")?;
        line.push('\n');
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.write_all(line.as_bytes())
            .context("cannot write the journal")
    }
}

/// Converts a time of the segment's clock to nanoseconds since 1970.
pub fn since_1970(at: Duration) -> u64 {
    u64::try_from((epoch() + at).as_nanos()).unwrap_or(u64::MAX)
}

/// Reads a journal. Ignores an incomplete last line.
pub fn read(folder: &Path) -> Result<Vec<JournalEntry>> {
    let path = folder.join(FILE);
    let file = File::open(&path).with_context(|| format!("there is no {}", path.display()))?;
    let mut entries = Vec::new();
    for line in BufReader::new(file).lines() {
        let line = line.context("cannot read the journal")?;
        if let Ok(entry) = serde_json::from_str(&line) {
            entries.push(entry);
        }
    }
    Ok(entries)
}
