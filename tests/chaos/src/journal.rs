//! What was done to the ring and when: one JSON object a line, so that a run that was broken off
//! can be checked as far as it came.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result};
use ring_segment::{Timing, epoch, now};
use serde::{Deserialize, Serialize};

use crate::cast::Cast;

/// The journal's name in the folder of a run.
pub const FILE: &str = "journal.jsonl";

/// An entry.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// When, in nanoseconds since 1970.
    pub at_ns: u64,
    /// What.
    #[serde(flatten)]
    pub what: What,
}

/// What can happen in a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum What {
    /// The run begins.
    Run {
        /// Makes the same plan again.
        seed: u64,
        /// The length that was asked for, in seconds.
        seconds: u64,
        /// Who takes part.
        cast: Cast,
        /// The protocol's constants.
        timing: Timing,
        /// Whether the daemons' monotonic clocks differ.
        clocks_differ: bool,
    },
    /// A cycle begins, with a phase of faults.
    Cycle {
        /// From 1.
        number: u32,
    },
    /// A fault begins.
    Fault {
        /// Names it in [`What::Undone`].
        id: u32,
        /// In a word.
        kind: String,
        /// The stations that it befalls, by place; none: all.
        stations: Vec<usize>,
        /// In a few words.
        detail: String,
    },
    /// A fault is over.
    Undone {
        /// Which.
        id: u32,
    },
    /// All faults are over: from here on bounds count.
    Calm {
        /// Whether processes that only burn CPU go on.
        starved: bool,
    },
    /// The members that want the token begin to.
    WantsBegin,
    /// They want it no more.
    WantsEnd,
    /// A daemon was killed that seemed to be the owner.
    Crash {
        /// Its place.
        station: usize,
    },
    /// It was started again.
    Restart {
        /// Its place.
        station: usize,
    },
    /// What the daemons said of themselves at the end of a calm.
    Statuses {
        /// By place: the answer of `ringctl status --json`.
        statuses: Vec<(usize, serde_json::Value)>,
    },
    /// The calm is over.
    CalmEnd,
    /// The machine itself was late.
    Late {
        /// Who found itself late: `metronome`, or a member's name.
        who: String,
        /// By how much.
        by_ns: u64,
    },
    /// A daemon ended by itself.
    Died {
        /// Its place.
        station: usize,
        /// How.
        status: String,
    },
    /// The recordings themselves lost frames: they prove nothing.
    Blind {
        /// How many.
        frames: u32,
    },
    /// The run has come to its end.
    End,
}

/// Writes entries, from any thread.
#[derive(Debug, Clone)]
pub struct Journal {
    file: Arc<Mutex<File>>,
}

impl Journal {
    /// Makes the file.
    pub fn create(folder: &Path) -> Result<Self> {
        let path = folder.join(FILE);
        let file =
            File::create(&path).with_context(|| format!("cannot create {}", path.display()))?;
        Ok(Self {
            file: Arc::new(Mutex::new(file)),
        })
    }

    /// Writes down what happens now.
    pub fn note(&self, what: What) -> Result<()> {
        let entry = Entry {
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

/// A time of the segment's clock, in nanoseconds since 1970.
pub fn since_1970(at: Duration) -> u64 {
    u64::try_from((epoch() + at).as_nanos()).unwrap_or(u64::MAX)
}

/// Reads a journal. A line that was not written to its end is left out.
pub fn read(folder: &Path) -> Result<Vec<Entry>> {
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
