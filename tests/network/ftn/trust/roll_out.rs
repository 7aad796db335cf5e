//! Servers under load get keys, then require signatures, and then replace their key. No server restarts.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use anyhow::{Result, ensure};
use nix::sys::signal::Signal;
use ring_segment::limit::wait_until;
use ring_segment::{Test, check_signers, reload_keys, signing_key, tests};

use super::super::stand::PORT;
use super::{CLIENT_KEY, CLIENTS, KeyStand, SERVERS};
use crate::record::Record;

/// The number of programs that compete for a token.
const PROGRAMS: usize = 2;

pub(super) fn tests() -> Vec<Test> {
    tests![servers_under_load_get_keys_and_replace_their_key_without_a_gap]
}

/// Programs that run under a token again and again.
struct Load {
    log: PathBuf,
    end: PathBuf,
    programs: Vec<Child>,
}

impl Load {
    fn start(stand: &KeyStand, name: &str, key_file: Option<&str>) -> Result<Self> {
        let [log, end, mark] = ["log", "end", "mark"].map(|it| stand.file(&format!("{name}.{it}")));
        fs::write(&log, "")?;
        fs::write(&mark, "")?;
        let work = "exec 9<$1; flock -n 9 && echo run >>$0 || echo overlap >>$0";
        let token = stand.token(key_file, &["run", "-w", "60", "load", "--"]);
        let words = std::iter::once(token.get_program()).chain(token.get_args());
        let words: Vec<_> = words.map(|it| it.to_string_lossy()).collect();
        let again = format!(
            "while [ ! -e {end} ]; do {token} sh -c '{work}' {log} {mark} || echo failed >>{log}; done",
            end = end.display(),
            log = log.display(),
            mark = mark.display(),
            token = words.join(" ")
        );
        let mut load = Self {
            log,
            end,
            programs: Vec::new(),
        };
        for _ in 0..PROGRAMS {
            let mut command = Command::new("sh");
            command.args(["-c", &again]).stdin(Stdio::null());
            command.stdout(Stdio::null()).stderr(Stdio::null());
            let ns = stand.servers.segment().node(CLIENTS).ns();
            load.programs.push(ns.spawn(&mut command)?);
        }
        Ok(load)
    }

    fn runs(&self) -> usize {
        let log = fs::read_to_string(&self.log).unwrap_or_default();
        log.lines().count()
    }

    fn wait_for_runs(&self) {
        let before = self.runs();
        wait_until("another run under the token", || {
            self.runs() > before + PROGRAMS
        });
    }

    /// Ends the programs, and checks that no two runs overlapped.
    fn end(mut self) -> Result<()> {
        self.wait_for_runs();
        fs::write(&self.end, "")?;
        for program in &mut self.programs {
            program.wait()?;
        }
        let log = fs::read_to_string(&self.log)?;
        let is_run = |line: &str| line == "run";
        ensure!(log.lines().all(is_run), "{log}");
        Ok(())
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        let _ = fs::write(&self.end, "");
        for program in &mut self.programs {
            let _ = program.kill();
            let _ = program.wait();
        }
    }
}

/// Changes the files of one server after another, while the programs run.
fn change(stand: &mut KeyStand, load: &Load, keys: &[u8], accepts_unsigned: bool) -> Result<()> {
    for index in 0..SERVERS {
        stand.write_keys(index, keys)?;
        stand.write_config(index, true, accepts_unsigned)?;
        reload_keys(stand.servers.server(index), keys, accepts_unsigned)?;
        load.wait_for_runs();
    }
    stand.wait_for_key(keys[0]).map(drop)
}

fn servers_under_load_get_keys_and_replace_their_key_without_a_gap() -> Result<()> {
    let mut stand = KeyStand::new(SERVERS + 1, &[])?;
    let record = Record::start(stand.servers.segment())?;
    stand.servers.wait_until_served_by(&[0, 1, 2])?;
    let mut old = stand.hold(None, "old")?;
    let load = Load::start(&stand, "unsigned", None)?;
    change(&mut stand, &load, &[1], true)?;
    load.end()?;
    let leader = stand.wait_for_key(1)?;
    let expected = ["client_unsigned", "unsigned_accepted"];
    check_signers(
        stand.servers.server(leader),
        &expected,
        &[("none", 0), ("1", 2)],
    )?;
    // If the token were lost, the program would end with an error.
    old.signal(Signal::SIGTERM)?;
    old.expect_line("returned")?;
    let mut held = stand.hold(Some("client.keys"), "held")?;
    let load = Load::start(&stand, "signed", Some("client.keys"))?;
    change(&mut stand, &load, &[1], false)?;
    let required = ring_segment::now();
    change(&mut stand, &load, &[1, 2], false)?;
    change(&mut stand, &load, &[2, 1], false)?;
    let replaced = ring_segment::now();
    change(&mut stand, &load, &[2], false)?;
    load.end()?;
    let leader = stand.wait_for_key(2)?;
    check_signers(stand.servers.server(leader), &[], &[("none", 0), ("2", 2)])?;
    held.signal(Signal::SIGTERM)?;
    held.expect_line("returned")?;
    held.expect_code(0)?;
    let datagrams = record.datagrams_both_ways(PORT);
    for (since, ring) in [(required, &[1, 2][..]), (replaced, &[2])] {
        let mut sent = datagrams.iter().filter(|sent| sent.at > since).peekable();
        ensure!(sent.peek().is_some(), "there are no datagrams");
        for sent in sent {
            let key = signing_key(&sent.bytes);
            let is_known = |key: u32| key == u32::from(CLIENT_KEY) || ring.contains(&key);
            ensure!(
                key.is_some_and(is_known),
                "not signed with one of {ring:?}: {key:?}, {sent:?}"
            );
        }
    }
    Ok(())
}
