//! Threads that observe a run: the recorder and the metronome.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use ring_segment::{Capture, Rng, Segment, Timing, now};

use crate::journal::{Event, Journal};
use crate::recording::{DELIVERED, Recording, SENT};
use crate::stations::{StationRole, Stations};
use crate::stranger::Pool;

/// Interval at which the recorder writes frames to its files.
const WRITE_INTERVAL: Duration = Duration::from_millis(100);
const METRONOME_INTERVAL: Duration = Duration::from_millis(5);

/// Recordings of all sent frames and of all arrived frames.
pub struct Recorder {
    arrivals: Vec<Capture>,
    sent: Recording,
    delivered: Recording,
    mark: usize,
    strangers: Vec<usize>,
    lost: u32,
}

impl Recorder {
    /// Begins to record the frames that arrive at the ring's stations.
    pub fn new(segment: &Segment, stations: &Stations, folder: &Path) -> Result<Self> {
        let places = stations.ring().into_iter();
        let arrivals = places.map(|place| segment.node(place).arrivals());
        Ok(Self {
            arrivals: arrivals.collect::<Result<_>>()?,
            sent: Recording::create(&folder.join(SENT), stations)?,
            delivered: Recording::create(&folder.join(DELIVERED), stations)?,
            mark: 0,
            strangers: stations.places(StationRole::Stranger).collect(),
            lost: 0,
        })
    }

    /// Writes frames until the run ends.
    pub fn run(
        &mut self,
        segment: &Segment,
        pool: &Pool,
        journal: &Journal,
        over: &AtomicBool,
    ) -> Result<()> {
        let mut rng = Rng::with_seed(1);
        loop {
            let finish = over.load(Ordering::Relaxed);
            self.write(segment, pool, &mut rng)?;
            let captures = self.arrivals.iter().chain([segment.capture()]);
            let lost = captures.map(Capture::lost).sum();
            if lost > self.lost {
                let frames = lost - std::mem::replace(&mut self.lost, lost);
                journal.note(Event::Blind { frames })?;
            }
            if finish {
                return Ok(());
            }
            thread::sleep(WRITE_INTERVAL);
        }
    }

    fn write(&mut self, segment: &Segment, pool: &Pool, rng: &mut Rng) -> Result<()> {
        // Reads arrived frames before sent frames, so that the sent frames include every arrived frame.
        let mut delivered: Vec<_> = self.arrivals.iter().flat_map(Capture::drain).collect();
        delivered.sort_by_key(|seen| seen.at);
        self.delivered.add(&delivered)?;
        let mut sent = segment.capture().frames_from(self.mark);
        self.mark += sent.len();
        sent.sort_by_key(|seen| seen.at);
        self.sent.add(&sent)?;
        sent.retain(|seen| !self.strangers.contains(&seen.port));
        pool.add(&sent, rng);
        Ok(())
    }
}

/// Starts a thread that records each delay of the machine. A delay is a sleep that ends more than TAKE_TIMEOUT late.
pub fn start_metronome(
    timing: Timing,
    journal: Journal,
    over: Arc<AtomicBool>,
) -> Result<thread::JoinHandle<Result<()>>> {
    let tick = move || -> Result<()> {
        while !over.load(Ordering::Relaxed) {
            let due = now() + METRONOME_INTERVAL;
            thread::sleep(METRONOME_INTERVAL);
            let late = now().saturating_sub(due);
            if late > timing.take_timeout {
                journal.note(Event::Late {
                    who: "metronome".to_owned(),
                    by_ns: u64::try_from(late.as_nanos()).unwrap_or(u64::MAX),
                })?;
            }
        }
        Ok(())
    };
    thread::Builder::new()
        .name("metronome".to_owned())
        .spawn(tick)
        .context("cannot start the metronome's thread")
}
