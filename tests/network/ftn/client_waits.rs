//! Clients that wait for a token: the length of the wait, and the end of their requests.

use std::fs;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use nix::sys::signal::Signal;
use ring_segment::{Test, tests};

use super::client_stand::serve;
use crate::locks::program::Running;

pub(super) fn tests() -> Vec<Test> {
    tests![
        a_client_that_gets_no_token_in_time_returns_its_exit_code,
        a_client_that_gets_sigterm_withdraws_its_request,
        a_ringctl_run_that_gets_sigterm_withdraws_its_request,
        a_client_without_a_server_gets_no_session_and_names_the_addresses,
        a_client_with_another_list_is_told_to_compare_the_lists,
    ]
}

fn a_client_that_gets_no_token_in_time_returns_its_exit_code() -> Result<()> {
    let stand = serve(1)?;
    let _hold = stand.hold(&[], "t")?;
    let held = "holds it exclusively";
    for command in [&["get"][..], &["set"], &["hold"], &["run"]] {
        let work: &[&str] = if command == ["run"] {
            &["--", "true"]
        } else {
            &[]
        };
        stand.expect_failure(1, held, &[command, &["-n", "t"], work].concat())?;
        let limited = [command, &["-w", "0.6", "-E", "9", "t"], work].concat();
        stand.expect_failure(9, held, &limited)?;
    }
    stand.wait_for_waiting("t", 0)
}

fn a_client_that_gets_sigterm_withdraws_its_request() -> Result<()> {
    let stand = serve(1)?;
    let _hold = stand.hold(&[], "t")?;
    for signal in [Signal::SIGTERM, Signal::SIGINT] {
        let mut waits = Running::start(&mut stand.token(&["hold", "t"]))?;
        stand.wait_for_waiting("t", 1)?;
        waits.signal(signal)?;
        waits.expect_code(128 + signal as i32)?;
        let listed = stand.list_entry("t")?;
        let is_empty = listed.is_some_and(|token| token["waiting"] == serde_json::json!([]));
        ensure!(is_empty, "the request remains after the client's end");
    }
    Ok(())
}

fn a_ringctl_run_that_gets_sigterm_withdraws_its_request() -> Result<()> {
    let stand = serve(1)?;
    let _hold = stand.hold(&[], "t")?;
    let mut waits = Running::start(&mut stand.token(&["run", "t", "--", "true"]))?;
    stand.wait_for_waiting("t", 1)?;
    waits.signal(Signal::SIGTERM)?;
    waits.expect_signal(Signal::SIGTERM)?;
    // The client's helper processes are about to withdraw the request.
    stand.wait_for_waiting("t", 0)
}

fn a_client_without_a_server_gets_no_session_and_names_the_addresses() -> Result<()> {
    let stand = serve(1)?;
    let list = stand.file("nobody");
    fs::write(&list, "127.0.0.1:7398\n127.0.0.1:7399\n")?;
    for command in [
        &["get", "-w", "0", "t"][..],
        &["run", "-w", "0", "t", "--", "true"],
    ] {
        let began = Instant::now();
        let output = stand.token_of(&list, command).output()?;
        let took = began.elapsed();
        let errors = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.code() == Some(3), "{output:?}");
        let words = "no answer from 2 servers (127.0.0.1:7398, 127.0.0.1:7399)";
        ensure!(errors.contains(words), "{errors}");
        ensure!(took >= Duration::from_millis(500), "it took {took:?}");
    }
    Ok(())
}

/// Servers do not answer a client with a different list of servers.
fn a_client_with_another_list_is_told_to_compare_the_lists() -> Result<()> {
    let stand = serve(1)?;
    stand.expect_exit(0, &["set", "t", "v"])?;
    let list = stand.file("another");
    let lines = fs::read_to_string(stand.list())?;
    fs::write(&list, format!("{lines}127.0.0.1:7399\n"))?;
    let output = stand.token_of(&list, &["get", "-w", "0", "t"]).output()?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.code() == Some(3), "{output:?}");
    ensure!(
        errors.contains("their list has the same lines") && errors.contains("signature"),
        "{errors}"
    );
    Ok(())
}
