//! Buffers that grow with what has come, never with what was announced.

/// Appends bytes to a buffer that will have `most` of them at most: it grows with what has come, and never beyond that.
pub(crate) fn append(buffer: &mut Vec<u8>, bytes: &[u8], most: usize) {
    let len = buffer.len() + bytes.len();
    if len > buffer.capacity() {
        let room = (2 * buffer.len()).min(most).max(len);
        buffer.reserve_exact(room - buffer.len());
    }
    buffer.extend_from_slice(bytes);
}
