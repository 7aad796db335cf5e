//! The files of runs: schedules to replay, frames for capture tools, events for programs.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use ring_proto::lab2::Event;
use ring_recording::Capture;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::Error;
use crate::kernel::schedule as kernel;
use crate::lab2::{Fault, Recorder, Schedule, Violation, line};

/// The start time of the capture, as a time since 1970. The nodes' wall clocks start at the same time.
const WALL_START: Duration = Duration::from_secs(1_700_000_000);

/// Reads and checks a schedule.
///
/// # Errors
/// Returns an error if the file cannot be read or is not a valid schedule.
pub(super) fn read_schedule<S>(path: &Path) -> Result<S, Error>
where
    S: kernel::Schedule + DeserializeOwned,
{
    let text = fs::read_to_string(path).map_err(|source| Error::Read {
        path: path.into(),
        source,
    })?;
    let wrong = |reason: String| Error::Schedule {
        path: path.into(),
        reason,
    };
    let schedule: S = serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
    schedule.check().map_err(wrong)?;
    Ok(schedule)
}

/// Creates a directory and its parents.
pub(super) fn make(directory: &Path) -> Result<(), Error> {
    fs::create_dir_all(directory).map_err(|source| Error::Write {
        path: directory.into(),
        source,
    })
}

pub(super) fn keep_schedule(directory: &Path, seed: u64, text: &str) -> Result<PathBuf, Error> {
    let path = directory.join(format!("sim-{seed}.json"));
    let written = fs::create_dir_all(directory).and_then(|()| fs::write(&path, text));
    written.map_err(|source| Error::Write {
        path: path.clone(),
        source,
    })?;
    Ok(path)
}

/// Writes a file into the directory. Creates the directory if necessary.
pub(super) fn keep(directory: &Path, name: &str, text: &str) -> Result<(), Error> {
    let path = directory.join(name);
    let written = fs::create_dir_all(directory).and_then(|()| fs::write(&path, text));
    written.map_err(|source| Error::Write { path, source })
}

/// Records a run as `frames.pcapng` (a capture of the segment), `events.jsonl` (everything else) and `schedule.json`.
/// Clones of a recorder write to the same files.
#[derive(Clone)]
pub(super) struct Files(Rc<RefCell<Open>>);

struct Open {
    directory: PathBuf,
    frames: Capture<BufWriter<File>>,
    events: BufWriter<File>,
    /// Frames that are sent but not written to the file. Frames of slow nodes leave some time after they are created.
    waiting: BTreeMap<(Duration, u64), (Option<usize>, Vec<u8>)>,
    sent: u64,
    /// The first failed write. After this error, the recorder stops writing.
    failed: Option<io::Error>,
}

impl Files {
    /// Creates the files, and writes the schedule.
    ///
    /// # Errors
    /// Returns an error if the directory or a file in it cannot be written.
    pub(super) fn create(directory: &Path, schedule: &Schedule) -> Result<Self, Error> {
        let failed = |source: io::Error| Error::Write {
            path: directory.into(),
            source,
        };
        let text = schedule.to_text()?;
        fs::create_dir_all(directory).map_err(failed)?;
        fs::write(directory.join("schedule.json"), text).map_err(failed)?;
        let create = |name: &str| File::create(directory.join(name)).map(BufWriter::new);
        let frames = create("frames.pcapng").map_err(failed)?;
        let frames = Capture::new(frames, "segment").map_err(failed)?;
        let events = create("events.jsonl").map_err(failed)?;
        Ok(Self(Rc::new(RefCell::new(Open {
            directory: directory.into(),
            frames,
            events,
            waiting: BTreeMap::new(),
            sent: 0,
            failed: None,
        }))))
    }

    /// Writes the remaining frames and flushes the files.
    ///
    /// # Errors
    /// Returns the first error of all writes, including earlier writes.
    pub(super) fn finish(&self) -> Result<(), Error> {
        let open = &mut *self.0.borrow_mut();
        open.write_sent_by(Duration::MAX);
        let flushed = match open.failed.take() {
            Some(error) => Err(error),
            None => open.events.flush().and_then(|()| open.frames.flush()),
        };
        flushed.map_err(|source| Error::Write {
            path: open.directory.clone(),
            source,
        })
    }

    fn log(&self, at: Duration, node: Option<usize>, what: &str, more: Value) {
        let open = &mut *self.0.borrow_mut();
        open.write_sent_by(at);
        open.log(at, node, what, more);
    }
}

impl Open {
    fn write(&mut self, write: impl FnOnce(&mut Self) -> io::Result<()>) {
        if self.failed.is_none() {
            self.failed = write(self).err();
        }
    }

    fn log(&mut self, at: Duration, node: Option<usize>, what: &str, more: Value) {
        let mut record = json!({ "at_ns": nanos(at), "what": what });
        if let Some(node) = node {
            record["node"] = node.into();
        }
        if let (Value::Object(record), Value::Object(more)) = (&mut record, more) {
            record.extend(more);
        }
        self.write(|open| writeln!(open.events, "{record}"));
    }

    /// Writes the frames that have left by `now`.
    fn write_sent_by(&mut self, now: Duration) {
        while let Some(first) = self.waiting.first_entry().filter(|f| f.key().0 <= now) {
            let ((at, _), (from, frame)) = first.remove_entry();
            self.log(at, from, "sent", json!({ "frame": line(&frame) }));
            self.write(|open| {
                let at = WALL_START + at;
                open.frames.write_frame(at, &frame, None, Vec::new())
            });
        }
    }
}

fn nanos(at: Duration) -> u64 {
    u64::try_from(at.as_nanos()).unwrap_or(u64::MAX)
}

impl Recorder for Files {
    fn on_sent(&mut self, at: Duration, from: Option<usize>, frame: &[u8]) {
        let open = &mut *self.0.borrow_mut();
        open.sent += 1;
        let key = (at, open.sent);
        open.waiting.insert(key, (from, frame.to_vec()));
    }

    fn on_read(&mut self, at: Duration, node: usize, frame: &[u8], age: Duration) {
        let more = json!({ "frame": line(frame), "age_ns": nanos(age) });
        self.log(at, Some(node), "heard", more);
    }

    fn on_event(&mut self, at: Duration, node: usize, event: &Event) {
        let more = match event {
            // The capture file already contains the frames.
            Event::Received { .. } | Event::Transmitted { .. } => return,
            Event::StateChanged {
                from,
                to,
                reason,
                token,
            } => json!({
                "from": from.name(),
                "to": to.name(),
                "reason": format!("{reason:?}"),
                "token": token.as_ref().map(ToString::to_string),
            }),
            event => json!({ "event": format!("{event:?}") }),
        };
        self.log(at, Some(node), "told", more);
    }

    fn on_action(&mut self, at: Duration, fault: &Fault) {
        let fault = serde_json::to_value(fault).unwrap_or(Value::Null);
        self.log(at, None, "fault", json!({ "fault": fault }));
    }

    fn on_phase(&mut self, at: Duration, name: &'static str) {
        self.log(at, None, "phase", json!({ "name": name }));
    }

    fn on_violation(&mut self, violation: &Violation) {
        let more = json!({ "rule": violation.rule.text(), "circumstances": violation.details });
        self.log(violation.at, violation.node, "broken", more);
    }
}
