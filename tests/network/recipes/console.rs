//! Types the commands of a page into shells, and compares their output with the page.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::LazyLock;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use regex::Regex;

use super::WAIT_LIMIT;

/// Time between two commands. A reader needs at least this time to type a command.
const TYPING_TIME: Duration = Duration::from_millis(500);
/// Line in a page that stands for omitted output.
const LEFT_OUT: &str = "...";

/// A shell that runs the commands of a page, like a terminal of a reader.
pub(super) struct Shell {
    bash: Child,
    input: Option<ChildStdin>,
    output: Receiver<String>,
    /// Output after the last command whose output was compared.
    unread: Vec<String>,
}

impl Shell {
    /// Starts `command`, which must be a bash without arguments.
    pub(super) fn start(command: &mut Command) -> Result<Self> {
        let mut bash = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let output = BufReader::new(bash.stdout.take().context("a pipe")?);
        let (sender, receiver) = channel();
        thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        let mut input = bash.stdin.take().context("a pipe")?;
        input.write_all(b"exec 2>&1\n")?;
        Ok(Self {
            bash,
            input: Some(input),
            output: receiver,
            unread: Vec::new(),
        })
    }

    /// Types lines, and does not check their output.
    pub(super) fn enter(&mut self, lines: &str) -> Result<()> {
        let input = self.input.as_mut().context("the shell has ended")?;
        Ok(input.write_all(format!("{}\n", lines.trim_end()).as_bytes())?)
    }

    /// Waits until each of the lines has appeared, in any order.
    pub(super) fn expect(&mut self, lines: &[&str]) -> Result<()> {
        let deadline = Instant::now() + WAIT_LIMIT;
        let mut missing: Vec<String> = lines.iter().map(|line| pattern(line)).collect();
        let mut seen = std::mem::take(&mut self.unread);
        missing.retain(|wanted| !seen.iter().any(|line| pattern(line) == *wanted));
        while !missing.is_empty() {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.output.recv_timeout(left) {
                Ok(line) => {
                    if let Some(at) = missing.iter().position(|it| *it == pattern(&line)) {
                        missing.remove(at);
                    }
                    seen.push(line);
                }
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    bail!("no output like {missing:#?} in\n{}", seen.join("\n"))
                }
            }
        }
        Ok(())
    }

    /// Waits until all entered foreground commands have ended, and checks that the last command succeeded.
    pub(super) fn finish(&mut self) -> Result<()> {
        self.enter("echo \"exit code $?\"")?;
        self.expect(&["exit code 0"])
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.bash.kill();
        let _ = self.bash.wait();
    }
}

/// Replaces the parts of a line that differ from run to run: tokens, hashes, times, process numbers, and the place of a
/// token that moves.
fn pattern(line: &str) -> String {
    static PATTERNS: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
        let patterns = [
            (r"\d{9,}-[0-9a-f:]{17}-\d+", "TOKEN"),
            (
                r"\bowner (?:[0-9a-f]{2}:){5}[0-9a-f]{2} \(\w+\)",
                "owner MAC (NAME)",
            ),
            (r"(?:\b\d+(?:\.\d+)?(?: ?ms|us| s|[smhd])\b ?)+", "TIME "),
            (r"\b[0-9a-f]{16}\b", "HASH"),
            (r"\b(?:OWNER|WAITER)\b", "STATE"),
            (r"\bis at node\d+", "is at NODE"),
            (r"\(\+\d+\)", "(+N)"),
            // The rows of `scripts/lab status`.
            (r"TOKEN +node\d+ ", "TOKEN NODE "),
            (r"HASH +\d+$", "HASH PID"),
            (r"\s+", " "),
        ];
        let compile = |(pattern, by)| (Regex::new(pattern).expect("valid"), by);
        patterns.into_iter().map(compile).collect()
    });
    let mut line = line.trim().to_owned();
    for (pattern, by) in PATTERNS.iter() {
        line = pattern.replace_all(&line, *by).into_owned();
    }
    line.trim().to_owned()
}

/// Types the commands of a `console` block. A command follows its prompt, such as `$` or `north$`. The lines below a
/// command are its expected output. A command without output must succeed, unless it runs in the background (`&`).
pub(super) fn run(block: &str, shells: &mut BTreeMap<String, Shell>) -> Result<()> {
    let mut lines = block.lines().peekable();
    while let Some(line) = lines.next() {
        let (prompt, command) = split_prompt(line).with_context(|| format!("no prompt: {line}"))?;
        let shell = shells.get_mut(prompt);
        let shell = shell.with_context(|| format!("no shell has the prompt {prompt}$"))?;
        let mut shown = Vec::new();
        while let Some(line) = lines.next_if(|line| split_prompt(line).is_none()) {
            shown.push(line);
        }
        shell.enter(command)?;
        let result = if shown.is_empty() && !command.ends_with('&') {
            shell.finish()
        } else {
            shown.retain(|line| *line != LEFT_OUT);
            shell.expect(&shown)
        };
        result.with_context(|| format!("{prompt}$ {command}"))?;
        thread::sleep(TYPING_TIME);
    }
    Ok(())
}

fn split_prompt(line: &str) -> Option<(&str, &str)> {
    let (prompt, command) = line.split_once("$ ")?;
    let is_name = prompt.chars().all(|c| c.is_ascii_lowercase());
    is_name.then_some((prompt, command))
}
