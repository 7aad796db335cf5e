//! Names of machines in all outputs in which people read addresses.

use std::io::Write;
use std::process::Command;
use std::time::Duration;

use anyhow::{Result, ensure};
use ring_segment::{Test, Timing, tests};

use crate::locks::program::Running;
use crate::locks::{WAIT_LIMIT, connect, form_with, ringctl, wait_until_holder_is_known};

pub(super) fn tests() -> Vec<Test> {
    tests![names_of_the_hosts_file_are_shown_with_each_address]
}

fn names_of_the_hosts_file_are_shown_with_each_address() -> Result<()> {
    let mut hosts = tempfile::NamedTempFile::new()?;
    writeln!(
        hosts,
        "127.0.0.1 localhost\n10.77.0.1 alpha\n10.77.0.2 beta"
    )?;
    let mut mount = Command::new("mount");
    mount.arg("--bind").arg(hosts.path()).arg("/etc/hosts");
    ensure!(mount.status()?.success(), "the hosts file is in place");

    // With this heartbeat a member counts as silent after 3.2 s.
    let mut ring = form_with(2, Timing::stall_tolerant(Duration::from_millis(25)))?;
    let named = format!("{} (beta)", ring.macs()[1]);
    let [alpha, beta] = [0, 1].map(|at| &ring.daemons[at]);
    let once = ["once", "nightly", "--every", "1h", "--", "true"];
    Running::start(&mut ringctl(beta, &once))?.expect_code(0)?;
    let mut holder = connect(beta)?;
    holder.lock("backup")?;
    holder.expect("granted")?;
    wait_until_holder_is_known(alpha, "backup")?;

    let status = alpha.ringctl(&["status"])?;
    let page = String::from_utf8_lossy(&status.stdout).into_owned();
    ensure!(page.contains(&format!("Owner        {named}\n")), "{page}");
    ensure!(page.contains(&format!(" ago on {named}, every")), "{page}");
    let refused = alpha.ringctl(&["run", "-n", "--", "true"])?;
    let errors = String::from_utf8_lossy(&refused.stderr).into_owned();
    ensure!(errors.contains(&format!("held by {named}")), "{errors}");
    let mut watch = Running::start(&mut ringctl(alpha, &["watch"]))?;
    let line = watch.line();
    ensure!(line.contains(&format!(" owner {named}, ")), "{line}");
    let mut again = Running::start(&mut ringctl(alpha, &once))?;
    let errors = again.errors();
    ensure!(errors.contains(&named), "{errors}");
    again.expect_code(0)?;
    holder.unlock()?;

    ring.daemons[1].kill()?;
    ring.daemons[0].wait_for_line(WAIT_LIMIT, |line| {
        line.contains(&named) && line.contains(" is silent")
    })?;
    let check = ring.daemons[0].ringctl(&["status", "--check"])?;
    let line = String::from_utf8_lossy(&check.stdout).into_owned();
    ensure!(line.contains(&named), "{line}");
    Ok(())
}
