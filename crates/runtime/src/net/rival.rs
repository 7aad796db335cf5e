//! Finds other processes that receive the same frames. Such a process could take a token that is meant for this
//! process.

use std::fs;
use std::os::fd::AsFd;

use nix::sys::stat::fstat;

use super::{Interface, PacketSocket};

/// The kernel's list of packet sockets in the thread's network namespace. Only processes that may send and receive raw
/// frames in this namespace can add a socket to the list.
const SOCKET_LIST: &str = "/proc/thread-self/net/packet";

/// Looks for another packet socket for frames of `ethertype` on the interface, and returns the user of this socket.
/// Returns `None` if there is no such socket. Returns `None` if the list cannot be read.
pub fn rival_socket_user(
    interface: &Interface,
    ethertype: u16,
    own: Option<&PacketSocket>,
) -> Option<u32> {
    let list = fs::read_to_string(SOCKET_LIST).ok()?;
    let own = own.and_then(|own| Some(fstat(own.as_fd()).ok()?.st_ino));
    rival(&list, interface.index, ethertype, own)
}

fn rival(list: &str, index: u32, ethertype: u16, own: Option<u64>) -> Option<u32> {
    let (protocol, index) = (format!("{ethertype:04x}"), index.to_string());
    list.lines().find_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [_, _, _, its_protocol, its_index, _, _, user, inode] = fields[..] else {
            return None;
        };
        let is_rival = its_protocol == protocol && its_index == index;
        let is_own = own.is_some() && inode.parse().ok() == own;
        user.parse().ok().filter(|_| is_rival && !is_own)
    })
}

#[cfg(test)]
mod tests {
    use super::rival;

    const LIST: &str = concat!(
        "sk               RefCnt Type Proto  Iface R Rmem   User   Inode\n",
        "00000000971461c9 3      3    88b5   2     1 0      0      100\n",
        "0000000012345678 3      3    88b5   2     1 0      1000   101\n",
        "0000000087654321 3      3    0003   3     1 0      33     102\n",
    );

    #[test]
    fn another_socket_for_the_same_frames_is_found() {
        assert_eq!(rival(LIST, 2, 0x88b5, None), Some(0));
        assert_eq!(rival(LIST, 2, 0x88b5, Some(100)), Some(1000));
    }

    #[test]
    fn other_frames_and_other_interfaces_are_no_rivals() {
        for (index, ethertype) in [(2, 0x88b6), (3, 0x88b5), (3, 0x0003 + 1)] {
            assert_eq!(rival(LIST, index, ethertype, None), None);
        }
        let own_only = &LIST[..LIST.find("0000000012345678").unwrap_or_default()];
        assert_eq!(rival(own_only, 2, 0x88b5, Some(100)), None);
    }
}
