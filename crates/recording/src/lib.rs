//! Records the inputs and outputs of a state machine, and writes a recording as a capture file that can be replayed.
//!
//! [`Recorded`] wraps a state machine. The caller of the state machine does not notice the wrapper. The recorder keeps
//! the last records in buffers of a fixed size. A recording begins with a copy of the state machine. So a program such
//! as `ring-sim replay` can give this copy the same inputs, and compare the outputs.
//!
//! Only state machines whose messages are frames can be recorded. Each frame contains the address of its sender. Such
//! state machines have no connections and no jobs.

#![forbid(unsafe_code)]

mod buffer;
mod capture;
mod file;
mod record;
mod recorded;

pub use buffer::{Missing, Recording};
pub use capture::{Capture, Direction};
pub use file::{About, ReadError, RecordingFile, read, write};
pub use record::{Record, RecordOf};
pub use recorded::Recorded;
