//! Batches of messages in buffers that are allocated once and reused.

use std::time::Duration;

use ring_proto::time::{Instant, Now};

/// Messages that a link received.
#[derive(Debug)]
pub struct ReceiveBatch<P = ()> {
    buffers: Buffers,
    /// Maximum length of a message.
    longest: usize,
    /// Number of used buffers. A skipped buffer holds no message.
    used_count: usize,
    messages: Vec<MessageMetadata<P>>,
}

#[derive(Debug)]
struct MessageMetadata<P> {
    /// Index of the message's first byte in the bytes of all buffers.
    start: usize,
    len: usize,
    from: P,
    now: Now,
    age: Duration,
}

/// Buffers of equal size.
#[derive(Debug)]
struct Buffers {
    bytes: Box<[u8]>,
    count: usize,
    size: usize,
}

impl Buffers {
    fn new(count: usize, size: usize) -> Self {
        let bytes = vec![0; count * size].into_boxed_slice();
        Self { bytes, count, size }
    }

    fn get(&self, start: usize, len: usize) -> &[u8] {
        &self.bytes[start..][..len]
    }

    const fn start(&self, at: usize) -> usize {
        at * self.size
    }

    fn get_mut(&mut self, at: usize) -> Option<&mut [u8]> {
        self.bytes.get_mut(at * self.size..(at + 1) * self.size)
    }

    fn from(&mut self, at: usize) -> impl ExactSizeIterator<Item = &mut [u8]> {
        let rest = self.bytes.get_mut(at * self.size..).unwrap_or_default();
        // `chunks_exact_mut` panics at a size of zero.
        rest.chunks_exact_mut(self.size.max(1))
    }
}

impl<P: Copy> ReceiveBatch<P> {
    /// Makes an empty batch for at most `count` messages of at most `size` bytes. The batch never allocates again.
    pub fn new(count: usize, size: usize) -> Self {
        Self::with_buffers(count, size, size)
    }

    /// Makes an empty batch with `count` buffers of `size` bytes. A buffer may hold several messages of at most
    /// `longest` bytes. The batch allocates again only when it holds more messages than ever before.
    pub(super) fn with_buffers(count: usize, size: usize, longest: usize) -> Self {
        Self {
            buffers: Buffers::new(count, size),
            longest,
            used_count: 0,
            messages: Vec::with_capacity(count),
        }
    }

    /// Forgets all messages.
    pub fn clear(&mut self) {
        self.used_count = 0;
        self.messages.clear();
    }

    /// Returns the buffer for the next message; `None` if the batch is full.
    pub fn next_buffer(&mut self) -> Option<&mut [u8]> {
        self.buffers.get_mut(self.used_count)
    }

    /// Returns the buffers for the next messages, in order. Then the caller calls [`push`](Self::push) or
    /// [`skip`](Self::skip) once for each used buffer.
    pub fn free_buffers(&mut self) -> impl ExactSizeIterator<Item = &mut [u8]> {
        self.buffers.from(self.used_count)
    }

    /// Marks [`next_buffer`](Self::next_buffer) as used, but adds no message.
    pub fn skip(&mut self) {
        self.used_count += 1;
    }

    /// Adds the first `len` bytes of [`next_buffer`](Self::next_buffer) as a message from peer `from`. `age` is the age
    /// of the message at the time `now`.
    pub fn push(&mut self, len: usize, from: P, now: Now, age: Duration) {
        self.push_part(0, len, from, now, age);
        self.used_count += 1;
    }

    /// Adds the first `len` bytes of [`next_buffer`](Self::next_buffer) as messages of `part_len` bytes from one peer.
    /// The last message may be shorter. Returns the number of messages that the batch dropped because they were too
    /// long.
    pub(crate) fn push_parts(
        &mut self,
        len: usize,
        part_len: usize,
        from: P,
        now: Now,
        age: Duration,
    ) -> u64 {
        let (mut offset, mut dropped) = (0, 0);
        loop {
            let part_len = part_len.min(len - offset);
            if part_len > self.longest {
                dropped += 1;
            } else {
                self.push_part(offset, part_len, from, now, age);
            }
            offset += part_len.max(1);
            if offset >= len {
                break;
            }
        }
        self.used_count += 1;
        dropped
    }

    fn push_part(&mut self, offset: usize, len: usize, from: P, now: Now, age: Duration) {
        debug_assert!(offset + len <= self.buffers.size);
        let start = self.buffers.start(self.used_count) + offset;
        self.messages.push(MessageMetadata {
            start,
            len,
            from,
            now,
            age,
        });
    }

    /// Shortens each message to the length that `keep` returns, or removes the message if `keep` returns `None`. `keep`
    /// gets the same values as the items of [`iter`](Self::iter).
    pub fn retain(&mut self, mut keep: impl FnMut(&[u8], P, Now, Duration) -> Option<usize>) {
        let Self {
            buffers, messages, ..
        } = self;
        messages.retain_mut(|it| {
            let bytes = buffers.get(it.start, it.len);
            let kept = keep(bytes, it.from, it.now, it.age);
            it.len = kept.map_or(0, |len| len.min(it.len));
            kept.is_some()
        });
    }

    /// Returns the number of buffers.
    pub fn capacity(&self) -> usize {
        self.buffers.count
    }

    /// Returns the number of messages.
    pub fn len(&self) -> usize {
        self.messages.len()
    }

    /// Whether the batch has no messages.
    pub fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// Whether all buffers are used. Then the link may have more messages.
    pub fn is_full(&self) -> bool {
        self.used_count == self.buffers.count
    }

    /// Returns the arrival time of the last message.
    pub fn newest(&self) -> Option<Instant> {
        let last = self.messages.last();
        last.map(|last| last.now.monotonic.before(last.age))
    }

    /// Returns, for each message, its bytes, its sender, the time at which the machine handles the message, and the
    /// message's age at this time.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], P, Now, Duration)> {
        let messages = self.messages.iter();
        messages.map(|it| (self.buffers.get(it.start, it.len), it.from, it.now, it.age))
    }
}

/// Messages that a link has to send, in order.
#[derive(Debug)]
pub struct TransmitBatch<P = ()> {
    buffers: Buffers,
    messages: Vec<(usize, P)>,
    /// Number of messages that were sent or dropped.
    done: usize,
}

impl<P: Copy> TransmitBatch<P> {
    /// Makes an empty batch for at most `count` messages of at most `size` bytes. The batch never allocates again.
    pub fn of(count: usize, size: usize) -> Self {
        Self {
            buffers: Buffers::new(count, size),
            messages: Vec::with_capacity(count),
            done: 0,
        }
    }

    /// Returns the maximum number of messages.
    pub fn capacity(&self) -> usize {
        self.buffers.count
    }

    /// Returns the buffer for the next message; `None` if the batch is full.
    pub fn next_buffer(&mut self) -> Option<&mut [u8]> {
        self.buffers.get_mut(self.messages.len())
    }

    /// Adds the first `len` bytes of [`next_buffer`](Self::next_buffer) as a message to a peer.
    pub fn push(&mut self, len: usize, to: P) {
        debug_assert!(len <= self.buffers.size);
        self.messages.push((len, to));
    }

    /// Forgets all messages.
    pub fn clear(&mut self) {
        self.messages.clear();
        self.done = 0;
    }

    /// Forgets the first `count` messages. The caller must still send the remaining messages.
    pub fn drop_first(&mut self, count: usize) {
        self.done = (self.done + count).min(self.messages.len());
    }

    /// Returns the number of unsent messages.
    pub fn len(&self) -> usize {
        self.messages.len() - self.done
    }

    /// Whether all messages were sent or dropped.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the unsent messages in order, each with its destination.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&[u8], P)> {
        let messages = self.messages.iter().enumerate().skip(self.done);
        messages.map(|(at, &(len, to))| (self.buffers.get(self.buffers.start(at), len), to))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use ring_proto::time::{Instant, Now};

    use super::ReceiveBatch;

    #[test]
    fn a_skipped_buffer_leaves_other_messages_in_place() {
        let mut batch = ReceiveBatch::new(3, 1);
        for (byte, buffer) in batch.free_buffers().enumerate() {
            buffer[0] = u8::try_from(byte).expect("few");
        }
        let now = Now {
            monotonic: Instant::default(),
            wall: 0,
        };
        batch.push(1, (), now, Duration::ZERO);
        batch.skip();
        assert_eq!(batch.free_buffers().len(), 1);
        batch.push(1, (), now, Duration::ZERO);
        let bytes: Vec<&[u8]> = batch.iter().map(|(bytes, ..)| bytes).collect();
        assert_eq!(bytes, [&[0][..], &[2]]);
        assert!(batch.is_full() && batch.next_buffer().is_none());
        batch.clear();
        assert!(batch.is_empty() && batch.free_buffers().len() == 3);
    }

    #[test]
    fn a_buffer_may_hold_several_messages() {
        let mut batch = ReceiveBatch::with_buffers(2, 5, 2);
        for buffer in batch.free_buffers() {
            buffer.copy_from_slice(b"aabbc");
        }
        let now = Now {
            monotonic: Instant::default(),
            wall: 0,
        };
        assert_eq!(batch.push_parts(5, 2, (), now, Duration::ZERO), 0);
        assert_eq!(batch.push_parts(5, 3, (), now, Duration::ZERO), 1);
        let bytes: Vec<&[u8]> = batch.iter().map(|(bytes, ..)| bytes).collect();
        assert_eq!(bytes, [&b"aa"[..], b"bb", b"c", b"bc"]);
        assert!(batch.is_full());
        batch.retain(|bytes, (), _, _| (bytes != b"bb").then(|| bytes.len() - 1));
        let bytes: Vec<&[u8]> = batch.iter().map(|(bytes, ..)| bytes).collect();
        assert_eq!(bytes, [&b"a"[..], b"", b"b"]);
    }
}
