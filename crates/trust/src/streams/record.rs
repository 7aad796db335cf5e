//! Records of an encrypted stream.
//!
//! ```text
//!   at  bytes  field
//!    0      2  length of the ciphertext, 17 to 16401
//!    2         ciphertext of: data, then one byte: 0: more records follow, 1: end of the stream
//! ```

use snow::{Error, TransportState};

use crate::counts::DropReason;

/// Maximum number of data bytes of a record.
pub const RECORD_DATA_MAX: usize = 16 * 1024;
const LEN_LEN: usize = size_of::<u16>();
/// Length of the parts of a record after its data: one byte and a tag.
const OVERHEAD: usize = 1 + 16;
/// Maximum length of a record.
pub(super) const RECORD_LEN_MAX: usize = LEN_LEN + RECORD_DATA_MAX + OVERHEAD;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RecordKind {
    Data,
    End,
}

/// Appends a record to `output`. The caller passes at most [`RECORD_DATA_MAX`] bytes.
pub(super) fn seal(
    state: &mut TransportState,
    data: &[u8],
    kind: RecordKind,
    output: &mut Vec<u8>,
) -> Result<(), Error> {
    let mut payload = Vec::with_capacity(data.len() + 1);
    payload.extend_from_slice(data);
    payload.push(kind as u8);
    let len = data.len() + OVERHEAD;
    let len_field = u16::try_from(len).map_err(|_| Error::Input)?;
    let start = output.len();
    output.extend_from_slice(&len_field.to_be_bytes());
    output.resize(start + LEN_LEN + len, 0);
    state.write_message(&payload, &mut output[start + LEN_LEN..])?;
    Ok(())
}

/// Opens the first record of `received`, and appends its data to `data`. Returns the kind and the length of the record;
/// `None` if the record is incomplete.
pub(super) fn open(
    state: &mut TransportState,
    received: &[u8],
    data: &mut Vec<u8>,
) -> Result<Option<(RecordKind, usize)>, DropReason> {
    let Some((len, rest)) = received.split_first_chunk() else {
        return Ok(None);
    };
    let len = usize::from(u16::from_be_bytes(*len));
    if !(OVERHEAD..=OVERHEAD + RECORD_DATA_MAX).contains(&len) {
        return Err(DropReason::Malformed);
    }
    let Some(ciphertext) = rest.get(..len) else {
        return Ok(None);
    };
    let start = data.len();
    data.resize(start + len, 0);
    let opened = state.read_message(ciphertext, &mut data[start..]);
    data.truncate(start + opened.as_ref().copied().unwrap_or(0));
    opened.map_err(|_| DropReason::WrongMac)?;
    let kind = match data.pop() {
        Some(0) => RecordKind::Data,
        Some(1) if data.len() == start => RecordKind::End,
        _ => return Err(DropReason::Malformed),
    };
    Ok(Some((kind, LEN_LEN + len)))
}
