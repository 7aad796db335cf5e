//! Evidence that a run leaves behind: its journal, recordings and logs.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use anyhow::{Context, Result};
use ring_segment::{MacAddr, Seen, Timing};
use serde::Deserialize;
use serde_json::Value;

use crate::journal::{self, Event, JournalEntry};
use crate::recording::{self, DELIVERED, SENT};
use crate::rig::log_of;
use crate::stations::{StationRole, Stations};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    pub from: Duration,
    pub to: Duration,
}

impl Span {
    pub fn new(from: Duration, to: Duration) -> Self {
        Self { from, to }
    }

    pub fn length(&self) -> Duration {
        self.to.saturating_sub(self.from)
    }

    pub fn holds(&self, at: Duration) -> bool {
        self.from <= at && at < self.to
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CausedFault {
    pub span: Span,
    pub kind: String,
    pub stations: Vec<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CrashTime {
    pub station: usize,
    /// Time from the kill to the restart.
    pub span: Span,
}

#[derive(Debug, Clone, Default)]
pub struct Cycle {
    pub number: u32,
    pub begins: Duration,
    pub calm: Option<Duration>,
    pub starved: bool,
    pub wants: Option<Span>,
    /// Time of the status requests, and the daemons' answers to these requests.
    pub statuses: Option<(Duration, Vec<(usize, Value)>)>,
    pub crashes: Vec<CrashTime>,
    pub ends: Duration,
}

impl Cycle {
    pub fn calm_span(&self) -> Option<Span> {
        let from = self.calm?;
        Some(Span::new(from, self.ends))
    }

    fn take(&mut self, at: Duration, what: &Event) {
        match what {
            Event::Calm { starved } => {
                (self.calm, self.starved) = (Some(at), *starved);
            }
            Event::WantsBegin => {
                self.wants = Some(Span::new(at, at));
            }
            Event::WantsEnd => {
                self.wants = self.wants.map(|wants| Span { to: at, ..wants });
            }
            Event::Crash { station } => self.crashes.push(CrashTime {
                station: *station,
                span: Span::new(at, Duration::MAX),
            }),
            Event::Restart { .. } => {
                if let Some(crash) = self.crashes.last_mut() {
                    crash.span.to = at;
                }
            }
            Event::Statuses { statuses } => {
                self.statuses = Some((at, statuses.clone()));
            }
            Event::CalmEnd => self.ends = at,
            _ => {}
        }
    }
}

/// All evidence of a run. Times count from the start of the run.
#[derive(Debug)]
pub struct Evidence {
    pub start: Duration,
    pub complete: bool,
    pub seed: u64,
    pub stations: Stations,
    pub timing: Timing,
    pub cycles: Vec<Cycle>,
    pub faults: Vec<CausedFault>,
    pub sent: Vec<Seen>,
    pub delivered: Vec<Seen>,
    pub garbage: Vec<Seen>,
    /// Periods in which the machine was late, with the name of the observer that noticed each period.
    pub late: Vec<(Span, String)>,
    /// Daemons that exited without a command: the time, the station and the exit status.
    pub died: Vec<(Duration, usize, String)>,
    /// Losses of the recordings: the time, and the number of missing frames.
    pub blind: Vec<(Duration, u32)>,
    pub end: Duration,
}

impl Evidence {
    /// Creates evidence of a run without events.
    pub fn empty(stations: Stations, timing: Timing) -> Self {
        Self {
            start: Duration::ZERO,
            complete: false,
            seed: 0,
            stations,
            timing,
            cycles: Vec::new(),
            faults: Vec::new(),
            sent: Vec::new(),
            delivered: Vec::new(),
            garbage: Vec::new(),
            late: Vec::new(),
            died: Vec::new(),
            blind: Vec::new(),
            end: Duration::ZERO,
        }
    }

    pub fn read(folder: &Path) -> Result<Self> {
        let entries = journal::read(folder)?;
        let mut this =
            Self::of_journal(&entries).context("the journal does not begin with the run")?;
        let sent = recording::read(&folder.join(SENT), this.start)?;
        let strangers: Vec<usize> = this.stations.places(StationRole::Stranger).collect();
        (this.garbage, this.sent) = sent
            .into_iter()
            .partition(|seen| strangers.contains(&seen.port));
        this.delivered = recording::read(&folder.join(DELIVERED), this.start)?;
        for place in this.stations.ring() {
            let late = read_log(&log_of(folder, place), this.start)?;
            let name = this.stations.name(place);
            this.late
                .extend(late.into_iter().map(|span| (span, name.to_owned())));
        }
        Ok(this)
    }

    pub fn sent_in(&self, span: Span) -> &[Seen] {
        within(&self.sent, span)
    }

    pub fn delivered_in(&self, span: Span) -> &[Seen] {
        within(&self.delivered, span)
    }

    /// Returns the addresses of the stations that lost their state file through a fault.
    pub fn forgetful(&self) -> HashSet<MacAddr> {
        let amnesias = self.faults.iter().filter(|done| done.kind == "amnesia");
        let places = amnesias.flat_map(|done| &done.stations);
        places
            .map(|place| self.stations.0[*place].address())
            .collect()
    }

    fn of_journal(entries: &[JournalEntry]) -> Option<Self> {
        let mut this = entries.iter().find_map(|entry| match &entry.what {
            Event::Run {
                seed,
                stations,
                timing,
                ..
            } => Some(Self {
                start: Duration::from_nanos(entry.at_ns),
                seed: *seed,
                ..Self::empty(stations.clone(), *timing)
            }),
            _ => None,
        })?;
        let mut open = HashMap::new();
        for entry in entries {
            let at = Duration::from_nanos(entry.at_ns).saturating_sub(this.start);
            this.end = this.end.max(at);
            this.take(at, &entry.what, &mut open);
        }
        // In an aborted run, faults without an end last until the end of the run.
        let end = this.end;
        this.faults
            .extend(open.into_values().map(|mut done: CausedFault| {
                done.span.to = end;
                done
            }));
        this.faults.sort_by_key(|done| done.span.from);
        if let Some(last) = this.cycles.last_mut().filter(|cycle| cycle.ends.is_zero()) {
            last.ends = end;
        }
        Some(this)
    }

    fn take(&mut self, at: Duration, what: &Event, open: &mut HashMap<u32, CausedFault>) {
        match what {
            Event::Cycle { number } => self.cycles.push(Cycle {
                number: *number,
                begins: at,
                ..Cycle::default()
            }),
            Event::Fault {
                id, kind, stations, ..
            } => {
                let done = CausedFault {
                    span: Span::new(at, at),
                    kind: kind.clone(),
                    stations: stations.clone(),
                };
                open.insert(*id, done);
            }
            Event::Undone { id } => self.faults.extend(open.remove(id).map(|mut done| {
                done.span.to = at;
                done
            })),
            Event::Late { who, by_ns } => {
                let from = at.saturating_sub(Duration::from_nanos(*by_ns));
                self.late.push((Span::new(from, at), who.clone()));
            }
            Event::Died { station, status } => {
                self.died.push((at, *station, status.clone()));
            }
            Event::Blind { frames } => self.blind.push((at, *frames)),
            Event::End => self.complete = true,
            _ => {
                if let Some(cycle) = self.cycles.last_mut() {
                    cycle.take(at, what);
                }
            }
        }
    }
}

fn within(frames: &[Seen], span: Span) -> &[Seen] {
    let from = frames.partition_point(|seen| seen.at < span.from);
    let to = frames.partition_point(|seen| seen.at < span.to);
    &frames[from..to.max(from)]
}

#[derive(Deserialize)]
struct Line {
    timestamp: String,
    event: String,
    #[serde(default)]
    late_ns: u64,
}

/// Returns the periods in which a daemon was late, according to its log. The daemon logs delays at most once per
/// second. A log line describes a delay that ended before the line was written. Ignores an incomplete last line.
fn read_log(path: &Path, start: Duration) -> Result<Vec<Span>> {
    let file = File::open(path).with_context(|| format!("there is no {}", path.display()))?;
    let mut late = Vec::new();
    for line in BufReader::new(file).lines() {
        let line = line.with_context(|| format!("cannot read {}", path.display()))?;
        let Ok(line) = serde_json::from_str::<Line>(&line) else {
            continue;
        };
        if line.event != "late_wake_up" {
            continue;
        }
        let time = humantime::parse_rfc3339(&line.timestamp)
            .with_context(|| format!("{} contains no time", path.display()))?;
        let at = time.duration_since(UNIX_EPOCH).unwrap_or_default();
        let (at, by) = (at.saturating_sub(start), Duration::from_nanos(line.late_ns));
        let from = at.saturating_sub(by.max(Duration::from_secs(1)));
        late.push(Span::new(from, at));
    }
    Ok(late)
}
