//! Msgnums of a client's messages.

/// Counter of all messages of a process. The first number is the time of the wall clock in microseconds. So a later
/// message has a larger number than every earlier message, even if an earlier process sent it
/// (`docs/token-service/protocol/conventions.md` C10).
#[derive(Debug, Clone, Hash)]
pub(super) struct MessageNumbers {
    /// Next number; 0 before the first time is known.
    next: i64,
}

impl MessageNumbers {
    pub(super) const fn new() -> Self {
        Self { next: 0 }
    }

    /// Sets the first number to the wall-clock time `wall`, in nanoseconds since 1970. Only the first call has an
    /// effect.
    pub(super) fn start(&mut self, wall: u64) {
        if self.next == 0 {
            // Even if the clock is wrong, the numbers need room to grow. The limit of 1/64 of the range is still far
            // beyond any real time.
            let micros = i64::try_from(wall / 1_000).unwrap_or(i64::MAX >> 6);
            self.next = micros.max(1);
        }
    }

    /// Returns the next number without using it.
    pub(super) const fn peek(&self) -> i64 {
        self.next
    }

    /// Returns the next number and uses it.
    pub(super) const fn take(&mut self) -> i64 {
        let number = self.next;
        self.next += 1;
        number
    }
}

#[cfg(test)]
mod tests {
    use super::MessageNumbers;

    #[test]
    fn numbers_begin_with_the_microseconds_of_the_start_and_grow_by_one() {
        let mut numbers = MessageNumbers::new();
        numbers.start(1_700_000_000_000_000_999);
        numbers.start(5_000);
        assert_eq!(numbers.peek(), 1_700_000_000_000_000);
        assert_eq!(
            [numbers.take(), numbers.take()],
            [1_700_000_000_000_000, 1_700_000_000_000_001]
        );
    }
}
