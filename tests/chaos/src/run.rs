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
use crate::journal::{Journal, What};
use crate::plan::Cycle;
use crate::stage::{self, DAEMONS, MEMBERS, Props, Stage};
use crate::stranger::Pool;
use crate::watch::{Recorder, start_metronome};

/// Addition to the protocol's bounds: processes need time to start and frames to arrive.
const MARGIN: Duration = Duration::from_millis(300);
/// Length of a calm in which the run asks nothing of the ring.
const QUIET: Duration = Duration::from_millis(700);
/// Time in which the members want the token.
const WANTS: Duration = Duration::from_secs(2);
/// Number of burners in a starved calm.
const BURNERS: u32 = 4;
/// Longest search for an owner to kill.
const HUNT: Duration = Duration::from_secs(5);

/// Settings of a run.
#[derive(Debug, Clone)]
pub struct Script {
    /// Programs under test.
    pub binaries: Binaries,
    /// Length.
    pub lasts: Duration,
    /// Length of the faults of each cycle, at least four seconds. A shorter phase has more simultaneous faults.
    pub faults: Duration,
    /// Seed of the plan.
    pub seed: u64,
    /// Constants of the protocol.
    pub timing: Timing,
    /// Whether the run prints one line per cycle.
    pub talks: bool,
}

/// Runs all cycles, and leaves recordings, logs and journal in a folder.
pub fn run(script: &Script, folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let journal = Journal::create(folder)?;
    let (segment, cast) = stage::build(script.seed)?;
    let pool = Arc::<Pool>::default();
    let mut recorder = Recorder::new(&segment, &cast, folder)?;
    let props = Props {
        binaries: script.binaries,
        timing: script.timing,
        seed: script.seed,
        folder,
        journal: journal.clone(),
        pool: Arc::clone(&pool),
        clocks_differ: has_time_namespaces(),
    };
    let mut stage = Stage::start(segment, &cast, &props)?;
    journal.note(What::Run {
        seed: script.seed,
        seconds: script.lasts.as_secs(),
        cast,
        timing: script.timing,
        clocks_differ: stage.clocks_differ()?,
    })?;
    let over = Arc::new(AtomicBool::new(false));
    let metronome = start_metronome(script.timing, journal.clone(), Arc::clone(&over))?;
    let outcome = thread::scope(|scope| {
        let mut director = Director {
            script,
            journal: &journal,
            next_fault: 0,
        };
        let segment = Arc::clone(&stage.segment);
        let (recorder, over) = (&mut recorder, &*over);
        let (pool, journal) = (&*pool, &journal);
        let pen = scope.spawn(move || recorder.run(&segment, pool, journal, over));
        let outcome = director.play(&mut stage);
        over.store(true, Ordering::Relaxed);
        let written = pen.join().map_err(|_| anyhow!("the recorder panicked"))?;
        outcome.and(written)
    });
    over.store(true, Ordering::Relaxed);
    metronome
        .join()
        .map_err(|_| anyhow!("the metronome panicked"))??;
    outcome?;
    journal.note(What::End)
}

fn has_time_namespaces() -> bool {
    let tried = Command::new("unshare")
        .args(["--time", "--monotonic", "1", "true"])
        .output();
    tried.is_ok_and(|output| output.status.success())
}

struct Director<'a> {
    script: &'a Script,
    journal: &'a Journal,
    next_fault: u32,
}

impl Director<'_> {
    fn play(&mut self, stage: &mut Stage) -> Result<()> {
        let curtain = now() + self.script.lasts;
        let mut number = 0;
        while now() < curtain {
            number += 1;
            let cycle = Cycle::of(
                self.script.seed,
                number,
                self.script.faults,
                DAEMONS,
                DAEMONS + MEMBERS + 1,
            );
            if self.script.talks {
                let left = curtain.saturating_sub(now()).as_secs();
                let faults: Vec<_> = cycle.faults.iter().map(|it| it.fault.kind()).collect();
                println!("cycle {number}, {left} s left: {}", faults.join(", "));
            }
            self.journal.note(What::Cycle { number })?;
            self.break_things(stage, &cycle)?;
            self.calm(stage, &cycle)?;
        }
        Ok(())
    }

    /// Causes the faults of a cycle, and ends each.
    fn break_things(&mut self, stage: &mut Stage, cycle: &Cycle) -> Result<()> {
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
                stage.look_for_dead(self.journal)?;
                self.note_fault(id, fault)?;
                stage.begin(id, fault)?;
            } else {
                stage.undo(id, fault)?;
                self.journal.note(What::Undone { id })?;
            }
        }
        Ok(())
    }

    fn note_fault(&self, id: u32, fault: &Fault) -> Result<()> {
        self.journal.note(What::Fault {
            id,
            kind: fault.kind().to_owned(),
            stations: fault.stations(),
            detail: fault.detail(),
        })
    }

    /// Runs the calm, in which bounds are checked.
    fn calm(&mut self, stage: &mut Stage, cycle: &Cycle) -> Result<()> {
        let burners = cycle.starved.then_some(Fault::Starve(BURNERS));
        let id = self.next_fault;
        if let Some(burners) = &burners {
            self.next_fault += 1;
            self.note_fault(id, burners)?;
            stage.begin(id, burners)?;
        }
        stage.look_for_dead(self.journal)?;
        self.journal.note(What::Calm {
            starved: cycle.starved,
        })?;
        thread::sleep(self.script.timing.one_owner_bound() + MARGIN + QUIET);
        self.journal.note(What::WantsBegin)?;
        stage.keep_members_busy(true);
        thread::sleep(WANTS);
        stage.keep_members_busy(false);
        self.journal.note(What::WantsEnd)?;
        thread::sleep(MARGIN);
        stage.look_for_dead(self.journal)?;
        let statuses = stage.statuses()?;
        self.journal.note(What::Statuses { statuses })?;
        for _ in 0..cycle.crashes {
            self.crash(stage)?;
        }
        stage.look_for_dead(self.journal)?;
        self.journal.note(What::CalmEnd)?;
        if let Some(burners) = &burners {
            stage.undo(id, burners)?;
            self.journal.note(What::Undone { id })?;
        }
        Ok(())
    }

    /// Kills a daemon that has just claimed the token, and waits for a successor.
    fn crash(&self, stage: &mut Stage) -> Result<()> {
        let segment = Arc::clone(&stage.segment);
        let capture = segment.capture();
        let is_daemons = |seen: &ring_segment::Seen| seen.port < DAEMONS && is_claim(seen);
        // A new owner's first frame is its acknowledgement.
        let Ok(owner) = capture.wait_for(HUNT, |seen| {
            is_daemons(seen) && matches!(seen.message, Message::TokenIsHere { .. })
        }) else {
            return Ok(());
        };
        let (mark, victim) = (capture.mark(), owner.port);
        self.journal.note(What::Crash { station: victim })?;
        stage.kill(victim)?;
        let timing = &self.script.timing;
        let chain: Option<(MacAddr, u32)> = owner.message.token().map(|token| token.chain());
        let successor = |seen: &ring_segment::Seen| {
            let other = seen.message.token().map(|token| token.chain()) != chain;
            seen.port != victim && is_heartbeat(seen) && other
        };
        // If no successor appears, the check finds it. If the victim had just handed the token over, heartbeats of
        // its chain show it, so the run does not wait for them.
        let _ = capture.wait_from(mark, 2 * timing.new_owner_bound(), successor);
        thread::sleep(MARGIN);
        stage.restart(victim)?;
        self.journal.note(What::Restart { station: victim })?;
        thread::sleep(timing.heartbeat * 7);
        Ok(())
    }
}
