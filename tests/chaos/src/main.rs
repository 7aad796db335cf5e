#![forbid(unsafe_code)]
//! Command line of the program behind `scripts/chaos`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::{Parser, Subcommand};
use ring_chaos::check::check;
use ring_chaos::conform::voter::{self, Flaw};
use ring_chaos::conform::{ConformOptions, Level, help_if_asked, judge};
use ring_chaos::plan::FAULTS_TIME;
use ring_chaos::run::{RunOptions, run};
use ring_chaos::{burners, report};
use ring_segment::{Binaries, Timing};

/// Cause faults in a ring of real ringds, and check the recorded frames.
#[derive(Debug, Parser)]
#[command(name = "ring-chaos", version)]
struct Options {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run for some minutes, check the recordings and print the findings.
    Run {
        /// Minutes to run. The last cycle runs to its end.
        minutes: f64,
        /// Seed of the faults. The same seed causes the same faults [default: from the clock]
        #[arg(long)]
        seed: Option<u64>,
        /// Folder for recordings and logs.
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
        /// Folder with ringd and ringctl.
        #[arg(long, value_name = "DIR", default_value = "target/release")]
        bin: PathBuf,
    },
    /// Judge a program that claims to be a member, next to two ringds.
    ///
    /// The placeholders {iface}, {ip}, {mac} and {dir} in CMD are replaced. {dir} is a folder that stays when the
    /// program is killed. Without {iface}, the interface is the last argument. Exits with 1 if a check fails.
    Conform {
        /// Part of the protocol that the program implements.
        #[arg(long, value_enum, default_value_t = Level::Full)]
        level: Level,
        /// Length of the faults, in seconds.
        #[arg(long, default_value_t = 60)]
        seconds: u64,
        /// Seed of the faults [default: from the clock]
        #[arg(long)]
        seed: Option<u64>,
        /// Shell line that runs {job} under a lock of the program with a quorum.
        #[arg(long, value_name = "LINE")]
        lock: Option<String>,
        /// Folder for logs and for the state of the program.
        #[arg(long, value_name = "DIR", default_value = "conform-run")]
        out: PathBuf,
        /// HEART_BEAT_PERIOD in milliseconds. The program must use the same constants.
        #[arg(long, value_name = "MS", default_value_t = 100)]
        heartbeat: u64,
        /// TAKE_TIMEOUT in milliseconds [default: a twentieth of the heartbeat]
        #[arg(long, value_name = "MS")]
        take_timeout: Option<u64>,
        /// Folder with ringd and ringctl.
        #[arg(long, value_name = "DIR", default_value = "target/release")]
        bin: PathBuf,
        /// Command line of the program.
        #[arg(last = true, required = true, value_name = "CMD")]
        command: Vec<String>,
    },
    /// Run a member that only confirms tenures, as an example of the level voter.
    Voter {
        /// Interface of the member.
        interface: String,
        /// IPv4 address of the interface.
        ip: std::net::Ipv4Addr,
        /// HEART_BEAT_PERIOD in milliseconds.
        #[arg(long, value_name = "MS", default_value_t = 100)]
        heartbeat: u64,
        /// Break a rule.
        #[arg(long, value_enum)]
        flaw: Option<Flaw>,
    },
    /// Check the recordings of a run again, and print the findings.
    Check {
        /// Folder of the run.
        dir: PathBuf,
    },
}

fn main() -> ExitCode {
    burners::burn_if_asked();
    if let Some(code) = help_if_asked() {
        return code;
    }
    match run_command(Options::parse().command) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// Runs a command. Returns whether the check found no violation.
fn run_command(command: Command) -> Result<bool> {
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
            let mut timing = Timing::tolerant(Duration::from_millis(heartbeat));
            if let Some(take_timeout) = take_timeout {
                timing.take_timeout = Duration::from_millis(take_timeout);
            }
            if let Some(idle_hold) = idle_hold {
                timing.idle_hold = Duration::from_millis(idle_hold);
            }
            let binaries = binaries(&bin)?;
            ring_segment::enter()?;
            let seed = seed.unwrap_or_else(|| ring_segment::epoch().as_secs());
            println!("seed {seed}; recordings and logs are in {}", out.display());
            let options = RunOptions {
                binaries,
                lasts: Duration::from_secs_f64(minutes * 60.0),
                faults: FAULTS_TIME,
                seed,
                timing,
                talks: true,
            };
            run(&options, &out)?;
            print_report(&out)
        }
        Command::Conform {
            level,
            seconds,
            seed,
            lock,
            out,
            heartbeat,
            take_timeout,
            bin,
            command,
        } => {
            let heartbeat = Duration::from_millis(heartbeat);
            let binaries = binaries(&bin)?;
            ring_segment::enter()?;
            let seed = seed.unwrap_or_else(|| ring_segment::epoch().as_secs());
            println!("seed {seed}; logs are in {}", out.display());
            let report = judge(&ConformOptions {
                binaries,
                level,
                timing: Timing {
                    heartbeat,
                    take_timeout: take_timeout.map_or(heartbeat / 20, Duration::from_millis),
                    idle_hold: heartbeat,
                    waiter_intervals: 4,
                },
                seed,
                lasts: Duration::from_secs(seconds),
                command,
                lock,
                folder: out,
            })?;
            print!("{report}");
            Ok(report.passed())
        }
        Command::Voter {
            interface,
            ip,
            heartbeat,
            flaw,
        } => {
            let timing = Timing::tolerant(Duration::from_millis(heartbeat));
            voter::run(&interface, ip, timing, flaw).map(|()| true)
        }
        Command::Check { dir } => print_report(&dir),
    }
}

/// Returns the programs in a folder. Leaks the memory of their names, once per run.
fn binaries(folder: &Path) -> Result<Binaries> {
    let path = |name: &str| -> Result<&'static str> {
        let path = folder.join(name).canonicalize();
        let path = path.with_context(|| {
            format!(
                "there is no {name} in {}: run `cargo build --release`",
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

/// Checks a run and prints the report. Returns whether the check found no violation.
fn print_report(folder: &Path) -> Result<bool> {
    let (evidence, verdict) = check(folder)?;
    println!("{}", report::text(&evidence, &verdict));
    Ok(verdict.findings.is_empty())
}
