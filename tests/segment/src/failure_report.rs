//! Recordings of the running test. If the test fails, its failure report shows these recordings.

use std::env;
use std::fmt::Write;
use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::capture::Recording;
use crate::lines::Lines;
use crate::pcap::write_pcap;

/// Number of log lines in a failure report.
const LAST_LINES: usize = 25;

enum TestRecording {
    Capture(Arc<Recording>),
    Log(String, Arc<Lines>),
}

static RECORDINGS: Mutex<Vec<TestRecording>> = Mutex::new(Vec::new());

pub(crate) fn show_capture(recording: Arc<Recording>) {
    lock().push(TestRecording::Capture(recording));
}

pub(crate) fn show_log(name: String, lines: Arc<Lines>) {
    lock().push(TestRecording::Log(name, lines));
}

/// Returns the first log line that reports a system call that a daemon's sandbox denied.
pub(crate) fn find_denied_call() -> Option<String> {
    let recordings = lock();
    let logs = recordings.iter().filter_map(|exhibit| match exhibit {
        TestRecording::Capture(_) => None,
        TestRecording::Log(_, lines) => Some(lines.all()),
    });
    let mut lines = logs.flatten();
    lines.find(|line| line.contains("the sandbox denied"))
}

/// Forgets all recordings after the test passes or its failure is reported.
pub(crate) fn clear() {
    lock().clear();
}

/// Writes the recorded frames to files in the target folder. Returns a description of the files and the last log lines.
pub(crate) fn describe(test: &str) -> String {
    let mut report = String::new();
    for (index, exhibit) in lock().iter().enumerate() {
        // Writing to a String cannot fail.
        let _ = match exhibit {
            TestRecording::Capture(recording) => {
                writeln!(report, "\n{}", save(recording, test, index))
            }
            TestRecording::Log(name, lines) => {
                let all = lines.all();
                let tail = &all[all.len().saturating_sub(LAST_LINES)..];
                writeln!(report, "\nlast output of {name}:\n  {}", tail.join("\n  "))
            }
        };
    }
    report
}

fn save(recording: &Recording, test: &str, index: usize) -> String {
    let frames = recording.frames();
    let path = folder().join(format!("{}-{index}.pcap", test.replace("::", ".")));
    let written = fs::create_dir_all(folder()).map_err(Into::into);
    let pairs = frames.iter().map(|seen| (seen.at, &seen.bytes[..]));
    match written.and_then(|()| write_pcap(&path, pairs)) {
        Ok(()) => format!("{} frames are in {}", frames.len(), path.display()),
        Err(error) => format!("the {} frames could not be saved: {error:#}", frames.len()),
    }
}

/// Returns `segment-failures` next to `deps` in cargo's target folder.
fn folder() -> PathBuf {
    let program = env::current_exe().unwrap_or_default();
    let build = program
        .ancestors()
        .nth(2)
        .map(PathBuf::from)
        .unwrap_or_default();
    build.join("segment-failures")
}

fn lock() -> MutexGuard<'static, Vec<TestRecording>> {
    RECORDINGS.lock().unwrap_or_else(PoisonError::into_inner)
}
