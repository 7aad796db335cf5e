//! The file of a recording. The file is a capture of the frames. It has a private block with the state machine before
//! the first record, and with all records. Comments on the frames describe the other inputs and the events for people.

use std::fmt::{self, Debug};
use std::io::{self, Write};
use std::mem;
use std::time::Duration;

use pcap_file::PcapError;
use pcap_file::pcapng::{Block, PcapNgParser};
use ring_proto::time::{Instant, Now};
use ring_proto::{Machine, SendOutcome, StoreOutcome};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize, Serializer};
use thiserror::Error;

use super::buffer::{Missing, Recording, with_frames};
use super::capture::{Capture, Direction};
use super::record::{Record, RecordOf};

/// The type of the private block. Types with the highest bit set are for local use.
const BLOCK_TYPE: u32 = 0xf216_0d01;
/// Blocks begin at multiples of this length.
const BLOCK_ALIGNMENT: usize = 4;

/// The program and the event from which a recording comes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    /// The name of the protocol.
    pub system: String,
    /// The version of the program.
    pub version: String,
    /// The name of the node's ring, in the form for `ringctl -i`.
    pub ring: String,
    /// The reason for which the recording was written, as a sentence.
    pub reason: String,
}

#[derive(Serialize)]
#[serde(bound(serialize = "M: Serialize, RecordOf<M>: Serialize"))]
struct Contents<'a, M: Machine> {
    #[serde(flatten)]
    about: &'a About,
    missing: Missing,
    start: &'a M,
    records: Records<'a, M>,
}

struct Records<'a, M: Machine>(&'a Recording<M>);

impl<M: Machine> Serialize for Records<'_, M>
where
    RecordOf<M>: Serialize,
{
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.records().map(|(record, _)| record))
    }
}

/// A recording from a file.
#[derive(Deserialize)]
#[serde(bound(deserialize = "M: DeserializeOwned, RecordOf<M>: DeserializeOwned"))]
pub struct RecordingFile<M: Machine> {
    /// The origin of the recording.
    #[serde(flatten)]
    pub about: About,
    /// The numbers of dropped records.
    pub missing: Missing,
    /// The state machine before the first record.
    pub start: M,
    records: Vec<RecordOf<M>>,
    /// The frames of all records, one after the other.
    #[serde(skip)]
    frames: Vec<u8>,
}

impl<M: Machine> RecordingFile<M> {
    /// Returns the records in their order, each with the bytes of its frame.
    pub fn records(&self) -> impl Iterator<Item = (&RecordOf<M>, &[u8])> {
        with_frames(&self.records, &self.frames)
    }
}

/// The reason why a file cannot be read as a recording.
#[derive(Debug, Error)]
pub enum ReadError {
    /// The file is damaged, or is no pcapng file.
    #[error("it is not a whole pcapng file: {0}")]
    Capture(PcapError),
    /// The file is a capture without a recording.
    #[error("it is a capture without a recording; ringctl dump writes recordings")]
    NoRecording,
    /// The contents have another format.
    #[error(
        "ringd {version} wrote it, and this program cannot read the state machine of that build: {source}; use the \
         ring-sim of the same build"
    )]
    Version {
        /// The version of the program that wrote the file.
        version: String,
        /// The error of the parser, at the first place that it does not accept.
        source: serde_json::Error,
    },
    /// The recording contains a state machine of a different protocol.
    #[error("it is a recording of the system {0}, which cannot be replayed")]
    System(String),
}

/// Writes a recording. `describe` returns the comment about an event. It returns `None` if the event needs no comment.
///
/// # Errors
/// Fails if the output cannot be written.
pub fn write<M>(
    out: impl Write,
    about: &About,
    recording: &Recording<M>,
    describe: impl Fn(&M::Event) -> Option<String>,
) -> io::Result<()>
where
    M: Machine<Command: Debug, Net: Debug> + Serialize,
    RecordOf<M>: Serialize,
{
    let mut capture = Capture::new(out, &about.ring)?;
    let missing = recording.missing();
    let mut bytes = serde_json::to_vec(&Contents {
        about,
        missing,
        start: recording.start(),
        records: Records(recording),
    })?;
    // The writer of the format would fill the block with zeros, which JSON does not permit after a value. JSON permits
    // blanks.
    bytes.resize(bytes.len().next_multiple_of(BLOCK_ALIGNMENT), b' ');
    capture.write_private(BLOCK_TYPE, &bytes)?;
    drop(bytes);
    let mut frames = Frames::new(capture);
    if missing.is_any() {
        frames.causes.push(missing.to_string());
    }
    for (record, frame) in recording.records() {
        frames.set_time(record.time());
        match record {
            Record::Received { age, .. } => frames.add(frame, Direction::Inbound, *age)?,
            Record::Frame { .. } => frames.add(frame, Direction::Outbound, Duration::ZERO)?,
            Record::Command { command, .. } => frames.add_cause(format_args!("{command:?}")),
            Record::Link { net, .. } => frames.add_cause(format_args!("link: {net:?}")),
            Record::Timeout { .. } => frames.add_cause(format_args!("timeout")),
            Record::Sent { outcome, .. } if *outcome != SendOutcome::Accepted => {
                frames.add_effect(format_args!("not sent: {outcome:?}"));
            }
            Record::Stored { outcome, .. } if *outcome != StoreOutcome::Done => {
                frames.add_effect(format_args!("not stored: {outcome:?}"));
            }
            Record::Event(event) => {
                if let Some(text) = describe(event) {
                    frames.add_effect(format_args!("{text}"));
                }
            }
            Record::Sent { .. }
            | Record::Stored { .. }
            | Record::Flushed { .. }
            | Record::Durable(_)
            | Record::Deadline(_) => {}
        }
    }
    frames.finish()
}

/// Writes frames with comments. A frame can have causes, such as a timeout, and effects, such as an event. The records
/// of causes come before the frame, and the records of effects come after it. So a comment about a cause is attached to
/// the next frame, and a comment about an effect to the last frame.
struct Frames<W: Write> {
    capture: Capture<W>,
    now: Now,
    /// The last frame. It is not written yet, because comments may follow it.
    last: Option<LastFrame>,
    /// Comments for the next frame.
    causes: Vec<String>,
}

struct LastFrame {
    at: Duration,
    direction: Direction,
    bytes: Vec<u8>,
    comments: Vec<String>,
}

impl<W: Write> Frames<W> {
    fn new(capture: Capture<W>) -> Self {
        Self {
            capture,
            now: Now {
                monotonic: Instant::default(),
                wall: 0,
            },
            last: None,
            causes: Vec::new(),
        }
    }

    /// Sets the time of later records. An output has no time, so it gets the time of the input before it.
    fn set_time(&mut self, time: Option<Now>) {
        self.now = time.unwrap_or(self.now);
    }

    fn add(&mut self, frame: &[u8], direction: Direction, age: Duration) -> io::Result<()> {
        let next = LastFrame {
            at: Duration::from_nanos(self.now.wall).saturating_sub(age),
            direction,
            bytes: frame.to_vec(),
            comments: mem::take(&mut self.causes),
        };
        self.write_last()?;
        self.last = Some(next);
        Ok(())
    }

    fn add_cause(&mut self, text: fmt::Arguments<'_>) {
        let comment = self.comment(text);
        self.causes.push(comment);
    }

    fn add_effect(&mut self, text: fmt::Arguments<'_>) {
        let comment = self.comment(text);
        // There may already be a later cause, for example a timeout, before this effect.
        match &mut self.last {
            Some(last) if self.causes.is_empty() => last.comments.push(comment),
            _ => self.causes.push(comment),
        }
    }

    fn comment(&self, text: fmt::Arguments<'_>) -> String {
        let seconds = Duration::from_nanos(self.now.monotonic.as_nanos()).as_secs_f64();
        format!("{seconds:.9} {text}")
    }

    fn write_last(&mut self) -> io::Result<()> {
        let Some(last) = self.last.take() else {
            return Ok(());
        };
        let LastFrame {
            at,
            direction,
            bytes,
            comments,
        } = last;
        self.capture
            .write_frame(at, &bytes, Some(direction), comments)
    }

    fn finish(mut self) -> io::Result<()> {
        if let Some(last) = &mut self.last {
            last.comments.append(&mut self.causes);
        }
        self.write_last()?;
        self.capture.flush()
    }
}

/// Reads a recording of the protocol `system`.
///
/// # Errors
/// Fails if the bytes are not a recording of this build's state machine.
pub fn read<M>(file: &[u8], system: &str) -> Result<RecordingFile<M>, ReadError>
where
    M: Machine + DeserializeOwned,
    RecordOf<M>: DeserializeOwned,
{
    let (mut rest, mut parser) = PcapNgParser::new(file).map_err(ReadError::Capture)?;
    let mut contents = None;
    let mut frames = Vec::new();
    while !rest.is_empty() {
        let (after, block) = parser.next_block(rest).map_err(ReadError::Capture)?;
        match block {
            Block::EnhancedPacket(packet) => frames.extend_from_slice(&packet.data),
            Block::Unknown(block) if block.type_ == BLOCK_TYPE => contents = Some(block.value),
            _ => {}
        }
        rest = after;
    }
    let contents = contents.ok_or(ReadError::NoRecording)?;
    let about: About = serde_json::from_slice(&contents).map_err(|_| ReadError::NoRecording)?;
    if about.system != system {
        return Err(ReadError::System(about.system));
    }
    let file = serde_json::from_slice(&contents).map_err(|source| ReadError::Version {
        version: about.version,
        source,
    })?;
    Ok(RecordingFile { frames, ..file })
}
