//! Enters the sandbox in a helper process. Then tries the calls that an attacker in this process would try.
#![allow(
    unsafe_code,
    reason = "no crate makes system calls that a program must not make"
)]

use std::fs::{self, File, Permissions};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, UdpSocket};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::path::Path;
use std::process::Command;
use std::thread;

use nix::sys::prctl;
use nix::sys::signal::{Signal, raise};
use nix::unistd::{Uid, geteuid, setuid};
use ring_process::capabilities::CapabilitySet;
use ring_process::helper;
use ring_process::sandbox::{Files, Sandbox, take_denied_call};

const NOBODY: u32 = 65534;

/// Returns the sandbox of a ring. The daemon may write in `directory`.
fn sandbox(directory: &Path) -> Sandbox {
    Sandbox {
        capabilities: CapabilitySet::NET_RAW,
        address_families: &[libc::AF_PACKET, libc::AF_UNIX, libc::AF_NETLINK],
        files: Files {
            write: vec![directory.to_owned()],
            ..Files::default()
        },
    }
}

/// Runs `attempts` in a helper process within the sandbox of a ring. The daemon may write in `directory`. Returns the
/// lines that `attempts` returned.
fn in_sandbox(directory: &Path, attempts: impl FnOnce() -> Vec<String>) -> Vec<String> {
    let sandbox = sandbox(directory);
    let helper = helper::start(c"sandboxed", |mut parent: UnixStream| {
        let mut lines: Vec<String> = match sandbox.enter() {
            Ok(missing) => missing.iter().map(|it| format!("{it:?}")).collect(),
            Err(error) => vec![error.to_string()],
        };
        lines.extend(attempts());
        let _ = parent.write_all(lines.join("\n").as_bytes());
    });
    let lines = BufReader::new(helper.unwrap()).lines();
    lines.map(Result::unwrap).collect()
}

fn outcome<T>(name: &str, result: io::Result<T>) -> String {
    let error = result.err().map(|error| error.raw_os_error().unwrap_or(0));
    format!("{name} {error:?}")
}

fn call(number: libc::c_long) -> io::Result<()> {
    // SAFETY: the filter denies the call. Without the filter, a call with these arguments fails or does nothing.
    let done = unsafe { libc::syscall(number, -1, 0, 0, 0, 0, 0) };
    if done < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}

#[test]
fn other_programs_sockets_and_files_are_out_of_reach() {
    let directory = tempfile::tempdir().unwrap();
    let other = tempfile::tempdir().unwrap();
    let (inside, outside) = (directory.path().join("state"), other.path().join("state"));
    fs::write(&outside, "old").unwrap();
    let lines = in_sandbox(directory.path(), || {
        vec![
            outcome("run", Command::new("/bin/true").status()),
            outcome("execve", call(libc::SYS_execve)),
            outcome("ptrace", call(libc::SYS_ptrace)),
            outcome("kill", call(libc::SYS_kill)),
            outcome("unshare", call(libc::SYS_unshare)),
            outcome("mount", call(libc::SYS_mount)),
            outcome("bpf", call(libc::SYS_bpf)),
            outcome("io_uring", call(libc::SYS_io_uring_setup)),
            outcome("UDP", UdpSocket::bind("127.0.0.1:0")),
            outcome("TCP", TcpListener::bind("127.0.0.1:0")),
            outcome("shadow", File::open("/etc/shadow")),
            outcome("other file", File::open(&outside)),
            outcome("write", fs::write(&outside, "new")),
            outcome("remove", fs::remove_file(&outside)),
            outcome("names", File::open("/etc/hosts")),
            outcome("list", File::open("/proc/thread-self/net/packet")),
            outcome("interfaces", fs::read_dir("/sys/class/net").map(drop)),
            outcome("own write", fs::write(&inside, "new")),
            outcome(
                "own move",
                fs::rename(&inside, inside.with_extension("new")),
            ),
            outcome("UNIX", UnixDatagram::unbound()),
            outcome(
                "thread",
                thread::Builder::new()
                    .spawn(|| ())
                    .map(|it| it.join().unwrap()),
            ),
        ]
    });
    let denied = |name: &str, error: i32| format!("{name} {:?}", Some(error));
    let mut expected = vec![denied("run", libc::ENOSYS)];
    for name in [
        "execve", "ptrace", "kill", "unshare", "mount", "bpf", "io_uring", "UDP", "TCP",
    ] {
        expected.push(denied(name, libc::EPERM));
    }
    for name in ["shadow", "other file", "write", "remove"] {
        expected.push(denied(name, libc::EACCES));
    }
    for name in [
        "names",
        "list",
        "interfaces",
        "own write",
        "own move",
        "UNIX",
        "thread",
    ] {
        expected.push(format!("{name} None"));
    }
    assert_eq!(lines, expected);
    assert_eq!(fs::read_to_string(outside).unwrap(), "old");
}

#[test]
fn a_denied_call_is_reported_once() {
    let directory = tempfile::tempdir().unwrap();
    let lines = in_sandbox(directory.path(), || {
        let before = take_denied_call();
        let denied = call(libc::SYS_ptrace);
        let after = [take_denied_call(), take_denied_call()];
        vec![format!("{before:?} {} {after:?}", denied.is_err())]
    });
    let ptrace = libc::SYS_ptrace;
    assert_eq!(lines, [format!("None true [Some({ptrace}), None]")]);
}

/// The calls concern other processes than the daemon. Without the filter, a daemon of root would have the permission
/// for them.
#[test]
fn no_call_signals_or_limits_another_process() {
    let directory = tempfile::tempdir().unwrap();
    let other = std::process::id();
    let file = File::open("/proc/self/status").unwrap();
    let lines = in_sandbox(directory.path(), || {
        let number = libc::c_long::from(other);
        let limit = 0;
        // SAFETY: signal 0 only checks the permission. The kernel writes no limit, because both pointers are null.
        let done = unsafe {
            [
                libc::syscall(libc::SYS_tgkill, number, number, 0),
                libc::syscall(libc::SYS_tkill, number, 0),
                libc::syscall(libc::SYS_prlimit64, number, libc::RLIMIT_CPU, limit, limit),
                libc::c_long::from(libc::fcntl(file.as_raw_fd(), libc::F_SETOWN, other)),
                libc::c_long::from(libc::raise(0)),
            ]
        };
        done.map(|done| done.to_string()).to_vec()
    });
    assert_eq!(lines, ["-1", "-1", "-1", "-1", "0"]);
}

/// Landlock does not limit these calls. Without the filter, a daemon of root could use them to add the set-user-id bit
/// to a shell.
#[test]
fn the_mode_and_owner_of_a_file_do_not_change_by_its_path() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("program");
    fs::write(&path, "").unwrap();
    let lines = in_sandbox(directory.path(), || {
        let set = |mode| Permissions::from_mode(mode);
        let file = File::open(&path).unwrap();
        vec![
            outcome("chmod", fs::set_permissions(&path, set(0o777))),
            outcome("chown", chown(&path, None, Some(0))),
            outcome("set-user-id", file.set_permissions(set(0o4755))),
            outcome("set-group-id", file.set_permissions(set(0o2755))),
            outcome("fchmod", file.set_permissions(set(0o640))),
        ]
    });
    let denied = |name: &str| format!("{name} {:?}", Some(libc::EPERM));
    let mut expected = ["chmod", "chown", "set-user-id", "set-group-id"]
        .map(denied)
        .to_vec();
    expected.push("fchmod None".to_owned());
    assert_eq!(lines, expected);
}

/// A core dump would contain the keys. If a process cannot dump core, its files in `/proc` belong to root.
#[test]
fn the_kernel_makes_no_core_dump() {
    let directory = tempfile::tempdir().unwrap();
    let owner = || fs::metadata("/proc/self/status").unwrap().uid();
    let helper = helper::start(c"sandboxed", |mut parent: UnixStream| {
        if geteuid().is_root() {
            setuid(Uid::from_raw(NOBODY)).unwrap();
        }
        prctl::set_dumpable(true).unwrap();
        let before = owner();
        sandbox(directory.path()).enter().unwrap();
        let _ = write!(parent, "{} {}", before != 0, owner());
    });
    let mut owners = String::new();
    helper.unwrap().read_to_string(&mut owners).unwrap();
    assert_eq!(owners, "true 0");
}

/// `kill -SYS` must not change the registers of a thread that made no denied call.
#[test]
fn a_signal_of_a_person_is_no_denied_call() {
    let directory = tempfile::tempdir().unwrap();
    let lines = in_sandbox(directory.path(), || {
        let sent = raise(Signal::SIGSYS);
        vec![format!("{sent:?} {:?}", take_denied_call())]
    });
    assert_eq!(lines, ["Ok(()) None"]);
}

/// A page of memory that becomes executable would let an attacker add code.
#[test]
fn memory_does_not_become_executable() {
    let directory = tempfile::tempdir().unwrap();
    let lines = in_sandbox(directory.path(), || {
        let protection = libc::PROT_READ | libc::PROT_EXEC;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: the call changes no existing mapping.
        let page = unsafe { libc::mmap(std::ptr::null_mut(), 4096, protection, flags, -1, 0) };
        vec![(page == libc::MAP_FAILED).to_string()]
    });
    assert_eq!(lines, ["true"]);
}
