//! Sends and receives descriptors together with bytes over a Unix socket (SCM_RIGHTS).

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

/// Maximum number of descriptors that this program sends in one message.
pub const DESCRIPTORS_MAX: usize = 3;
/// Maximum number of descriptors that the kernel allows in one message.
const KERNEL_DESCRIPTORS_MAX: usize = 253;

const SEND_SPACE: usize = rustix::cmsg_space!(ScmRights(DESCRIPTORS_MAX));
const RECEIVE_SPACE: usize = rustix::cmsg_space!(ScmRights(KERNEL_DESCRIPTORS_MAX));

/// Sends bytes with at most [`DESCRIPTORS_MAX`] descriptors. Returns the number of sent bytes. The receiver gets all
/// descriptors with the first byte.
///
/// # Errors
/// Fails if the other end is closed, or if there are too many descriptors.
pub fn send(
    stream: &UnixStream,
    bytes: &[u8],
    descriptors: &[BorrowedFd<'_>],
) -> io::Result<usize> {
    let mut space = [MaybeUninit::uninit(); SEND_SPACE];
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

/// Returns the number of bytes that a read would return, and whether these bytes have descriptors. Leaves the bytes in
/// the socket.
///
/// If a process reads bytes that have descriptors, and does not take these descriptors, the read waits until the kernel
/// has closed them. The sender can make this wait long.
///
/// # Errors
/// Fails with the errors of a read.
pub fn peek(stream: &UnixStream, bytes: &mut [u8]) -> io::Result<(usize, bool)> {
    let mut bytes = [IoSliceMut::new(bytes)];
    let mut none = RecvAncillaryBuffer::default();
    let seen = recvmsg(stream, &mut bytes, &mut none, RecvFlags::PEEK)?;
    Ok((seen.bytes, seen.flags.contains(ReturnFlags::CTRUNC)))
}

/// Receives bytes, as a read does. Adds all descriptors of these bytes to `descriptors`.
///
/// # Errors
/// Fails with the errors of a read.
pub fn receive(
    stream: &UnixStream,
    bytes: &mut [u8],
    descriptors: &mut Vec<OwnedFd>,
) -> io::Result<usize> {
    let mut space = [MaybeUninit::uninit(); RECEIVE_SPACE];
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
    fn a_sent_descriptor_is_the_same_open_file() {
        let (ours, theirs) = UnixStream::pair().expect("a pair");
        let (mut near, far) = UnixStream::pair().expect("a pair");
        assert_eq!(send(&ours, b"take", &[far.as_fd()]).expect("sent"), 4);
        drop(far);
        let (mut bytes, mut came) = ([0; 8], Vec::new());
        assert_eq!(receive(&theirs, &mut bytes, &mut came).expect("it came"), 4);
        let mut far = File::from(came.pop().expect("descriptors come with the bytes"));
        near.write_all(b"x").expect("the descriptor is open");
        far.read_exact(&mut bytes[..1])
            .expect("the descriptor is the other end");
        assert_eq!(&bytes[..4], b"xake");
        drop(far);
        assert_eq!(near.read(&mut bytes).expect("its end"), 0);
    }

    #[test]
    fn bytes_may_come_without_descriptors() {
        let (mut ours, theirs) = UnixStream::pair().expect("a pair");
        ours.write_all(b"one").expect("written");
        let (mut bytes, mut came) = ([0; 8], Vec::new());
        assert_eq!(receive(&theirs, &mut bytes, &mut came).expect("it came"), 3);
        assert!(came.is_empty());
    }

    #[test]
    fn a_peek_tells_the_length_without_descriptors_and_takes_nothing() {
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
