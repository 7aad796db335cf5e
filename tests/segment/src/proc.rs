//! Reads properties of a process from `/proc`.

use std::fmt::Display;
use std::fs;
use std::time::Duration;

use anyhow::{Context, Result};
use nix::unistd::{Pid, SysconfVar, sysconf};

/// Returns the CPU time of a process: the sum of user and system time.
pub fn cpu_time(process: impl Display) -> Result<Duration> {
    let ticks = stat_field::<u32>(&process, 14)? + stat_field::<u32>(&process, 15)?;
    let hertz = sysconf(SysconfVar::CLK_TCK)?.context("the kernel has no clock tick")?;
    Ok(Duration::from_secs(1) * ticks / u32::try_from(hertz)?)
}

/// Returns the nice value of a process, or of a thread `PID/task/TID`.
pub fn nice(process: impl Display) -> Result<i32> {
    stat_field(&process, 19)
}

/// Returns the resident memory of a process, in KiB.
pub fn resident_kib(process: impl Display) -> Result<u64> {
    status_field(process, "VmRSS:")
}

/// Returns a number from the `status` of a process, or of a thread `PID/task/TID`.
pub fn status_field(process: impl Display, name: &str) -> Result<u64> {
    let status = read(&process, "status")?;
    let value = status.lines().find_map(|line| line.strip_prefix(name));
    let number = value.and_then(|value| value.split_whitespace().next());
    Ok(number.with_context(|| format!("no {name}"))?.parse()?)
}

/// Returns the process with this name that the process `parent` has started; `None` if there is no such process.
pub fn child(parent: Pid, name: &str) -> Result<Option<Pid>> {
    for entry in fs::read_dir("/proc").context("cannot list processes")? {
        let file_name = entry?.file_name();
        let Some(pid) = file_name.to_str().and_then(|text| text.parse().ok()) else {
            continue;
        };
        // The process may have ended meanwhile.
        let is_named = fs::read_to_string(format!("/proc/{pid}/comm"))
            .is_ok_and(|comm| comm.trim_end() == name);
        if is_named && stat_field::<i32>(pid, 4).is_ok_and(|it| it == parent.as_raw()) {
            return Ok(Some(Pid::from_raw(pid)));
        }
    }
    Ok(None)
}

/// Returns field `number` of `/proc/PROCESS/stat`. Fields count from 1, as in proc(5).
fn stat_field<T: std::str::FromStr>(process: impl Display, number: usize) -> Result<T> {
    let stat = read(process, "stat")?;
    // The second field, in parentheses, may contain anything.
    let (_, fields) = stat.rsplit_once(')').context("stat has no name")?;
    let field = fields.split_whitespace().nth(number - 3);
    let value = field.and_then(|field| field.parse().ok());
    value.with_context(|| format!("stat has no field {number}"))
}

fn read(process: impl Display, file: &str) -> Result<String> {
    let path = format!("/proc/{process}/{file}");
    fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))
}
