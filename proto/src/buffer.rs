//! Buffers whose memory grows with received bytes, not with an announced length.

/// Appends bytes to a buffer that holds at most `most` bytes in the end. Its memory grows only with its length, so that
/// a peer cannot reserve memory by an announced length.
pub(crate) fn append(buffer: &mut Vec<u8>, bytes: &[u8], most: usize) {
    let len = buffer.len() + bytes.len();
    if len > buffer.capacity() {
        let room = (2 * buffer.len()).min(most).max(len);
        buffer.reserve_exact(room - buffer.len());
    }
    buffer.extend_from_slice(bytes);
}
