//! Runs the recipes of `docs/token-service/README.md` and `docs/token-service/use.md` unchanged.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use nix::sys::signal::Signal;
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use ring_segment::{Test, tests};

use super::client_stand::serve;
use crate::locks::program::Running;
use crate::recipes::pages::{TOKENS, TOKENS_USE, block};

pub(super) fn tests() -> Vec<Test> {
    tests![
        a_reader_tries_the_service_on_one_machine,
        an_entry_of_the_cache_is_made_once_and_all_clients_read_it,
        a_shell_completes_the_names_of_tokens,
    ]
}

/// Runs the first block of the page in an empty directory.
fn a_reader_tries_the_service_on_one_machine() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let text = block(TOKENS, "echo 127.0.0.1:7301 >ftn.servers")?;
    let programs = [
        ring_segment::program("ringctl"),
        env!("CARGO_BIN_EXE_ringd"),
    ];
    let folders = programs.map(|program| Path::new(program).parent());
    let [ringctl, ringd] = folders.map(|it| it.unwrap_or(Path::new(".")).display().to_string());
    let path = format!("{ringctl}:{ringd}:{}", std::env::var("PATH")?);
    let output = Command::new("bash")
        .args(["-e", "-c", text])
        .env("PATH", path)
        .current_dir(folder.path())
        .output()?;
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let is_complete = ["fencing number ", "counter ", "nightly "]
        .iter()
        .all(|it| printed.contains(it));
    ensure!(
        output.status.success() && printed.starts_with('1') && is_complete,
        "{output:?}"
    );
    Ok(())
}

fn an_entry_of_the_cache_is_made_once_and_all_clients_read_it() -> Result<()> {
    let stand = serve(1)?;
    let cache = stand.file("cache");
    fs::create_dir(&cache)?;
    let text = block(TOKENS_USE, "#!/bin/sh\n# cached KEY CMD")?;
    let places = [
        ("/etc/ringd/ftn.servers", stand.list()),
        ("/srv/cache", cache.clone()),
    ];
    let text = places.iter().fold(text.to_owned(), |text, (place, here)| {
        text.replace(place, &here.display().to_string())
    });
    let script = stand.file("cached");
    fs::write(&script, text)?;
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755))?;
    let programs = Path::new(ring_segment::program("ringctl")).parent();
    let programs = programs.context("the file is in a directory")?.display();
    let path = format!("{programs}:{}", std::env::var("PATH")?);
    let cached = |arguments: &[&str]| {
        let mut command = Command::new("sh");
        command.arg(&script).args(arguments).env("PATH", &path);
        command
    };

    let failed = cached(&["a", "sh", "-c", "echo half; exit 3"]).output()?;
    ensure!(
        failed.status.code() == Some(3) && !cache.join("a").exists(),
        "{failed:?}"
    );
    let log = stand.file("log");
    let make = format!("echo made >>{}; echo entry", log.display());
    // This holder delays the work until all clients wait for it.
    let gate = stand.hold(&[], "cache/a")?;
    let started = (0..4).map(|_| Running::start(&mut cached(&["a", "sh", "-c", &make])));
    let started: Vec<Running> = started.collect::<Result<_>>()?;
    stand.wait_for_waiting("cache/a", 4)?;
    gate.signal(Signal::SIGTERM)?;
    for mut one in started {
        one.expect_line("entry")?;
        one.expect_code(0)?;
    }
    ensure!(
        fs::read_to_string(&log)? == "made\n",
        "the entry was made more than once"
    );
    let later = cached(&["a", "false"]).output()?;
    ensure!(later.stdout == b"entry\n", "{later:?}");
    Ok(())
}

/// Completes words like an interactive shell that has sourced the script of the page.
fn a_shell_completes_the_names_of_tokens() -> Result<()> {
    let stand = serve(2)?;
    for name in ["build/cache", "build/docs", "nightly"] {
        stand.expect_exit(0, &["set", name, "x"])?;
    }
    let programs = Path::new(ring_segment::program("ringctl")).parent();
    let programs = programs.context("the file is in a directory")?.display();
    let source = block(TOKENS_USE, "source <(RINGCTL_COMPLETE=bash ringctl)")?;
    let list = stand.list();
    let completes = |words: &str| -> Result<String> {
        let script = format!(
            "{source}\nCOMP_WORDS=({words}) COMP_TYPE=9\nCOMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))\n\
             _clap_complete_ringctl ringctl \"${{COMP_WORDS[COMP_CWORD]}}\"\necho \"${{COMPREPLY[@]}}\""
        );
        let mut bash = Command::new("bash");
        bash.args(["-c", &script])
            .env("PATH", format!("{programs}:{}", std::env::var("PATH")?));
        let output = bash.output()?;
        ensure!(output.stderr.is_empty(), "{output:?}");
        Ok(String::from_utf8(output.stdout)?.trim_end().to_owned())
    };
    let list = list.display();
    let completions = completes(&format!("ringctl token --servers {list} get bu"))?;
    ensure!(completions == "build/cache build/docs", "{completions}");
    let completions = completes(&format!("ringctl token --servers {list} run --shared n"))?;
    ensure!(completions == "nightly", "{completions}");
    // A pipe can be read only once, so completion must not read it or wait for its writer.
    let pipe = stand.file("pipe");
    mkfifo(&pipe, Mode::S_IRUSR | Mode::S_IWUSR)?;
    let completions = completes(&format!(
        "ringctl token --servers {} get bu",
        pipe.display()
    ))?;
    ensure!(completions.is_empty(), "{completions}");
    // If no server answers, completion prints nothing and does not wait for long.
    let nobody = stand.file("nobody");
    fs::write(&nobody, "127.0.0.1:9\n")?;
    let completions = completes(&format!(
        "ringctl token --servers {} get bu",
        nobody.display()
    ))?;
    ensure!(completions.is_empty(), "{completions}");
    Ok(())
}
