//! Sends requests to a running daemon; `ringctl --help` lists the commands.

#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    ringctl::run_process()
}
