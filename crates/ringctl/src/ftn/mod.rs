//! `ringctl token`: the client of the token service.
//!
//! Each of the commands `get`, `set`, `hold` and `list` uses one [`Session`], and ends it with a logout. The command
//! `run` uses a keeper, as `ringctl run` does. The keeper starts a granter (`granter`), which owns the session and does
//! the work of a daemon. Start reading with `options.rs`.

mod acquire;
mod busy;
mod client;
mod completion;
mod data;
mod granter;
mod hold;
mod key_file;
mod list;
mod name;
mod nested;
mod options;
mod page;
mod run;
mod stop_signals;

use std::io::{self, Write};

pub(super) use granter::run_granter;
pub(crate) use options::TokenOptions;

use super::Error;
use client::{ServerList, ServiceClient};
use key_file::KeyFile;
use options::TokenCommand;

pub(super) fn execute(options: &TokenOptions, output: &mut impl Write) -> anyhow::Result<u8> {
    let servers = ServerList::read(&options.servers)?;
    for warning in &servers.warnings {
        let _ = writeln!(io::stderr(), "ringctl: {warning}");
    }
    let keys = KeyFile::read(options.key_file.as_deref()).map_err(Error::Usage)?;
    let client = ServiceClient {
        servers,
        timeout: options.client_timeout,
        keys,
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
            let hold = hold::HoldOptions {
                name,
                access,
                until_revoked: *until_revoked,
            };
            hold::hold(&client, acquire, &hold, output)
        }
        TokenCommand::List { json } => list::list(&client, *json, output),
    }
}
