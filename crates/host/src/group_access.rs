//! Lets a group use a file, with a POSIX access control list. The owner of the file need not be a member of the group.
//! So the users of the daemons need not be members, and no daemon can use the monitor socket of another daemon.
//!
//! This module encodes the list itself, because the crates for such lists link a C library.

use std::io;
use std::os::fd::{AsFd, AsRawFd};

use nix::unistd::Gid;
use rustix::fs::{XattrFlags, setxattr};

/// The extended attribute that contains the list.
const ATTRIBUTE: &str = "system.posix_acl_access";
const VERSION: u32 = 2;
const READ_AND_WRITE: u16 = 6;
/// The id in entries that need no id. These are the entries for the owner, for the owner's group, for others, and for
/// the mask.
const NO_ID: u32 = u32::MAX;

/// The kinds of entries, in the kernel's order.
const OWNER: u16 = 0x01;
const OWNING_GROUP: u16 = 0x04;
const NAMED_GROUP: u16 = 0x08;
/// The mask limits the permissions of all groups.
const MASK: u16 = 0x10;
const OTHERS: u16 = 0x20;

/// Lets the owner, the owner's group and `group` read and write a file. The file may be open only as a path (O_PATH).
pub(crate) fn admit(file: impl AsFd, group: Gid) -> io::Result<()> {
    let path = format!("/proc/thread-self/fd/{}", file.as_fd().as_raw_fd());
    Ok(setxattr(
        path,
        ATTRIBUTE,
        &access_list(group),
        XattrFlags::empty(),
    )?)
}

fn access_list(group: Gid) -> Vec<u8> {
    let entries = [
        (OWNER, READ_AND_WRITE, NO_ID),
        (OWNING_GROUP, READ_AND_WRITE, NO_ID),
        (NAMED_GROUP, READ_AND_WRITE, group.as_raw()),
        (MASK, READ_AND_WRITE, NO_ID),
        (OTHERS, 0, NO_ID),
    ];
    let mut list = VERSION.to_le_bytes().to_vec();
    for (kind, permissions, id) in entries {
        list.extend(kind.to_le_bytes());
        list.extend(permissions.to_le_bytes());
        list.extend(id.to_le_bytes());
    }
    list
}
