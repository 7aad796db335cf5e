//! The example of the page: a ring computes digits of pi, and loses no digits when leaders die.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use ring_segment::{Test, WAIT_LIMIT, tests};
use serde_json::Value;

use super::judge::judge;
use super::stand::{Kind, NodeStand};
use crate::recipes::pages::{JITTERBUG, block};

pub(super) fn tests() -> Vec<Test> {
    tests![the_digits_of_pi_continue_although_leaders_are_killed]
        .into_iter()
        .map(Test::without_stalls)
        .collect()
}

/// First digits of pi, from a book.
const PI: &str =
    "3.14159265358979323846264338327950288419716939937510582097494459230781640628620899";

fn the_digits_of_pi_continue_although_leaders_are_killed() -> Result<()> {
    let recipe = block(JITTERBUG, "ringd jitterbug eth0 --compute")?;
    let line = recipe.lines().next().context("no line")?;
    let after = |option: &str| -> Result<String> {
        let (_, rest) = line.split_once(option).context("no such option")?;
        Ok(rest.trim().to_owned())
    };
    let compute = after("--compute")?;
    let compute = compute.trim_start_matches('\'');
    let (compute, rest) = compute
        .split_once('\'')
        .context("the page has no command")?;
    ensure!(rest.trim() == "--decide longer", "{line}");
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts");
    let compute = compute.replace("/usr/local/bin", &scripts.display().to_string());
    let options = [("--compute", compute.as_str()), ("--decide", "longer")];
    let mut stand = NodeStand::new(Kind::Bridge, 3, &options)?;
    stand.wait_for_ring(&[0, 1, 2])?;
    let has =
        |least: usize| move |status: &Value| status["data_len"].as_u64() >= Some(least as u64);
    let mut known = 0;
    for _ in 0..3 {
        stand.node(0).wait_for_status(WAIT_LIMIT, has(known + 60))?;
        let leader = stand.leader_of(&[0, 1, 2])?;
        let status = stand.node(leader).wait_for_status(WAIT_LIMIT, |_| true)?;
        stand.node(leader).kill()?;
        // Only the last step of the killed leader may be lost.
        let reached = status["data_len"].as_u64().context("no length")?;
        known = usize::try_from(reached)? - 10;
        for index in (0..3).filter(|&index| index != leader) {
            stand
                .node(index)
                .wait_for_status(WAIT_LIMIT, has(known + 10))?;
        }
        stand.node(leader).start()?;
        stand.wait_for_ring(&[0, 1, 2])?;
    }
    let digits = stand.node(0).ringctl(&["data", "get", "--raw"])?;
    let digits = String::from_utf8(digits.stdout)?;
    ensure!(digits.len() > known && digits.starts_with(PI), "{digits}");
    ensure!(
        digits == pi(&scripts, digits.len())?,
        "the digits differ from the digits that one machine computes"
    );
    check_shown(&pi(&scripts, 102)?)?;
    let seen = judge(stand.record())?;
    seen.check_data(|data| Ok(data.len() as u64))?;
    ensure!(
        seen.passes
            .iter()
            .all(|pass| digits.as_bytes().starts_with(&pass.data)
                || pass.data.starts_with(digits.as_bytes()))
    );
    Ok(())
}

/// Checks the data in the two outputs that the page shows. The output of `data get` may have fewer digits, because it
/// may be older than the status.
fn check_shown(digits: &str) -> Result<()> {
    let shown = block(JITTERBUG, "$ ringctl -i jitterbug-eth0 data get")?;
    let lines: Vec<&str> = shown.lines().collect();
    let [_, raw, _, page] = lines[..] else {
        anyhow::bail!("{shown}");
    };
    ensure!(digits.starts_with(raw), "{raw}");
    let expected = format!("Data         {} bytes, {}…", digits.len(), &digits[..64]);
    ensure!(page == expected, "{page}, not {expected}");
    Ok(())
}

/// Computes this many digits per run.
fn pi(scripts: &Path, length: usize) -> Result<String> {
    let more = (length - 2).to_string();
    let output = Command::new(scripts.join("pi-digits")).arg(more).output()?;
    ensure!(output.status.success(), "{output:?}");
    Ok(String::from_utf8(output.stdout)?)
}
