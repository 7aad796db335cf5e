//! What `ringctl` does as a client of the token service: `ringctl token`.
//!
//! `get`, `set`, `hold` and `list` are one [`Session`] each, which ends with a logout. `run` is a keeper's work as that of
//! `ringctl run` is; in the daemon's place the keeper has a process of its own, `granter`, with the session.

mod acquiring;
mod client;
mod completion;
mod data;
mod granter;
mod hold;
mod holders;
mod list;
mod listing;
mod name;
mod nested;
mod options;
mod run;
mod stop;

use std::io::{self, Write};

pub(super) use granter::grant;
pub(crate) use options::TokenOptions;

use client::{Client, ServerList};
use options::TokenCommand;

/// Carries a command out, prints to `output`, and returns the process's exit code.
///
/// # Errors
/// An [`Error`](super::Error), or that `output` takes nothing.
pub(super) fn carry_out(options: &TokenOptions, output: &mut impl Write) -> anyhow::Result<u8> {
    let servers = ServerList::read(&options.servers)?;
    for doubt in &servers.doubts {
        let _ = writeln!(io::stderr(), "ringctl: {doubt}");
    }
    let client = Client {
        servers,
        timeout: options.client_timeout,
    };
    match &options.command {
        TokenCommand::Run(run) => Ok(run::run(&client, run)?),
        TokenCommand::Get { acquire, name } => data::get(&client, acquire, name, output),
        TokenCommand::Set {
            acquire,
            name,
            data,
        } => Ok(data::set(&client, acquire, name, data.as_deref())?),
        TokenCommand::Hold {
            acquire,
            shared,
            until_revoked,
            name,
        } => {
            let access = options::access(*shared);
            let hold = hold::Hold {
                name,
                access,
                until_revoked: *until_revoked,
            };
            hold::hold(&client, acquire, &hold, output)
        }
        TokenCommand::List { json } => list::list(&client, *json, output),
    }
}
