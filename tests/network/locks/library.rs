//! Programs that hold a lock with the library. The tests run the example of `ring-client`.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use ring_segment::{Daemon, Test, program, tests};

use crate::locks::{WAIT_LIMIT, ringctl, shared_ring};
use crate::recipes::pages::{RUST, block};

pub(super) fn tests() -> Vec<Test> {
    tests![
        the_page_on_rust_shows_the_example,
        programs_of_the_library_work_one_after_the_other,
        a_program_of_the_library_ends_when_its_lock_is_lost,
    ]
}

/// Returns the example's command. It writes `lines` lines to the file.
fn writes(daemon: &Daemon, file: &Path, lines: &str) -> Command {
    let mut command = Command::new(program("examples/lock"));
    command.arg(daemon.control()).arg(file).arg(lines);
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    command
}

fn the_page_on_rust_shows_the_example() -> Result<()> {
    let example = include_str!("../../../crates/client/examples/lock.rs");
    let shown = block(RUST, "use std::error::Error;")?;
    ensure!(
        example.ends_with(shown),
        "the page does not end like crates/client/examples/lock.rs"
    );
    Ok(())
}

fn programs_of_the_library_work_one_after_the_other() -> Result<()> {
    let ring = shared_ring(3)?;
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("lines");
    let start = |daemon| writes(daemon, &file, "2").spawn();
    let started: Vec<_> = ring.daemons.iter().map(start).collect::<Result<_, _>>()?;
    for child in started {
        let output = child.wait_with_output()?;
        ensure!(output.status.success(), "{output:?}");
    }
    let text = fs::read_to_string(&file)?;
    let lines: Vec<(&str, &str)> = text.lines().filter_map(|it| it.split_once(' ')).collect();
    ensure!(lines.len() == 6, "{text}");
    for both in lines.chunks(2) {
        let is_whole = both[0].0 == both[1].0 && (both[0].1, both[1].1) == ("0", "1");
        ensure!(is_whole, "another program wrote at the same time: {text}");
    }
    Ok(())
}

fn a_program_of_the_library_ends_when_its_lock_is_lost() -> Result<()> {
    let ring = shared_ring(2)?;
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("lines");
    let child = writes(&ring.daemons[0], &file, "1000").spawn()?;
    let deadline = Instant::now() + WAIT_LIMIT;
    while fs::read(&file).map_or(0, |it| it.len()) == 0 {
        ensure!(Instant::now() < deadline, "the program has not begun");
        thread::sleep(Duration::from_millis(5));
    }
    let yielded = ringctl(&ring.daemons[0], &["yield"]).output()?;
    ensure!(yielded.status.success(), "{yielded:?}");
    let Output { status, stderr, .. } = child.wait_with_output()?;
    let errors = String::from_utf8(stderr).context("an error is text")?;
    ensure!(
        status.code() == Some(1) && errors.contains("yield"),
        "{status}: {errors}"
    );
    Ok(())
}
