//! `ringctl token` without faults, and its exit codes.

use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use nix::sys::signal::Signal;
use ring_segment::{Test, tests};
use serde_json::Value;

use super::client_stand::{ClientStand, hex, serve, serve_with};
use crate::locks::program::Running;

pub(super) fn tests() -> Vec<Test> {
    tests![
        an_exclusive_token_has_one_holder_and_fencing_numbers_grow,
        a_shared_token_has_several_holders_and_excludes_exclusive_ones,
        data_are_read_back_byte_for_byte,
        data_that_are_too_long_are_refused,
        a_command_gets_the_tokens_data_and_ringctl_returns_its_exit_code,
        a_command_that_waits_for_its_own_token_is_refused,
        a_holder_with_the_option_gives_way_when_another_client_waits,
        all_tokens_of_all_servers_are_listed,
        a_holder_is_named_with_its_machine_its_label_and_its_process,
        watch_shows_a_grant_and_a_return_of_a_token,
        the_name_of_a_token_may_have_any_bytes,
        programs_of_the_library_lose_no_update,
    ]
}

fn an_exclusive_token_has_one_holder_and_fencing_numbers_grow() -> Result<()> {
    let stand = serve(1)?;
    let mut hold = Running::start(&mut stand.token(&["hold", "t"]))?;
    let line = hold.line();
    let first: u64 = line
        .strip_prefix("granted ")
        .context("the token is granted")?
        .parse()?;
    stand.expect_failure(1, "holds it exclusively", &["run", "-n", "t", "--", "true"])?;
    stand.expect_failure(1, "not granted in time", &["get", "-n", "t"])?;
    stand.expect_exit(0, &["run", "-n", "other", "--", "true"])?;
    hold.signal(Signal::SIGTERM)?;
    hold.expect_line("returned")?;
    hold.expect_code(0)?;
    let script = "echo $RINGD_TOKEN";
    let later = stand.expect_exit(0, &["run", "-n", "t", "--", "sh", "-c", script])?;
    let later: u64 = String::from_utf8(later)?.trim().parse()?;
    ensure!(later > first, "{later} after {first}");
    // The first command has already released the token.
    stand.expect_exit(0, &["run", "-n", "t", "--", "true"])?;
    Ok(())
}

fn a_shared_token_has_several_holders_and_excludes_exclusive_ones() -> Result<()> {
    let stand = serve(1)?;
    let _first = stand.hold(&["--shared"], "t")?;
    let _second = stand.hold(&["--shared"], "t")?;
    stand.expect_exit(0, &["run", "--shared", "-n", "t", "--", "true"])?;
    stand.expect_failure(4, "no data", &["get", "-n", "t"])?;
    stand.expect_failure(1, "share it", &["set", "-n", "t", "x"])?;
    Ok(())
}

fn set_input(stand: &ClientStand, data: &[u8], arguments: &[&str]) -> Result<Option<i32>> {
    let mut set = stand.token(arguments).stdin(Stdio::piped()).spawn()?;
    let mut input = set.stdin.take().context("the stream is piped")?;
    // The command may stop reading if the input is too long.
    let _ = input.write_all(data);
    drop(input);
    Ok(set.wait()?.code())
}

fn data_are_read_back_byte_for_byte() -> Result<()> {
    let stand = serve(1)?;
    stand.expect_failure(4, "t has no data", &["get", "t"])?;
    let all: Vec<u8> = (0..=255).cycle().take(32 * 1024).collect();
    for arguments in [&["set", "t"][..], &["set", "t", "-"]] {
        for data in [&all[..], b"\n", &all[..256]] {
            ensure!(set_input(&stand, data, arguments)? == Some(0));
            ensure!(
                stand.expect_exit(0, &["get", "t"])? == data,
                "{} bytes",
                data.len()
            );
        }
    }
    // The command refuses empty data, because they would look like lost data.
    stand.expect_exit(0, &["set", "t", ""])?;
    stand.expect_failure(4, "t has no data", &["get", "t"])?;
    stand.expect_exit(0, &["set", "t", "--", "--words, as they are"])?;
    ensure!(stand.expect_exit(0, &["get", "t"])? == b"--words, as they are");
    Ok(())
}

fn data_that_are_too_long_are_refused() -> Result<()> {
    let stand = serve(1)?;
    stand.expect_exit(0, &["set", "t", "old"])?;
    let long = vec![b'x'; 32 * 1024 + 1];
    ensure!(set_input(&stand, &long, &["set", "t"])? == Some(2));
    let text = String::from_utf8(long)?;
    stand.expect_failure(2, "at most 32,768 bytes", &["set", "t", &text])?;
    stand.expect_exit(0, &["set", "u", &text[1..]])?;
    ensure!(stand.expect_exit(0, &["get", "t"])? == b"old");
    Ok(())
}

fn a_command_gets_the_tokens_data_and_ringctl_returns_its_exit_code() -> Result<()> {
    let stand = serve(1)?;
    let all: Vec<u8> = (0..=255).cycle().take(32 * 1024).collect();
    ensure!(set_input(&stand, &all, &["set", "t"])? == Some(0));
    let data = stand.expect_exit(
        7,
        &["run", "t", "--", "sh", "-c", "echo $RINGD_DATA; exit 7"],
    )?;
    let expected = hex(&all);
    ensure!(
        String::from_utf8(data)?.trim() == expected,
        "the output is not the token's data"
    );
    stand.expect_exit(126, &["run", "t", "--", "/etc/passwd"])?;
    stand.expect_exit(127, &["run", "t", "--", "/no/such/command"])?;
    stand.expect_exit(137, &["run", "t", "--", "sh", "-c", "kill -KILL $$"])?;
    Ok(())
}

fn a_command_that_waits_for_its_own_token_is_refused() -> Result<()> {
    let stand = serve(1)?;
    let list = stand.list();
    let list = list.to_str().context("a plain path")?;
    let ringctl = ring_segment::program("ringctl");
    for (outer, inner, code) in [
        (&["run"][..], "get t", 1),
        (&["run"], "run t -- true", 1),
        (&["run", "--shared"], "set t x", 1),
        (&["run", "--shared"], "run --shared t -- true", 0),
        (&["run"], "set u x", 0),
    ] {
        let line = format!("{ringctl} token --servers {list} {inner}");
        let arguments = [outer, &["t", "--", "sh", "-c", &line]].concat();
        let output = stand.output(&arguments)?;
        let errors = String::from_utf8_lossy(&output.stderr);
        let is_told = errors.contains("would wait for its own end");
        let is_so = output.status.code() == Some(code) && is_told == (code == 1);
        ensure!(is_so, "{outer:?} {inner}: {output:?}");
    }
    Ok(())
}

fn a_holder_with_the_option_gives_way_when_another_client_waits() -> Result<()> {
    let stand = serve(1)?;
    let mut gives_way = stand.hold(&["--until-revoked"], "t")?;
    stand.expect_exit(0, &["run", "t", "--", "true"])?;
    gives_way.expect_line("returned")?;
    gives_way.expect_code(0)?;
    let mut stays = stand.hold(&[], "t")?;
    stand.expect_exit(1, &["run", "-w", "1", "t", "--", "true"])?;
    stays.signal(Signal::SIGINT)?;
    stays.expect_line("returned")?;
    stays.expect_code(0)
}

fn all_tokens_of_all_servers_are_listed() -> Result<()> {
    let stand = serve(3)?;
    for number in 0..40 {
        stand.expect_exit(0, &["set", &format!("token-{number:02}"), "some data"])?;
    }
    let _holder = stand.hold(&[], "token-07")?;
    let _waits = Running::start(&mut stand.token(&["hold", "token-07"]))?;
    stand.wait_for_waiting("token-07", 1)?;
    let _sharer = stand.hold(&["--shared"], "shared")?;
    let listed: Value = serde_json::from_slice(&stand.expect_exit(0, &["list", "--json"])?)?;
    let listed = listed.as_array().context("an array")?;
    ensure!(listed.len() == 41, "{listed:?}");
    for token in listed {
        let keys: Vec<_> = token.as_object().context("an object")?.keys().collect();
        let known = [
            "access", "bytes", "holders", "name", "programs", "server", "waiting",
        ];
        ensure!(keys.iter().all(|key| known.contains(&key.as_str())) && keys.len() == 7);
    }
    let servers: std::collections::BTreeSet<_> = listed
        .iter()
        .filter_map(|token| token["server"].as_u64())
        .collect();
    ensure!(servers.iter().eq(&[0, 1, 2]), "{servers:?}");
    let held = stand
        .list_entry("token-07")?
        .context("the token is listed")?;
    ensure!(held["access"] == -1 && held["bytes"] == 9, "{held}");
    ensure!(
        held["holders"].as_array().is_some_and(|all| all.len() == 1),
        "{held}"
    );
    let output = stand.token(&["list"]).output()?;
    let errors = String::from_utf8_lossy(&output.stderr);
    let doubt = "ringctl: with --quorum 1 of 3 servers, both sides of a split network may grant the same token";
    ensure!(
        output.status.success() && errors.starts_with(doubt),
        "{output:?}"
    );
    let page = String::from_utf8(output.stdout)?;
    ensure!(page.lines().count() == 42, "{page}");
    let line = |name: &str| {
        page.lines()
            .find(|line| line.starts_with(name))
            .unwrap_or("")
    };
    ensure!(line("token-07").contains("exclusive"), "{page}");
    ensure!(
        line("token-08").contains("free") && line("shared").contains(" shared "),
        "{page}"
    );
    Ok(())
}

fn a_holder_is_named_with_its_machine_its_label_and_its_process() -> Result<()> {
    let mut stand = serve_with(3, Duration::from_secs(4))?;
    let mut run = Running::start(&mut stand.token(&["run", "backup", "--", "sleep", "1000"]))?;
    let name = format!("sleep (process {}) on 127.0.0.1", run.pid());
    let _other = stand.hold(&["--label", "by hand", "--shared"], "other")?;
    stand.wait_for_page(|page| page.contains(&name) && page.contains("by hand (process "))?;
    stand.expect_failure(
        1,
        &format!("{name} (localhost) holds it exclusively"),
        &["run", "-n", "backup", "--", "true"],
    )?;
    // The server that takes the token over reports the same holder.
    let server = stand.list_entry("backup")?.context("the token is listed")?["server"].as_u64();
    let server = server.context("the list names the token's server")?;
    stand.kill_server(usize::try_from(server)?)?;
    stand.wait_for_page(|page| page.contains(&name))?;
    run.signal(Signal::SIGTERM)?;
    run.wait()?;
    Ok(())
}

fn watch_shows_a_grant_and_a_return_of_a_token() -> Result<()> {
    let stand = serve(1)?;
    stand.expect_exit(0, &["set", "press", ""])?;
    let mut watch = Command::new(ring_segment::program("ringctl"));
    watch.arg("--socket").arg(stand.file("ftn-0.sock"));
    let mut watch = Running::start(watch.arg("watch"))?;
    ensure!(!watch.line().is_empty(), "{}", watch.errors());
    stand.expect_exit(0, &["run", "--label", "nightly", "press", "--", "true"])?;
    let mut sees = |words: &str| loop {
        let line = watch.line();
        ensure!(!line.is_empty(), "no {words:?}: {}", watch.errors());
        if line.contains(words) {
            return Ok(line);
        }
    };
    let granted = sees("holds the token 'press' with number ")?;
    let session = granted
        .split("session ")
        .nth(1)
        .context("the holder is named")?;
    let session = session
        .split(' ')
        .next()
        .context("the event has a number")?;
    let introduced = sees("is nightly (process ")?;
    ensure!(
        introduced.contains(&format!("session {session} ")),
        "{introduced}"
    );
    let returned = sees("has returned the token 'press' with number ")?;
    ensure!(returned.contains("nightly (process "), "{returned}");
    ensure!(
        returned.contains(&format!("session {session} ")),
        "{returned}"
    );
    Ok(())
}

fn the_name_of_a_token_may_have_any_bytes() -> Result<()> {
    let stand = serve(1)?;
    let long = "x".repeat(1024);
    for name in [long.as_str(), "two\nlines", " "] {
        stand.expect_exit(0, &["set", name, name])?;
        ensure!(
            stand.expect_exit(0, &["get", name])? == name.as_bytes(),
            "{name:?}"
        );
    }
    let page = String::from_utf8(stand.expect_exit(0, &["list"])?)?;
    ensure!(page.contains("two\\nlines"), "{page}");
    stand.expect_failure(2, "1025 bytes are too many", &["get", &"x".repeat(1025)])?;
    stand.expect_failure(2, "at least one byte", &["get", ""])?;
    let gone = stand.file("nowhere");
    let output = stand.token_of(&gone, &["list"]).output()?;
    ensure!(output.status.code() == Some(2), "{output:?}");
    fs::write(&gone, "127.0.0.1\n")?;
    let output = stand.token_of(&gone, &["list"]).output()?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(
        output.status.code() == Some(2) && errors.contains("line 1"),
        "{output:?}"
    );
    Ok(())
}

fn programs_of_the_library_lose_no_update() -> Result<()> {
    let stand = serve(2)?;
    let start = |_| {
        Command::new(ring_segment::program("examples/token"))
            .arg(stand.list())
            .arg("counter")
            .stdout(Stdio::piped())
            .spawn()
    };
    let started: Vec<_> = (0..4).map(start).collect::<Result<_, _>>()?;
    let mut counted = Vec::new();
    for child in started {
        let output = child.wait_with_output()?;
        ensure!(output.status.success(), "{output:?}");
        counted.push(String::from_utf8(output.stdout)?);
    }
    counted.sort();
    ensure!(counted == ["1\n", "2\n", "3\n", "4\n"], "{counted:?}");
    Ok(())
}
