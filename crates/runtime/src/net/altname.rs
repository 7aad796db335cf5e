//! Other names of interfaces: an interface has one name of at most 15 bytes, and any number of longer ones.

use std::io;
use std::os::fd::AsRawFd;

use nix::errno::Errno;
use nix::net::if_::if_indextoname;
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, recv, sendto, socket,
};

/// The length of a netlink message's header.
const HEADER: usize = 16;
/// The length of what a message about an interface has behind that: a `struct ifinfomsg`.
const INFO: usize = 16;
/// The length of an attribute's header.
const ATTRIBUTE: usize = 4;
/// The attribute that is another name: IFLA_ALT_IFNAME.
const ALT_NAME: u16 = 53;
/// The longest such name, with the zero byte that ends it.
const LONGEST: usize = 128;
/// The flag of a message that asks for something: NLM_F_REQUEST.
const REQUEST: u16 = 1;

/// Returns the name of the interface that has `name` as another name; `None`: there is none.
pub(super) fn interface_called(name: &str) -> io::Result<Option<String>> {
    if name.is_empty() || name.len() >= LONGEST {
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
        &question(name),
        &NetlinkAddr::new(0, 0),
        MsgFlags::empty(),
    )?;
    // The rest of the answer is not needed.
    let mut answer = [0; HEADER + INFO];
    let len = recv(fd, &mut answer, MsgFlags::empty())?;
    let Some(index) = index(&answer[..len]) else {
        return Ok(None);
    };
    match if_indextoname(index) {
        Ok(name) => Ok(name.into_string().ok()),
        // It has just gone.
        Err(Errno::ENXIO | Errno::ENODEV) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Returns the message that asks for the interface of another name.
fn question(name: &str) -> Vec<u8> {
    let attribute = ATTRIBUTE + name.len() + 1;
    let len = HEADER + INFO + attribute.next_multiple_of(4);
    let short = |number: usize| u16::try_from(number).unwrap_or(u16::MAX);
    let mut message = Vec::with_capacity(len);
    message.extend(u32::from(short(len)).to_ne_bytes());
    message.extend(libc::RTM_GETLINK.to_ne_bytes());
    message.extend(REQUEST.to_ne_bytes());
    // No number of the message, no sender, and an interface of any kind.
    message.resize(HEADER + INFO, 0);
    message.extend(short(attribute).to_ne_bytes());
    message.extend(ALT_NAME.to_ne_bytes());
    message.extend(name.bytes());
    message.resize(len, 0);
    message
}

/// Returns the number of the interface that an answer tells of; `None`: it tells of an error, which a kernel that knows no
/// other names has for each.
fn index(answer: &[u8]) -> Option<u32> {
    let kind = u16::from_ne_bytes(answer.get(4..6)?.try_into().ok()?);
    if kind != libc::RTM_NEWLINK {
        return None;
    }
    let index = answer.get(HEADER + 4..HEADER + 8)?;
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
