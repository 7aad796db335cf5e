//! Batches of messages in buffers that are allocated once and reused.

use std::time::Duration;

use ring_proto::time::{Instant, Now};

/// Messages that a link has received.
#[derive(Debug)]
pub struct ReceiveBatch<P = ()> {
    buffers: Buffers,
    /// So many buffers are used, each for a message or for what came and was none.
    used: usize,
    messages: Vec<Received<P>>,
}

/// A message's metadata.
#[derive(Debug)]
struct Received<P> {
    /// Which buffer it is in.
    buffer: usize,
    len: usize,
    from: P,
    now: Now,
    age: Duration,
}

/// One buffer for each message that a batch holds, all of one size.
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

    fn get(&self, at: usize, len: usize) -> &[u8] {
        &self.bytes[at * self.size..][..len]
    }

    /// Returns buffer `at`; `None`: there are fewer.
    fn get_mut(&mut self, at: usize) -> Option<&mut [u8]> {
        self.bytes.get_mut(at * self.size..(at + 1) * self.size)
    }

    /// Returns the buffers from `at` on.
    fn from(&mut self, at: usize) -> impl ExactSizeIterator<Item = &mut [u8]> {
        let rest = self.bytes.get_mut(at * self.size..).unwrap_or_default();
        // A buffer without room has none for a message.
        rest.chunks_exact_mut(self.size.max(1))
    }
}

impl<P: Copy> ReceiveBatch<P> {
    /// An empty batch of at most `count` messages of at most `size` bytes; the only allocation that it
    /// ever makes.
    pub fn of(count: usize, size: usize) -> Self {
        Self {
            buffers: Buffers::new(count, size),
            used: 0,
            messages: Vec::with_capacity(count),
        }
    }

    /// Forgets all messages.
    pub fn clear(&mut self) {
        self.used = 0;
        self.messages.clear();
    }

    /// The buffer for the next message; `None` if the batch is full.
    pub fn next_buffer(&mut self) -> Option<&mut [u8]> {
        self.buffers.get_mut(self.used)
    }

    /// The buffers for the next messages, in order: each is taken with [`push`](Self::push) or
    /// [`skip`](Self::skip).
    pub fn vacant(&mut self) -> impl ExactSizeIterator<Item = &mut [u8]> {
        self.buffers.from(self.used)
    }

    /// Uses up [`next_buffer`](Self::next_buffer) without a message: what came is none.
    pub fn skip(&mut self) {
        self.used += 1;
    }

    /// Takes the first `len` bytes of [`next_buffer`](Self::next_buffer) as a message `from` somebody
    /// that is `age` old at `now`.
    pub fn push(&mut self, len: usize, from: P, now: Now, age: Duration) {
        debug_assert!(len <= self.buffers.size);
        let message = Received {
            buffer: self.used,
            len,
            from,
            now,
            age,
        };
        self.messages.push(message);
        self.used += 1;
    }

    /// How many messages there is room for.
    pub fn capacity(&self) -> usize {
        self.buffers.count
    }

    /// How many messages there are.
    pub fn len(&self) -> usize {
        self.messages.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// Whether there may be more to receive.
    pub fn is_full(&self) -> bool {
        self.used == self.buffers.count
    }

    /// When the last message came.
    pub fn newest(&self) -> Option<Instant> {
        let last = self.messages.last();
        last.map(|last| last.now.monotonic.before(last.age))
    }

    /// The messages received, each with who sent it, a time and its age then.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], P, Now, Duration)> {
        let messages = self.messages.iter();
        messages.map(|it| (self.buffers.get(it.buffer, it.len), it.from, it.now, it.age))
    }
}

/// Messages that a link is to send, in order.
#[derive(Debug)]
pub struct TransmitBatch<P = ()> {
    buffers: Buffers,
    messages: Vec<(usize, P)>,
    /// So many of them are dealt with.
    done: usize,
}

impl<P: Copy> TransmitBatch<P> {
    /// An empty batch of at most `count` messages of at most `size` bytes; the only allocation that it
    /// ever makes.
    pub fn of(count: usize, size: usize) -> Self {
        Self {
            buffers: Buffers::new(count, size),
            messages: Vec::with_capacity(count),
            done: 0,
        }
    }

    /// How many messages there is room for.
    pub fn capacity(&self) -> usize {
        self.buffers.count
    }

    /// The buffer for the next message; `None` if the batch is full.
    pub fn next_buffer(&mut self) -> Option<&mut [u8]> {
        self.buffers.get_mut(self.messages.len())
    }

    /// Takes the first `len` bytes of [`next_buffer`](Self::next_buffer) as a message for somebody.
    pub fn push(&mut self, len: usize, to: P) {
        debug_assert!(len <= self.buffers.size);
        self.messages.push((len, to));
    }

    /// Forgets all messages.
    pub fn clear(&mut self) {
        self.messages.clear();
        self.done = 0;
    }

    /// Forgets the first `count` messages; the others are still to be sent.
    pub fn drop_first(&mut self, count: usize) {
        self.done = (self.done + count).min(self.messages.len());
    }

    /// How many messages there are.
    pub fn len(&self) -> usize {
        self.messages.len() - self.done
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The messages in order, each with whom it is for.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&[u8], P)> {
        let messages = self.messages.iter().enumerate().skip(self.done);
        messages.map(|(at, &(len, to))| (self.buffers.get(at, len), to))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use ring_proto::time::{Instant, Now};

    use super::ReceiveBatch;

    #[test]
    fn what_is_skipped_leaves_the_messages_around_it_in_their_buffers() {
        let mut batch = ReceiveBatch::of(3, 1);
        for (byte, buffer) in batch.vacant().enumerate() {
            buffer[0] = u8::try_from(byte).expect("few");
        }
        let now = Now {
            monotonic: Instant::default(),
            wall: 0,
        };
        batch.push(1, (), now, Duration::ZERO);
        batch.skip();
        assert_eq!(batch.vacant().len(), 1);
        batch.push(1, (), now, Duration::ZERO);
        let bytes: Vec<&[u8]> = batch.iter().map(|(bytes, ..)| bytes).collect();
        assert_eq!(bytes, [&[0][..], &[2]]);
        assert!(batch.is_full() && batch.next_buffer().is_none());
        batch.clear();
        assert!(batch.is_empty() && batch.vacant().len() == 3);
    }
}
