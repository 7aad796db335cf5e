//! The files in which a daemon keeps its state, and its control socket.

use anyhow::{Context, Result, ensure};
use nix::sys::signal::Signal;
use ring_segment::{Layout, Ring, Segment, Test, Timing, WAIT_LIMIT, binaries, limit, tests};
use serde_json::Value;
use std::ffi::OsString;
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::environment::{check_exit, ringd_with_short_times};

pub(super) fn tests() -> Vec<Test> {
    tests![
        a_state_directory_in_which_the_daemon_cannot_write_is_refused,
        a_daemon_survives_a_broken_state_file,
        a_killed_daemon_knows_its_newest_token_again,
        deleted_files_of_a_running_daemon_are_noticed_and_made_again,
        a_control_socket_at_a_relative_path_is_made_again_and_removed_at_the_end,
        files_of_other_users_are_refused_and_not_changed,
        a_stale_socket_of_another_user_is_refused_in_a_directory_in_which_others_may_make_files,
        the_group_can_use_the_socket_with_every_umask,
        a_control_socket_that_cannot_be_made_is_refused,
        a_stale_control_socket_is_replaced,
    ]
}

fn a_state_directory_in_which_the_daemon_cannot_write_is_refused() -> Result<()> {
    let segment = Segment::bridge(1)?;
    // Not even root can make a directory below a file.
    let mut daemon = ringd_with_short_times(segment.node(0))
        .option("--state-dir", "/dev/null/ringd")
        .spawn()?;
    check_exit(&mut daemon, 7, &["/dev/null/ringd", "--state-dir"])
}

fn a_daemon_survives_a_broken_state_file() -> Result<()> {
    let segment = Segment::bridge(1)?;
    let mut daemon = ringd_with_short_times(segment.node(0)).spawn()?;
    daemon.wait_for_status(WAIT_LIMIT, |status| status["state"] == "OWNER")?;
    daemon.kill()?;
    // If this file stayed, the daemon would not lose its state.
    fs::remove_file(daemon.control().with_extension("recent"))?;
    for (name, magic) in [("eth0.state", "RINGST01"), ("eth0.jobs", "RINGJB01")] {
        let path = daemon.state_dir().join(name);
        ensure!(path.is_file(), "there is no {}", path.display());
        fs::write(path, format!("{magic} and no more of a record"))?;
    }
    daemon.start()?;
    daemon.wait_for_line(WAIT_LIMIT, |line| {
        line.contains("is damaged: ringd starts without its contents")
    })?;
    daemon.wait_for_status(WAIT_LIMIT, |status| status["state"] == "OWNER")?;
    Ok(())
}

fn a_killed_daemon_knows_its_newest_token_again() -> Result<()> {
    let segment = Layout::new(2).addresses().bridge()?;
    segment.capture().record_only_broadcasts()?;
    let timing = Timing::stall_tolerant(Duration::from_millis(100)).idle_hold(Duration::ZERO);
    let mut ring = Ring::start_with(segment, 2, timing, binaries(), |ringd| ringd)?;
    ring.wait_until_formed()?;
    let daemon = &ring.daemons[0];
    let [state, recent] = [
        daemon.state_dir().join("eth0.state"),
        daemon.control().with_extension("recent"),
    ];
    daemon.wait_for_status(WAIT_LIMIT, |status| {
        status["counters"]["hand_overs"].as_u64() > Some(2000)
    })?;
    for daemon in &mut ring.daemons {
        daemon.kill()?;
    }
    let newest = newest_progress(&recent, 64)?;
    ensure!(newest > newest_progress(&state, 512)?);
    let daemon = &mut ring.daemons[0];
    daemon.start()?;
    // The daemon writes the token to the state file before it answers, and before it elects itself.
    daemon.wait_for_status(WAIT_LIMIT, |_| true)?;
    ensure!(newest_progress(&state, 512)? >= newest);
    daemon.signal(Signal::SIGTERM)?;
    daemon.wait_exit(WAIT_LIMIT)?;
    ensure!(state.exists() && !recent.exists());
    Ok(())
}

/// Returns the larger progress of the two records in a file. Each record begins with the format, the number of the
/// record, and the number of the node's tokens.
fn newest_progress(path: &Path, second_offset: usize) -> Result<u64> {
    let bytes = fs::read(path)?;
    let progress = |record: usize| -> Result<u64> {
        let field = bytes.get(record + 24..record + 32);
        let field = field.context("the file is too short")?;
        Ok(u64::from_be_bytes(field.try_into()?))
    };
    Ok(u64::max(progress(0)?, progress(second_offset)?))
}

fn deleted_files_of_a_running_daemon_are_noticed_and_made_again() -> Result<()> {
    let segment = Segment::bridge(1)?;
    let daemon = ringd_with_short_times(segment.node(0)).spawn()?;
    let is_fine = |status: &Value| status["state"] == "OWNER" && status["stored"] == true;
    daemon.wait_for_status(WAIT_LIMIT, is_fine)?;
    fs::remove_file(daemon.control())?;
    let is_made_again = |line: &str| line.contains("WARN") && line.contains("control socket");
    daemon.wait_for_line(WAIT_LIMIT, is_made_again)?;
    daemon.wait_for_status(WAIT_LIMIT, is_fine)?;
    fs::remove_dir_all(daemon.state_dir())?;
    daemon.wait_for_status(WAIT_LIMIT, |status| {
        let troubles = status["troubles"].to_string();
        status["stored"] == false && troubles.contains("was removed")
    })?;
    fs::create_dir(daemon.state_dir())?;
    daemon.wait_for_status(WAIT_LIMIT, |status| {
        is_fine(status) && status["troubles"] == serde_json::json!([])
    })?;
    ensure!(fs::read_dir(daemon.state_dir())?.count() == 2);
    Ok(())
}

fn a_control_socket_at_a_relative_path_is_made_again_and_removed_at_the_end() -> Result<()> {
    let segment = Segment::bridge(1)?;
    let folder = tempfile::tempdir_in("/run")?;
    let ringd = ringd_with_short_times(segment.node(0)).option("--control", "c.sock");
    let in_folder = ["sh", "-c", "cd \"$0\" && exec \"$@\""].map(OsString::from);
    let in_folder = in_folder.into_iter().chain([folder.path().into()]);
    let mut daemon = ringd.through(in_folder).spawn()?;
    daemon.wait_for_line(WAIT_LIMIT, |line| line.contains("-> OWNER"))?;
    fs::remove_file(folder.path().join("c.sock"))?;
    daemon.wait_for_line(WAIT_LIMIT, |line| line.contains("has made it again"))?;
    daemon.signal(Signal::SIGTERM)?;
    ensure!(daemon.wait_exit(WAIT_LIMIT)?.success());
    ensure!(fs::read_dir(folder.path())?.count() == 0);
    Ok(())
}

fn files_of_other_users_are_refused_and_not_changed() -> Result<()> {
    let segment = Segment::bridge(1)?;
    let folder = tempfile::tempdir()?;
    let at = |name: &str| folder.path().join(name);
    fs::write(at("precious"), "data")?;
    symlink(at("precious"), at("eth0.state"))?;
    symlink(at("precious"), at("control.sock"))?;
    let start = || ringd_with_short_times(segment.node(0)).option("--state-dir", folder.path());
    let own_state = || ringd_with_short_times(segment.node(0));
    check_exit(&mut start().spawn()?, 9, &["eth0.state", "symbolic link"])?;
    let mut daemon = own_state()
        .option("--control", at("control.sock"))
        .spawn()?;
    check_exit(&mut daemon, 8, &["control.sock", "not a socket"])?;
    fs::remove_file(at("eth0.state"))?;
    fs::hard_link(at("precious"), at("eth0.state"))?;
    check_exit(&mut start().spawn()?, 9, &["eth0.state", "hard link"])?;
    ensure!(fs::read(at("precious"))? == b"data");
    fs::remove_file(at("eth0.state"))?;
    let newer = [&b"RINGST02"[..], &[0; 56]].concat();
    fs::write(at("eth0.state"), &newer)?;
    check_exit(&mut start().spawn()?, 9, &["eth0.state", "newer ringd"])?;
    ensure!(fs::read(at("eth0.state"))? == newer);
    for (name, why) in [
        ("eth0.state", "not a state file"),
        ("eth0.jobs", "not a state file"),
        ("eth0.paused", "not a stored pause"),
    ] {
        for other in ["eth0.state", "eth0.paused", "eth0.jobs"] {
            let _ = fs::remove_file(at(other));
        }
        symlink(at("nothing"), at(name))?;
        check_exit(&mut start().spawn()?, 9, &[name, "symbolic link"])?;
        fs::remove_file(at(name))?;
        fs::write(at(name), "theirs")?;
        let foreign = give_away(&at(name))?;
        check_exit(&mut start().spawn()?, 9, &[name, "user 65534"])?;
        ensure!(foreign.is_as_it_was()?, "{name} was changed");
        drop(foreign);
        fs::remove_file(at(name))?;
        fs::write(at(name), "theirs")?;
        check_exit(&mut start().spawn()?, 9, &[name, why])?;
        ensure!(fs::read(at(name))? == b"theirs", "{name} was changed");
    }
    Ok(())
}

/// A file that belongs to a different user, and its content.
struct Foreign {
    path: PathBuf,
    text: Vec<u8>,
    is_covered: bool,
}

/// Makes a different user the owner of a file. In a user namespace without other users, the function covers the file
/// with a file of the real root instead.
fn give_away(path: &Path) -> Result<Foreign> {
    let is_covered = match chown(path, Some(65534), None) {
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
            let mut mount = Command::new("mount");
            let status = mount.args(["--bind", "/etc/passwd"]).arg(path).status()?;
            ensure!(status.success(), "mount ended with {status}");
            true
        }
        given => {
            given?;
            false
        }
    };
    Ok(Foreign {
        path: path.to_owned(),
        text: fs::read(path)?,
        is_covered,
    })
}

impl Foreign {
    fn is_as_it_was(&self) -> Result<bool> {
        Ok(fs::read(&self.path)? == self.text && fs::metadata(&self.path)?.uid() == 65534)
    }
}

impl Drop for Foreign {
    fn drop(&mut self) {
        if self.is_covered {
            let _ = Command::new("umount").arg(&self.path).status();
        }
    }
}

fn a_stale_socket_of_another_user_is_refused_in_a_directory_in_which_others_may_make_files()
-> Result<()> {
    let segment = Segment::bridge(1)?;
    let folder = tempfile::tempdir()?;
    fs::set_permissions(folder.path(), Permissions::from_mode(0o1777))?;
    let path = folder.path().join("control.sock");
    drop(UnixListener::bind(&path)?);
    let start = || ringd_with_short_times(segment.node(0)).option("--control", &path);
    match chown(&path, Some(65534), None) {
        // This user namespace has no other user.
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {}
        given => {
            given?;
            check_exit(&mut start().spawn()?, 8, &["control.sock", "user 65534"])?;
            ensure!(fs::metadata(&path)?.uid() == 65534, "the file was replaced");
            // If only root can write to a directory, the directory must belong to root.
            fs::set_permissions(folder.path(), Permissions::from_mode(0o755))?;
        }
    }
    let daemon = start().spawn()?;
    let is_owner = |status: &Value| status["state"] == "OWNER";
    daemon.wait_for_line(WAIT_LIMIT, |line| line.contains("-> OWNER"))?;
    let mut status = Command::new(binaries().ringctl);
    status.arg("--socket").arg(&path).args(["status", "--json"]);
    // A daemon on a busy machine may lose the token for a moment.
    limit::wait_until("the daemon owns the token", || {
        let output = status.output().map(|it| it.stdout);
        let status = output.map(|it| serde_json::from_slice(&it));
        status.is_ok_and(|it| it.is_ok_and(|it| is_owner(&it)))
    });
    Ok(())
}

fn the_group_can_use_the_socket_with_every_umask() -> Result<()> {
    let segment = Segment::bridge(1)?;
    for mask in ["077", "000"] {
        let masked = format!("umask {mask}; exec \"$@\"");
        let ringd = ringd_with_short_times(segment.node(0)).through(["sh", "-c", &masked, "sh"]);
        let mut daemon = ringd.spawn()?;
        daemon.wait_for_status(WAIT_LIMIT, |_| true)?;
        let mode = fs::metadata(daemon.control())?.mode();
        ensure!(mode & 0o777 == 0o660, "{mode:o}");
        for entry in fs::read_dir(daemon.state_dir())? {
            let mode = entry?.metadata()?.mode();
            ensure!(mode & 0o777 == 0o600, "{mode:o}");
        }
        daemon.kill()?;
    }
    Ok(())
}

fn a_control_socket_that_cannot_be_made_is_refused() -> Result<()> {
    let segment = Segment::bridge(1)?;
    let mut daemon = ringd_with_short_times(segment.node(0))
        .option("--control", "/dev/null/sock")
        .spawn()?;
    check_exit(&mut daemon, 8, &["/dev/null", "--control"])
}

fn a_stale_control_socket_is_replaced() -> Result<()> {
    let segment = Segment::bridge(1)?;
    let mut daemon = ringd_with_short_times(segment.node(0)).spawn()?;
    daemon.wait_for_status(WAIT_LIMIT, |status| status["state"] == "OWNER")?;
    daemon.kill()?;
    ensure!(daemon.control().exists(), "SIGKILL leaves the socket");
    daemon.start()?;
    daemon.wait_for_status(WAIT_LIMIT, |status| status["state"] == "OWNER")?;
    daemon.signal(Signal::SIGTERM)?;
    ensure!(daemon.wait_exit(WAIT_LIMIT)?.success());
    ensure!(
        !daemon.control().exists(),
        "a clean exit deletes the socket"
    );
    Ok(())
}
