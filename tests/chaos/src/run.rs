//! Runs cycles of faults and calms.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use ring_segment::{Binaries, MacAddr, Message, Timing, is_claim, is_heartbeat, now};

use crate::fault::Fault;
use crate::journal::{Event, Journal};
use crate::observers::{Recorder, start_metronome};
use crate::plan::Cycle;
use crate::rig::{self, DAEMONS, MEMBERS, Rig, RigOptions};
use crate::stranger::Pool;

/// Time that is added to the protocol's bounds, because processes need time to start and frames need time to arrive.
const BOUND_MARGIN: Duration = Duration::from_millis(300);
/// In each calm, the run only observes the ring for this time.
const QUIET_TIME: Duration = Duration::from_millis(700);
/// In each calm, the members want the token for this time.
const WANTS_TIME: Duration = Duration::from_secs(2);
const BURNERS: u32 = 4;
/// Longest time of the search for an owner to kill.
const OWNER_SEARCH_TIMEOUT: Duration = Duration::from_secs(5);

#[derive(Debug, Clone)]
pub struct RunOptions {
    pub binaries: Binaries,
    pub lasts: Duration,
    /// Length of the faults of each cycle, at least four seconds. A shorter phase has more faults at the same time.
    pub faults: Duration,
    pub seed: u64,
    pub timing: Timing,
    /// Whether the run prints one line per cycle.
    pub talks: bool,
}

/// Runs all cycles, and leaves recordings, logs and journal in a folder.
pub fn run(options: &RunOptions, folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let journal = Journal::create(folder)?;
    let (segment, stations) = rig::build(options.seed)?;
    let pool = Arc::<Pool>::default();
    let mut recorder = Recorder::new(&segment, &stations, folder)?;
    let rig_options = RigOptions {
        binaries: options.binaries,
        timing: options.timing,
        seed: options.seed,
        folder,
        journal: journal.clone(),
        pool: Arc::clone(&pool),
        clocks_differ: has_time_namespaces(),
    };
    let mut rig = Rig::start(segment, &stations, &rig_options)?;
    journal.note(Event::Run {
        seed: options.seed,
        seconds: options.lasts.as_secs(),
        stations,
        timing: options.timing,
        clocks_differ: rig.clocks_differ()?,
    })?;
    let over = Arc::new(AtomicBool::new(false));
    let metronome = start_metronome(options.timing, journal.clone(), Arc::clone(&over))?;
    let outcome = thread::scope(|scope| {
        let mut state = RunState {
            options,
            journal: &journal,
            next_fault: 0,
        };
        let segment = Arc::clone(&rig.segment);
        let (recorder, over) = (&mut recorder, &*over);
        let (pool, journal) = (&*pool, &journal);
        let writer = scope.spawn(move || recorder.run(&segment, pool, journal, over));
        let outcome = state.run_cycles(&mut rig);
        over.store(true, Ordering::Relaxed);
        let written = writer
            .join()
            .map_err(|_| anyhow!("the recorder panicked"))?;
        outcome.and(written)
    });
    over.store(true, Ordering::Relaxed);
    metronome
        .join()
        .map_err(|_| anyhow!("the metronome panicked"))??;
    outcome?;
    journal.note(Event::End)
}

fn has_time_namespaces() -> bool {
    let tried = Command::new("unshare")
        .args(["--time", "--monotonic", "1", "true"])
        .output();
    tried.is_ok_and(|output| output.status.success())
}

struct RunState<'a> {
    options: &'a RunOptions,
    journal: &'a Journal,
    next_fault: u32,
}

impl RunState<'_> {
    fn run_cycles(&mut self, rig: &mut Rig) -> Result<()> {
        let end = now() + self.options.lasts;
        let mut number = 0;
        while now() < end {
            number += 1;
            let cycle = Cycle::of(
                self.options.seed,
                number,
                self.options.faults,
                DAEMONS,
                DAEMONS + MEMBERS + 1,
            );
            if self.options.talks {
                let left = end.saturating_sub(now()).as_secs();
                let faults: Vec<_> = cycle.faults.iter().map(|it| it.fault.kind()).collect();
                println!("cycle {number}, {left} s left: {}", faults.join(", "));
            }
            self.journal.note(Event::Cycle { number })?;
            self.cause_faults(rig, &cycle)?;
            self.run_calm(rig, &cycle)?;
        }
        Ok(())
    }

    fn cause_faults(&mut self, rig: &mut Rig, cycle: &Cycle) -> Result<()> {
        let start = now();
        let first = self.next_fault;
        let mut steps = Vec::new();
        for (id, planned) in (first..).zip(&cycle.faults) {
            steps.push((planned.begins, id, true, &planned.fault));
            steps.push((planned.ends, id, false, &planned.fault));
            self.next_fault = id + 1;
        }
        steps.sort_by_key(|(at, id, ..)| (*at, *id));
        for (at, id, begins, fault) in steps {
            thread::sleep((start + at).saturating_sub(now()));
            if begins {
                rig.note_exits(self.journal)?;
                self.note_fault(id, fault)?;
                rig.begin(id, fault)?;
            } else {
                rig.undo(id, fault)?;
                self.journal.note(Event::Undone { id })?;
            }
        }
        Ok(())
    }

    fn note_fault(&self, id: u32, fault: &Fault) -> Result<()> {
        self.journal.note(Event::Fault {
            id,
            kind: fault.kind().to_owned(),
            stations: fault.stations(),
            detail: fault.detail(),
        })
    }

    /// Runs the calm of a cycle. Bounds apply only in a calm.
    fn run_calm(&mut self, rig: &mut Rig, cycle: &Cycle) -> Result<()> {
        let burners = cycle.starved.then_some(Fault::Starve(BURNERS));
        let id = self.next_fault;
        if let Some(burners) = &burners {
            self.next_fault += 1;
            self.note_fault(id, burners)?;
            rig.begin(id, burners)?;
        }
        rig.note_exits(self.journal)?;
        self.journal.note(Event::Calm {
            starved: cycle.starved,
        })?;
        thread::sleep(self.options.timing.one_owner_bound() + BOUND_MARGIN + QUIET_TIME);
        self.journal.note(Event::WantsBegin)?;
        rig.keep_members_busy(true);
        thread::sleep(WANTS_TIME);
        rig.keep_members_busy(false);
        self.journal.note(Event::WantsEnd)?;
        thread::sleep(BOUND_MARGIN);
        rig.note_exits(self.journal)?;
        let statuses = rig.statuses()?;
        self.journal.note(Event::Statuses { statuses })?;
        for crash in 0..cycle.crashes {
            let end = if crash % 2 == 0 {
                Rig::kill
            } else {
                Rig::crash
            };
            self.end_owner(rig, end)?;
        }
        rig.note_exits(self.journal)?;
        self.journal.note(Event::CalmEnd)?;
        if let Some(burners) = &burners {
            rig.undo(id, burners)?;
            self.journal.note(Event::Undone { id })?;
        }
        Ok(())
    }

    /// Ends a daemon that has just claimed the token, and waits for a successor. `end` ends the daemon with or without
    /// its guardian.
    fn end_owner(&self, rig: &mut Rig, end: fn(&mut Rig, usize) -> Result<()>) -> Result<()> {
        let segment = Arc::clone(&rig.segment);
        let capture = segment.capture();
        let is_daemons = |seen: &ring_segment::Seen| seen.port < DAEMONS && is_claim(seen);
        // A new owner's first frame is its acknowledgement.
        let Ok(owner) = capture.wait_for(OWNER_SEARCH_TIMEOUT, |seen| {
            is_daemons(seen) && matches!(seen.message, Message::TokenIsHere { .. })
        }) else {
            return Ok(());
        };
        let (mark, victim) = (capture.mark(), owner.port);
        self.journal.note(Event::Crash { station: victim })?;
        end(rig, victim)?;
        let timing = &self.options.timing;
        let chain: Option<(MacAddr, u32)> = owner.message.token().map(|token| token.chain());
        let successor = |seen: &ring_segment::Seen| {
            let other = seen.message.token().map(|token| token.chain()) != chain;
            seen.port != victim && is_heartbeat(seen) && other
        };
        // If no successor appears, the check reports this later. If the victim had just handed over the token, another
        // station sends heartbeats of the victim's chain. In this case, the run need not wait for a successor.
        let _ = capture.wait_from(mark, 2 * timing.new_owner_bound(), successor);
        thread::sleep(BOUND_MARGIN);
        rig.restart(victim)?;
        self.journal.note(Event::Restart { station: victim })?;
        thread::sleep(timing.heartbeat * 7);
        Ok(())
    }
}
