//! The numbers of a client's messages.

/// One counter for all messages of a process: from the wall clock in microseconds at its start, so that a
/// larger number means later, in earlier runs as well (`docs/ftn.md`, section 2).
#[derive(Debug, Clone, Hash)]
pub(super) struct Numbers {
    /// The next; 0: the time was not told yet.
    next: i64,
}

impl Numbers {
    pub(super) const fn new() -> Self {
        Self { next: 0 }
    }

    /// The wall clock says so many nanoseconds since 1970. The first time counts.
    pub(super) fn start(&mut self, wall: u64) {
        if self.next == 0 {
            // A 64th of all microseconds are far beyond any clock, and leave room to count.
            let micros = i64::try_from(wall / 1_000).unwrap_or(i64::MAX >> 6);
            self.next = micros.max(1);
        }
    }

    /// The number of the next message.
    pub(super) const fn peek(&self) -> i64 {
        self.next
    }

    /// A number of its own for a message.
    pub(super) const fn take(&mut self) -> i64 {
        let number = self.next;
        self.next += 1;
        number
    }
}

#[cfg(test)]
mod tests {
    use super::Numbers;

    #[test]
    fn numbers_begin_with_the_microseconds_of_the_start_and_grow_by_one() {
        let mut numbers = Numbers::new();
        numbers.start(1_700_000_000_000_000_999);
        numbers.start(5_000);
        assert_eq!(numbers.peek(), 1_700_000_000_000_000);
        assert_eq!(
            [numbers.take(), numbers.take()],
            [1_700_000_000_000_000, 1_700_000_000_000_001]
        );
    }
}
