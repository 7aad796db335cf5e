//! Descriptors that travel over a Unix socket beside its bytes (SCM_RIGHTS).

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

/// The most descriptors that travel together in what this program sends.
pub const MOST: usize = 3;
/// The most that the kernel lets travel together.
const MOST_EVER: usize = 253;

const SPACE: usize = rustix::cmsg_space!(ScmRights(MOST));
const SPACE_EVER: usize = rustix::cmsg_space!(ScmRights(MOST_EVER));

/// Sends bytes with at most [`MOST`] descriptors; how many of the bytes. The receiver gets all
/// descriptors with the first.
///
/// # Errors
/// The other end is gone, or there are more descriptors.
pub fn send(
    stream: &UnixStream,
    bytes: &[u8],
    descriptors: &[BorrowedFd<'_>],
) -> io::Result<usize> {
    let mut space = [MaybeUninit::uninit(); SPACE];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !control.push(SendAncillaryMessage::ScmRights(descriptors)) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let sent = sendmsg(
        stream,
        &[IoSlice::new(bytes)],
        &mut control,
        SendFlags::NOSIGNAL,
    );
    Ok(sent?)
}

/// Looks at the bytes that a read would give, and leaves them where they are: how many, and whether
/// descriptors come with them.
///
/// Whoever reads such bytes without taking the descriptors has the kernel close them, and waits for as long
/// as that takes, which is for the sender to say.
///
/// # Errors
/// As of a read.
pub fn peek(stream: &UnixStream, bytes: &mut [u8]) -> io::Result<(usize, bool)> {
    let mut bytes = [IoSliceMut::new(bytes)];
    let mut none = RecvAncillaryBuffer::default();
    let seen = recvmsg(stream, &mut bytes, &mut none, RecvFlags::PEEK)?;
    Ok((seen.bytes, seen.flags.contains(ReturnFlags::CTRUNC)))
}

/// Receives bytes as a read does, and adds all that comes with them to `descriptors`.
///
/// # Errors
/// As of a read.
pub fn receive(
    stream: &UnixStream,
    bytes: &mut [u8],
    descriptors: &mut Vec<OwnedFd>,
) -> io::Result<usize> {
    let mut space = [MaybeUninit::uninit(); SPACE_EVER];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut bytes = [IoSliceMut::new(bytes)];
    let received = recvmsg(stream, &mut bytes, &mut control, RecvFlags::CMSG_CLOEXEC)?;
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(came) = message {
            descriptors.extend(came);
        }
    }
    Ok(received.bytes)
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::{IoSlice, Read, Write};
    use std::os::fd::{AsFd, AsRawFd};
    use std::os::unix::net::UnixStream;

    use nix::sys::socket::{ControlMessage, MsgFlags, sendmsg};

    use super::{peek, receive, send};

    #[test]
    fn what_is_sent_is_the_same_open_file() {
        let (ours, theirs) = UnixStream::pair().expect("a pair");
        let (mut near, far) = UnixStream::pair().expect("a pair");
        assert_eq!(send(&ours, b"take", &[far.as_fd()]).expect("sent"), 4);
        drop(far);
        let (mut bytes, mut came) = ([0; 8], Vec::new());
        assert_eq!(receive(&theirs, &mut bytes, &mut came).expect("it came"), 4);
        let mut far = File::from(came.pop().expect("with the bytes"));
        near.write_all(b"x").expect("it is open");
        far.read_exact(&mut bytes[..1])
            .expect("it is the other end");
        assert_eq!(&bytes[..4], b"xake");
        drop(far);
        assert_eq!(near.read(&mut bytes).expect("its end"), 0);
    }

    #[test]
    fn bytes_come_without_any_as_well() {
        let (mut ours, theirs) = UnixStream::pair().expect("a pair");
        ours.write_all(b"one").expect("written");
        let (mut bytes, mut came) = ([0; 8], Vec::new());
        assert_eq!(receive(&theirs, &mut bytes, &mut came).expect("it came"), 3);
        assert!(came.is_empty());
    }

    #[test]
    fn a_look_shows_how_much_comes_without_any_and_takes_nothing() {
        let (mut ours, theirs) = UnixStream::pair().expect("a pair");
        let mut bytes = [0; 8];
        ours.write_all(b"one").expect("written");
        assert_eq!(peek(&theirs, &mut bytes).expect("it came"), (3, false));
        send(&ours, b"two", &[ours.as_fd()]).expect("sent");
        let (seen, with) = peek(&theirs, &mut bytes).expect("it came");
        assert!((seen, with) == (3, false) || with, "{seen}");
        (&theirs).read_exact(&mut bytes[..3]).expect("it came");
        assert_eq!(peek(&theirs, &mut bytes).expect("it came"), (3, true));
        let mut came = Vec::new();
        assert_eq!(receive(&theirs, &mut bytes, &mut came).expect("it came"), 3);
        assert_eq!((&bytes[..3], came.len()), (&b"two"[..], 1));
    }

    #[test]
    fn all_are_received_however_many_there_are() {
        let (ours, theirs) = UnixStream::pair().expect("a pair");
        assert!(send(&ours, b"x", &[ours.as_fd(); 9]).is_err());
        let many = vec![ours.as_raw_fd(); 253];
        let with = [ControlMessage::ScmRights(&many)];
        let bytes = [IoSlice::new(b"x")];
        let sent = sendmsg::<()>(ours.as_raw_fd(), &bytes, &with, MsgFlags::empty(), None);
        assert_eq!(sent, Ok(1));
        let mut came = Vec::new();
        receive(&theirs, &mut [0; 8], &mut came).expect("it came");
        assert_eq!(came.len(), many.len());
    }
}
