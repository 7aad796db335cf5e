//! Alternative names of interfaces. An interface has one main name of at most 15 bytes, and any number of alternative
//! names, which may be longer.

use std::io;
use std::os::fd::AsRawFd;

use nix::errno::Errno;
use nix::net::if_::if_indextoname;
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, recv, sendto, socket,
};

/// The length of a netlink message's header.
const HEADER_LEN: usize = 16;
/// The length of the `struct ifinfomsg` that follows the header in a message about an interface.
const INFO_LEN: usize = 16;
const ATTRIBUTE_HEADER_LEN: usize = 4;
/// The attribute for an alternative name: IFLA_ALT_IFNAME.
const ALT_NAME: u16 = 53;
/// The maximum length of an alternative name, with the zero byte at its end: ALTIFNAMSIZ.
const ALT_NAME_MAX: usize = 128;
/// The flag of a request: NLM_F_REQUEST.
const REQUEST: u16 = 1;

/// Returns the main name of the interface with this alternative name; `None` if there is no such interface.
pub(super) fn interface_called(name: &str) -> io::Result<Option<String>> {
    if name.is_empty() || name.len() >= ALT_NAME_MAX {
        return Ok(None);
    }
    let socket = socket(
        AddressFamily::Netlink,
        SockType::Raw,
        SockFlag::SOCK_CLOEXEC,
        SockProtocol::NetlinkRoute,
    )?;
    let fd = socket.as_raw_fd();
    sendto(
        fd,
        &request(name),
        &NetlinkAddr::new(0, 0),
        MsgFlags::empty(),
    )?;
    // This function does not need the rest of the answer.
    let mut answer = [0; HEADER_LEN + INFO_LEN];
    let len = recv(fd, &mut answer, MsgFlags::empty())?;
    let Some(index) = interface_index(&answer[..len]) else {
        return Ok(None);
    };
    match if_indextoname(index) {
        Ok(name) => Ok(name.into_string().ok()),
        // The interface was removed after the kernel had answered.
        Err(Errno::ENXIO | Errno::ENODEV) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Returns the request that asks for the interface with an alternative name.
fn request(name: &str) -> Vec<u8> {
    let attribute = ATTRIBUTE_HEADER_LEN + name.len() + 1;
    let len = HEADER_LEN + INFO_LEN + attribute.next_multiple_of(4);
    let short = |number: usize| u16::try_from(number).unwrap_or(u16::MAX);
    let mut message = Vec::with_capacity(len);
    message.extend(u32::from(short(len)).to_ne_bytes());
    message.extend(libc::RTM_GETLINK.to_ne_bytes());
    message.extend(REQUEST.to_ne_bytes());
    // The other fields are zero: the message number, the sender, and the kind of the interface, for which zero means
    // any kind.
    message.resize(HEADER_LEN + INFO_LEN, 0);
    message.extend(short(attribute).to_ne_bytes());
    message.extend(ALT_NAME.to_ne_bytes());
    message.extend(name.bytes());
    message.resize(len, 0);
    message
}

/// Returns the index of the interface in an answer; `None` if the answer is an error. A kernel without alternative
/// names answers each request with an error.
fn interface_index(answer: &[u8]) -> Option<u32> {
    let kind = u16::from_ne_bytes(answer.get(4..6)?.try_into().ok()?);
    if kind != libc::RTM_NEWLINK {
        return None;
    }
    let index = answer.get(HEADER_LEN + 4..HEADER_LEN + 8)?;
    Some(u32::from_ne_bytes(index.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::interface_called;

    #[test]
    fn a_name_that_no_interface_has_is_none() {
        let long = "x".repeat(200);
        for name in [
            "",
            "no-such-name",
            "a-name-longer-than-fifteen-bytes",
            &long,
        ] {
            assert_eq!(interface_called(name).ok(), Some(None), "{name}");
        }
    }
}
