//! A file that all machines share. In this test two namespaces share a folder. In practice machines use NFS.

use std::fs;

use anyhow::Result;

use crate::fencing::machines::{Machines, check_late_writer, is_stale};
use crate::recipes::pages::{FENCE_FILE, block};

pub(super) fn a_shared_file_refuses_a_late_writer() -> Result<()> {
    let machines = Machines::new()?;
    let srv = machines.path("srv");
    fs::create_dir(&srv)?;
    let recipe = block(FENCE_FILE, "ringctl run -- sh -c")?.trim_end();
    let recipe = recipe.replace("/srv", &srv.display().to_string());
    let (acquire, work) = recipe.split_at(recipe.find("sh -c").unwrap_or_default());
    let write = |machine, token: Option<&str>, text: &str| {
        // The page's command writes the date, but the test needs a known text.
        let text = format!("printf %s {text}");
        let line = match token {
            None => format!("{acquire}{}", work.replace("date", &text)),
            Some(_) => work.replace("date", &text),
        };
        let mut shell = machines.command(machine, &["sh", "-c", &line])?;
        machines.run(
            machine,
            shell.envs(token.map(|token| ("RINGD_TOKEN", token))),
        )
    };
    let read = || Ok(fs::read_to_string(srv.join("report"))?);
    check_late_writer(&machines, write, read, is_stale)
}
