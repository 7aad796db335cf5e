#![forbid(unsafe_code)]
//! The commands of `scripts/chaos` and `scripts/false-alarms`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::{Parser, Subcommand};
use ring_chaos::alarms::{self, Candidate};
use ring_chaos::check::{Rule, check};
use ring_chaos::plan::FAULTS;
use ring_chaos::run::{Script, run};
use ring_chaos::{burn, report};
use ring_segment::{Binaries, Timing};

/// Break a ring of real ringds on purpose, and check what its frames say.
#[derive(Debug, Parser)]
#[command(name = "ring-chaos", version)]
struct Options {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run for so many minutes, check the recordings and write the report.
    Run {
        /// How long; the last cycle is played to its end.
        minutes: f64,
        /// Makes the same plan of faults again [default: from the clock]
        #[arg(long)]
        seed: Option<u64>,
        /// Where recordings, logs and the report go.
        #[arg(long, value_name = "DIR", default_value = "chaos-run")]
        out: PathBuf,
        /// HEART_BEAT_PERIOD in milliseconds.
        #[arg(long, value_name = "MS", default_value_t = 100)]
        heartbeat: u64,
        /// TAKE_TIMEOUT in milliseconds [default: a quarter of the heartbeat]
        #[arg(long, value_name = "MS")]
        take_timeout: Option<u64>,
        /// IDLE_HOLD in milliseconds [default: a tenth of the heartbeat]
        #[arg(long, value_name = "MS")]
        idle_hold: Option<u64>,
        /// The folder with ringd and ringctl.
        #[arg(long, value_name = "DIR", default_value = "target/release")]
        bin: PathBuf,
    },
    /// Check the recordings of a run again, and write its report anew.
    Check {
        /// The folder of the run.
        dir: PathBuf,
    },
    /// Count how often a live owner is deposed when only CPU is short.
    Alarms {
        /// How long each combination of heartbeat and load is watched.
        #[arg(value_parser = clap::value_parser!(u64).range(1..))]
        seconds: u64,
        /// A folder with ringd and ringctl; more than one are compared.
        #[arg(long, value_name = "DIR", default_values_os_t = [PathBuf::from("target/release")])]
        bin: Vec<PathBuf>,
        /// How many daemons.
        #[arg(long, default_value_t = 6)]
        daemons: usize,
    },
}

fn main() -> ExitCode {
    burn::burn_if_asked();
    match obey(Options::parse().command) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// Whether all was as it should be.
fn obey(command: Command) -> Result<bool> {
    match command {
        Command::Run {
            minutes,
            seed,
            out,
            heartbeat,
            take_timeout,
            idle_hold,
            bin,
        } => {
            let mut timing = Timing::patient(Duration::from_millis(heartbeat));
            if let Some(take_timeout) = take_timeout {
                timing.take_timeout = Duration::from_millis(take_timeout);
            }
            if let Some(idle_hold) = idle_hold {
                timing.idle_hold = Duration::from_millis(idle_hold);
            }
            let binaries = binaries(&bin)?;
            ring_segment::enter()?;
            let seed = seed.unwrap_or_else(|| ring_segment::epoch().as_secs());
            println!("seed {seed}; everything goes to {}", out.display());
            let script = Script {
                binaries,
                lasts: Duration::from_secs_f64(minutes * 60.0),
                faults: FAULTS,
                seed,
                timing,
                talks: true,
            };
            run(&script, &out)?;
            tell(&out)
        }
        Command::Check { dir } => tell(&dir),
        Command::Alarms {
            seconds,
            bin,
            daemons,
        } => {
            let candidates = bin
                .iter()
                .map(|bin| {
                    Ok(Candidate {
                        name: bin.display().to_string(),
                        binaries: binaries(bin)?,
                    })
                })
                .collect::<Result<Vec<_>>>()?;
            ring_segment::enter()?;
            alarms::count(&candidates, daemons, Duration::from_secs(seconds))?;
            Ok(true)
        }
    }
}

/// The programs in a folder. They are named once a run: leaking the names costs nothing.
fn binaries(folder: &Path) -> Result<Binaries> {
    let path = |name: &str| -> Result<&'static str> {
        let path = folder.join(name).canonicalize();
        let path = path.with_context(|| {
            format!(
                "there is no {name} in {}: `cargo build --release` makes it",
                folder.display()
            )
        })?;
        Ok(Box::leak(path.display().to_string().into_boxed_str()))
    };
    Ok(Binaries {
        ringd: path("ringd")?,
        ringctl: path("ringctl")?,
    })
}

/// Checks a run, writes its report and says in short what was found.
fn tell(folder: &Path) -> Result<bool> {
    let (evidence, verdict) = check(folder)?;
    let page = report::write(folder, &evidence, &verdict)?;
    println!(
        "{} cycles, {} frames sent, {} owners killed and replaced",
        evidence.cycles.len(),
        evidence.sent.len(),
        verdict.fail_overs.len()
    );
    for (what, count) in &verdict.counts {
        println!("{count:>12} {what}");
    }
    for rule in Rule::ALL {
        let count = verdict.findings.iter().filter(|it| it.rule == rule).count();
        println!("{count:>12} violations of \"{}\"", rule.words());
    }
    for finding in verdict.findings.iter().take(20) {
        println!(
            "\nat {:.3?}, {}:\n{}",
            finding.at,
            finding.rule.words(),
            finding.text
        );
    }
    println!("the report is {}", page.display());
    Ok(verdict.findings.is_empty())
}
