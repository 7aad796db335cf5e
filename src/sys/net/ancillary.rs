//! Descriptors that travel over a Unix socket beside its bytes (SCM_RIGHTS).

use std::io::{self, IoSlice, IoSliceMut, Read};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

/// The most descriptors that travel together.
pub const MOST: usize = 2;

const SPACE: usize = rustix::cmsg_space!(ScmRights(MOST));

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

/// Receives bytes as a read does, and puts what comes with them into `descriptors`, unless it has [`MOST`]
/// already. Who is to have none reads: the kernel does not even open what comes then.
///
/// # Errors
/// As of a read.
pub fn receive(
    stream: &UnixStream,
    bytes: &mut [u8],
    descriptors: &mut Vec<OwnedFd>,
) -> io::Result<usize> {
    if descriptors.len() >= MOST {
        return (&*stream).read(bytes);
    }
    let mut space = [MaybeUninit::uninit(); SPACE];
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
    use std::io::{Read, Write};
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixStream;

    use super::{MOST, receive, send};

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
    fn more_than_there_may_be_are_not_taken() {
        let (ours, theirs) = UnixStream::pair().expect("a pair");
        let mut came = Vec::new();
        for _ in 0..3 {
            let (near, far) = UnixStream::pair().expect("a pair");
            send(&ours, b"x", &[near.as_fd(), far.as_fd()]).expect("sent");
            receive(&theirs, &mut [0; 8], &mut came).expect("it came");
            assert_eq!(came.len(), MOST);
        }
        assert!(send(&ours, b"x", &[ours.as_fd(); 9]).is_err());
    }
}
