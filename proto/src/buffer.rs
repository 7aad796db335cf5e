//! Buffers whose memory grows with received bytes, not with an announced length.

/// Appends bytes to a buffer that will hold at most `most` bytes. The memory of the buffer grows only with its content.
/// So a peer cannot make the buffer grow by announcing a length.
pub(crate) fn append(buffer: &mut Vec<u8>, bytes: &[u8], most: usize) {
    let len = buffer.len() + bytes.len();
    if len > buffer.capacity() {
        // Doubling keeps the number of copies small, and `most` avoids unused memory at the end.
        let room = (2 * buffer.len()).min(most).max(len);
        buffer.reserve_exact(room - buffer.len());
    }
    buffer.extend_from_slice(bytes);
}
