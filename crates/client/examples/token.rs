//! Acquires a named token of the token service, and adds 1 to a counter. The token's data contain the counter.
//!
//! The usage is `token SERVERS NAME`. For example, while the servers in the file SERVERS run: `token
//! /etc/ringd/ftn.servers counter`

use std::error::Error;
use std::path::Path;
use std::time::Duration;

use ring_client::token::{Access, Session, WaitLimits, read_servers};

const CLIENT_TIMEOUT: Duration = Duration::from_secs(15);

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, list, name] = &arguments[..] else {
        return Err("usage: token SERVERS NAME".into());
    };
    let servers = read_servers(Path::new(list))?;
    let mut session = Session::open(servers, CLIENT_TIMEOUT, "counter")?;
    let limits = WaitLimits::limited(Duration::from_secs(30));
    let grant = session.acquire(name.as_bytes(), Access::Exclusive, limits)?;
    let count: u64 = String::from_utf8(grant.data)?.parse().unwrap_or(0);
    // One call sets the data and releases the token. So no other client gets the token before the data are set.
    let data = (count + 1).to_string();
    session.release(name.as_bytes(), Some(data.as_bytes()))?;
    session.log_out()?;
    println!("{data}");
    Ok(())
}
