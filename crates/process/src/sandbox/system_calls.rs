//! The system calls that a daemon may use after its start-up.
//!
//! The list is for the C libraries glibc and musl, and for the architectures `x86_64` and `aarch64`. The calls with a
//! condition are rare. For a call without a condition, the kernel remembers that the call is permitted, and does not
//! run the filter.

use std::collections::BTreeMap;
use std::env::consts::ARCH;
use std::fmt::Display;
use std::iter;
use std::process;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, apply_filter,
};

use super::denied;

/// Memory, without executable memory.
const MEMORY: [i64; 4] = [
    libc::SYS_brk,
    libc::SYS_madvise,
    libc::SYS_mremap,
    libc::SYS_munmap,
];
/// Threads of this process, and their end. A second filter permits `clone` only for threads.
const THREADS: [i64; 16] = [
    libc::SYS_clone,
    libc::SYS_clone3,
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_futex,
    libc::SYS_getpid,
    libc::SYS_gettid,
    libc::SYS_membarrier,
    libc::SYS_rseq,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sched_getaffinity,
    libc::SYS_sched_yield,
    libc::SYS_set_robust_list,
    libc::SYS_sigaltstack,
];
/// Clocks and timers.
const TIME: [i64; 8] = [
    libc::SYS_clock_getres,
    libc::SYS_clock_gettime,
    libc::SYS_clock_nanosleep,
    libc::SYS_gettimeofday,
    libc::SYS_nanosleep,
    libc::SYS_restart_syscall,
    libc::SYS_timerfd_create,
    libc::SYS_timerfd_settime,
];
/// Values of this process and of the machine.
const VALUES: [i64; 10] = [
    libc::SYS_getcwd,
    libc::SYS_getegid,
    libc::SYS_geteuid,
    libc::SYS_getgid,
    libc::SYS_getpriority,
    libc::SYS_getrandom,
    libc::SYS_getrusage,
    libc::SYS_getuid,
    libc::SYS_sysinfo,
    libc::SYS_uname,
];
/// The wait of the loop and of the threads.
const WAITS: [i64; 7] = [
    libc::SYS_epoll_create1,
    libc::SYS_epoll_ctl,
    libc::SYS_epoll_pwait,
    libc::SYS_epoll_pwait2,
    libc::SYS_eventfd2,
    libc::SYS_ppoll,
    libc::SYS_pselect6,
];
/// Open files, pipes and sockets. `fcntl` has a condition.
const STREAMS: [i64; 11] = [
    libc::SYS_close,
    libc::SYS_dup,
    libc::SYS_dup3,
    libc::SYS_lseek,
    libc::SYS_pipe2,
    libc::SYS_pread64,
    libc::SYS_pwrite64,
    libc::SYS_read,
    libc::SYS_readv,
    libc::SYS_write,
    libc::SYS_writev,
];
/// Sockets. `socket` has a condition.
const SOCKETS: [i64; 14] = [
    libc::SYS_accept4,
    libc::SYS_bind,
    libc::SYS_connect,
    libc::SYS_getpeername,
    libc::SYS_getsockname,
    libc::SYS_getsockopt,
    libc::SYS_listen,
    libc::SYS_recvfrom,
    libc::SYS_recvmmsg,
    libc::SYS_recvmsg,
    libc::SYS_sendmmsg,
    libc::SYS_sendmsg,
    libc::SYS_sendto,
    libc::SYS_setsockopt,
];
/// Files: the state, recordings, histories, the control socket, and the database of the board. The kernel also checks
/// the paths. It does not check the paths of `chmod` and `chown`, so these calls are not in the list. SQLite and the
/// daemons use the forms for open files. The monitor socket needs `setxattr`, because it cannot be opened.
const FILES: [i64; 22] = [
    libc::SYS_faccessat,
    libc::SYS_faccessat2,
    libc::SYS_fadvise64,
    libc::SYS_fallocate,
    libc::SYS_fchown,
    libc::SYS_fdatasync,
    libc::SYS_flock,
    libc::SYS_fstat,
    libc::SYS_fstatfs,
    libc::SYS_fsync,
    libc::SYS_ftruncate,
    libc::SYS_getdents64,
    libc::SYS_linkat,
    libc::SYS_mkdirat,
    libc::SYS_newfstatat,
    libc::SYS_openat,
    libc::SYS_readlinkat,
    libc::SYS_renameat,
    libc::SYS_renameat2,
    libc::SYS_setxattr,
    libc::SYS_statx,
    libc::SYS_unlinkat,
];
const MORE_SOCKET_AND_FILE_CALLS: [i64; 3] =
    [libc::SYS_shutdown, libc::SYS_statfs, libc::SYS_umask];
/// Older forms of the calls above, which `x86_64` still has. musl uses most of them.
#[cfg(target_arch = "x86_64")]
const OLDER_FORMS: [i64; 14] = [
    libc::SYS_accept,
    libc::SYS_access,
    libc::SYS_epoll_wait,
    libc::SYS_link,
    libc::SYS_lstat,
    libc::SYS_mkdir,
    libc::SYS_open,
    libc::SYS_poll,
    libc::SYS_readlink,
    libc::SYS_rename,
    libc::SYS_rmdir,
    libc::SYS_select,
    libc::SYS_stat,
    libc::SYS_unlink,
];
#[cfg(not(target_arch = "x86_64"))]
const OLDER_FORMS: [i64; 1] = [libc::SYS_accept];

/// The requests of `ioctl` for terminals, streams and interfaces. Other requests could write to the terminal of an
/// operator.
#[allow(
    clippy::unnecessary_cast,
    clippy::cast_sign_loss,
    reason = "the C libraries declare the numbers with different types"
)]
const IOCTL_REQUESTS: [u64; 6] = [
    libc::TCGETS as u64,
    libc::FIONREAD as u64,
    libc::FIONBIO as u64,
    libc::SIOCGIFINDEX as u64,
    libc::SIOCGIFMTU as u64,
    libc::SIOCGIFNAME as u64,
];
/// The operation of `fcntl` that sets the owner of a descriptor. The crate does not have this number.
const F_SETOWN_EX: libc::c_int = 15;
/// The operations of `prctl`: the name and the timer slack of a thread, and the names of memory areas.
const PRCTL_OPERATIONS: [libc::c_int; 3] =
    [libc::PR_SET_NAME, libc::PR_SET_TIMERSLACK, libc::PR_SET_VMA];

/// The bits of a file's mode that let a program run as the file's owner or group.
const SET_ID_BITS: u64 = 0o6000;

/// Limits the system calls of the calling thread, and of the threads that it starts later.
pub(super) fn restrict(
    address_families: &[libc::c_int],
    may_load_code: bool,
) -> Result<(), String> {
    let text = |error: &dyn Display| error.to_string();
    denied::handle().map_err(|error| text(&error))?;
    let compile = || {
        let processes = deny_processes()?;
        Ok((processes, permit_list(address_families, may_load_code)?))
    };
    let compiled: Result<_, seccompiler::BackendError> = compile();
    let (processes, list) = compiled.map_err(|error| text(&error))?;
    // The list does not permit another filter, so it comes last.
    let applied = apply_filter(&processes).and_then(|()| apply_filter(&list));
    applied.map_err(|error| text(&error))
}

/// Makes the calls for new processes fail, which would not end with the daemon. The C library blocks all signals around
/// these calls, so a denied call cannot be reported. The filter cannot see the flags of `clone3`. If the kernel does
/// not know this call, the C library uses `clone` for threads.
fn deny_processes() -> Result<BpfProgram, seccompiler::BackendError> {
    let rules = [
        (
            libc::SYS_clone,
            vec![has_bits(0, bits(libc::CLONE_THREAD), 0)?],
        ),
        (libc::SYS_clone3, Vec::new()),
    ];
    let unknown = SeccompAction::Errno(libc::ENOSYS.cast_unsigned());
    let filter = SeccompFilter::new(
        rules.into(),
        SeccompAction::Allow,
        unknown,
        ARCH.try_into()?,
    )?;
    filter.try_into()
}

/// Permits the calls of the lists, and reports all others.
fn permit_list(
    address_families: &[libc::c_int],
    may_load_code: bool,
) -> Result<BpfProgram, seccompiler::BackendError> {
    let lists: [&[i64]; 10] = [
        &MEMORY,
        &THREADS,
        &TIME,
        &VALUES,
        &WAITS,
        &STREAMS,
        &SOCKETS,
        &FILES,
        &MORE_SOCKET_AND_FILE_CALLS,
        &OLDER_FORMS,
    ];
    let mut rules: BTreeMap<_, _> = lists
        .into_iter()
        .flatten()
        .map(|&call| (call, Vec::new()))
        .collect();
    let families = address_families.iter().map(|&family| bits(family));
    rules.insert(libc::SYS_socket, one_of(0, families)?);
    rules.insert(libc::SYS_ioctl, one_of(1, IOCTL_REQUESTS.into_iter())?);
    rules.insert(
        libc::SYS_prctl,
        one_of(0, PRCTL_OPERATIONS.into_iter().map(bits))?,
    );
    // After a panic, a thread ends the process with one of these calls. On musl, all threads but the first use `tkill`
    // with their own number. Then the denied call ends the process, because musl blocks signals around it.
    let own = u64::from(process::id());
    for call in [libc::SYS_tgkill, libc::SYS_tkill] {
        rules.insert(call, one_of(0, iter::once(own))?);
    }
    rules.insert(libc::SYS_prlimit64, one_of(0, iter::once(0))?);
    // The owner of a descriptor gets signals. It may be another process.
    rules.insert(libc::SYS_fcntl, none_of(1, [libc::F_SETOWN, F_SETOWN_EX])?);
    rules.insert(libc::SYS_fchmod, vec![has_bits(1, SET_ID_BITS, 0)?]);
    for call in [libc::SYS_mmap, libc::SYS_mprotect] {
        // The resolver of glibc loads libraries when it first resolves a name.
        let condition = (!may_load_code).then(|| has_bits(2, bits(libc::PROT_EXEC), 0));
        rules.insert(call, condition.transpose()?.into_iter().collect());
    }
    let filter = SeccompFilter::new(
        rules,
        SeccompAction::Trap,
        SeccompAction::Allow,
        ARCH.try_into()?,
    )?;
    filter.try_into()
}

const fn bits(number: libc::c_int) -> u64 {
    number.cast_unsigned() as u64
}

/// Returns the rules that permit these values of an argument.
fn one_of(
    argument: u8,
    values: impl Iterator<Item = u64>,
) -> Result<Vec<SeccompRule>, seccompiler::BackendError> {
    let rule = |value| {
        let condition =
            SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, value)?;
        SeccompRule::new(vec![condition])
    };
    values.map(rule).collect()
}

/// Returns the rule that permits all values of an argument except these.
fn none_of(
    argument: u8,
    values: [libc::c_int; 2],
) -> Result<Vec<SeccompRule>, seccompiler::BackendError> {
    let differs = |value| {
        let length = SeccompCmpArgLen::Dword;
        SeccompCondition::new(argument, length, SeccompCmpOp::Ne, bits(value))
    };
    let conditions: Result<_, _> = values.into_iter().map(differs).collect();
    Ok(vec![SeccompRule::new(conditions?)?])
}

/// Returns the rule that permits the value `bits` of the bits `mask` of an argument.
fn has_bits(argument: u8, mask: u64, bits: u64) -> Result<SeccompRule, seccompiler::BackendError> {
    let comparison = SeccompCmpOp::MaskedEq(mask);
    let condition = SeccompCondition::new(argument, SeccompCmpArgLen::Dword, comparison, bits)?;
    SeccompRule::new(vec![condition])
}
