//! The daemon's side of the life lines that the guardian has.

use std::os::fd::BorrowedFd;
use std::os::unix::net::UnixStream;

use ring_process::pass_work_line;

/// Maximum number of lines that the guardian has.
pub(super) const LINES_MAX: usize = 16;

/// The life lines that the guardian has.
#[derive(Debug)]
pub(super) struct PassedLines {
    /// The guardian also waits for the end of this connection.
    guardian: UnixStream,
    numbers: Vec<u64>,
}

impl PassedLines {
    pub(super) const fn new(guardian: UnixStream) -> Self {
        Self {
            guardian,
            numbers: Vec::new(),
        }
    }

    /// Gives the guardian the life lines of all programs that hold locks. An item is `None` if its program has no life
    /// line. Returns the numbers of these lines; `None` if the guardian cannot learn of the end of each program.
    pub(super) fn update<'a>(
        &mut self,
        lines: impl Iterator<Item = Option<(u64, BorrowedFd<'a>)>>,
    ) -> Option<&[u64]> {
        let lines: Vec<_> = lines.take(LINES_MAX + 1).collect::<Option<_>>()?;
        if lines.len() > LINES_MAX {
            return None;
        }
        let Self { guardian, numbers } = self;
        numbers.retain(|number| {
            let is_held = lines.iter().any(|line| line.0 == *number);
            is_held || pass_work_line(guardian, *number, None).is_err()
        });
        for (number, line) in lines {
            if !numbers.contains(&number) {
                pass_work_line(guardian, number, Some(line)).ok()?;
                numbers.push(number);
            }
        }
        // If taking a line back has failed, the guardian also waits for its program, which has ended.
        Some(numbers)
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixStream;

    use super::{LINES_MAX, PassedLines};

    #[test]
    fn the_guardian_has_the_lines_of_all_holders_or_none_counts() {
        let (daemon, guardian) = UnixStream::pair().unwrap();
        let line = daemon.try_clone().unwrap();
        let mut passed = PassedLines::new(daemon);
        let line = |number| Some((number, line.as_fd()));
        assert_eq!(passed.update([].into_iter()), Some(&[][..]));
        assert_eq!(
            passed.update([line(3), line(4)].into_iter()),
            Some(&[3, 4][..])
        );
        assert_eq!(
            passed.update([line(4), line(5)].into_iter()),
            Some(&[4, 5][..])
        );
        assert_eq!(passed.update([line(4), None].into_iter()), None);
        let too_many = (0..).map(line).take(LINES_MAX + 1);
        assert_eq!(passed.update(too_many), None);
        drop(guardian);
        assert_eq!(passed.update([line(4), line(6)].into_iter()), None);
    }
}
