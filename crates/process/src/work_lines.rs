//! The life lines of the programs that hold locks, in a process that outlives the daemon. The daemon passes each line
//! with a number. It takes the line back with the same number.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::BorrowedFd;
use std::os::unix::net::UnixStream;
use std::time::Instant;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

use crate::KeptLine;

const NUMBER_LEN: usize = size_of::<u64>();
const DESCRIPTOR_SPACE: usize = rustix::cmsg_space!(ScmRights(1));
/// The user of all lines. One thread closes all of them.
const UID: u32 = 0;

/// Passes a line with this number to another process. Without a line, takes the line with this number back. This call
/// does not wait.
///
/// # Errors
/// Fails if the other process has ended, or has not received the earlier lines yet.
pub fn pass_work_line(
    to: &UnixStream,
    number: u64,
    line: Option<BorrowedFd<'_>>,
) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); DESCRIPTOR_SPACE];
    let mut passed = SendAncillaryBuffer::new(&mut space);
    if line.is_some() {
        passed.push(SendAncillaryMessage::ScmRights(line.as_slice()));
    }
    let number = number.to_ne_bytes();
    let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
    match sendmsg(to, &[IoSlice::new(&number)], &mut passed, flags)? {
        NUMBER_LEN => Ok(()),
        _ => Err(ErrorKind::WriteZero.into()),
    }
}

/// The lines that another process passed to this process.
#[derive(Debug, Default)]
pub struct WorkLines(BTreeMap<u64, KeptLine>);

impl WorkLines {
    /// Receives all lines that wait in the connection. Returns whether the connection is still open.
    ///
    /// # Errors
    /// Fails if a line cannot be received. This does not show that the other process has ended.
    pub(crate) fn receive_all(&mut self, from: &UnixStream) -> io::Result<bool> {
        loop {
            match self.receive(from) {
                Ok(()) => {}
                Err(error) => match error.kind() {
                    ErrorKind::WouldBlock => return Ok(true),
                    ErrorKind::UnexpectedEof => return Ok(false),
                    _ => return Err(error),
                },
            }
        }
    }

    fn receive(&mut self, from: &UnixStream) -> io::Result<()> {
        let mut space = [MaybeUninit::uninit(); DESCRIPTOR_SPACE];
        let mut passed = RecvAncillaryBuffer::new(&mut space);
        let mut number = [0; NUMBER_LEN];
        let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
        let buffers = &mut [IoSliceMut::new(&mut number)];
        match recvmsg(from, buffers, &mut passed, flags)?.bytes {
            NUMBER_LEN => {}
            0 => return Err(ErrorKind::UnexpectedEof.into()),
            _ => return Err(ErrorKind::InvalidData.into()),
        }
        let number = u64::from_ne_bytes(number);
        self.0.remove(&number);
        for message in passed.drain() {
            if let RecvAncillaryMessage::ScmRights(lines) = message {
                let lines = lines.filter_map(|line| KeptLine::new(line, UID).ok());
                self.0.extend(lines.map(|line| (number, line)));
            }
        }
        Ok(())
    }

    /// Waits at most until `deadline` until the work of all these lines has ended. Returns whether it has ended.
    pub fn wait_for_ends(&self, numbers: &[u64], deadline: Instant) -> bool {
        let mut lines = numbers.iter().map(|number| self.0.get(number));
        lines.all(|line| line.is_some_and(|line| line.wait_for_end_report(deadline)))
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::{AsFd, OwnedFd};
    use std::os::unix::net::UnixStream;
    use std::time::{Duration, Instant};

    use super::{WorkLines, pass_work_line};
    use crate::Lifeline;

    fn passed_line(to: &UnixStream, number: u64) -> (Lifeline, OwnedFd) {
        let (line, end) = Lifeline::new().unwrap();
        pass_work_line(to, number, Some(line.as_fd())).unwrap();
        (line, end)
    }

    #[test]
    fn the_work_of_all_lines_must_have_ended() {
        let (near, far) = UnixStream::pair().unwrap();
        let ends = [3, 4, 5].map(|number| passed_line(&near, number));
        let mut lines = WorkLines::default();
        assert!(lines.receive_all(&far).unwrap());
        let now = Instant::now();
        assert!(lines.wait_for_ends(&[], now));
        assert!(!lines.wait_for_ends(&[7], now), "there is no such line");
        for (line, end) in &ends[..2] {
            assert!(!lines.wait_for_ends(&[3, 4], now));
            line.report_end(end);
        }
        assert!(lines.wait_for_ends(&[3, 4], now));
        assert!(!lines.wait_for_ends(&[3, 4, 5], now));
        pass_work_line(&near, 3, None).unwrap();
        let _later = passed_line(&near, 4);
        drop(near);
        assert!(!lines.receive_all(&far).unwrap());
        for number in [3, 4] {
            assert!(!lines.wait_for_ends(&[number], now), "{number}");
        }
    }

    #[test]
    fn a_report_ends_the_wait_and_the_deadline_ends_it_too() {
        let (near, far) = UnixStream::pair().unwrap();
        let (line, end) = passed_line(&near, 3);
        let mut lines = WorkLines::default();
        assert!(lines.receive_all(&far).unwrap());
        let (start, pause) = (Instant::now(), Duration::from_millis(20));
        assert!(!lines.wait_for_ends(&[3], start + pause));
        assert!(start.elapsed() + Duration::from_millis(2) > pause);
        let reports = std::thread::spawn(move || {
            std::thread::sleep(pause);
            line.report_end(&end);
        });
        assert!(lines.wait_for_ends(&[3], Instant::now() + Duration::from_secs(20)));
        reports.join().unwrap();
    }
}
