//! Starts a node.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use ring_host::{History, Host, NodeHealth, Onlookers, Program};
use ring_process::{rights, runtime_directory};
use ring_proto::andrews::{Andrews, OptionsError};
use ring_runtime::driver::{Driver, NoStore, datagrams};
use ring_runtime::random;
use tracing::info;

use super::audience::Audience;
use super::elsewhere::warn_of_files;
use super::link;
use super::system::{Node, Surroundings};
use super::web::Web;
use crate::database::{Complaint, Setting, Url, Worker};
use crate::error::Error;
use crate::http::{Clients, Replies};
use crate::list::List;
use crate::observe::Log;
use crate::options::{DATABASE, EARLIER, Options};
use crate::posts::Desk;

const PROGRAM: Program = Program("ring-board");
/// What is said to clients of the control socket who ask for more than a node tells.
const REFUSAL: &str = "a node of a board is asked for its status and its events alone";
/// Why a URL with a password is refused.
const PASSWORD: &str = "--database has a password, which 'ps' shows to everybody: leave it out, and give it in PGPASSFILE, \
     ~/.pgpass, PGPASSWORD or the systemd credential database-password; ring-board --help says more";
/// Room for a datagram: what round the ring is longer travels on connections, and is told from what was cut.
const ROOM: usize = datagrams::MAX_DATAGRAM;

/// Runs a node until it has shut down on request.
///
/// # Errors
/// It could not start, or a system call failed that does not fail on a healthy system.
pub fn run(options: &Options) -> Result<(), ring_host::Error> {
    if options.database.has_password() {
        return Err(ring_host::Error::Usage(PASSWORD.to_owned()));
    }
    let list = List::read(&options.nodes);
    let list = list.map_err(|error| ring_host::Error::Usage(error.to_string()))?;
    let own = options.of_machine();
    own.check(list.nodes()).map_err(unusable)?;
    let place = list.line(options.id);
    let place = place.ok_or_else(|| unusable(OptionsError::NotInList(options.id)))?;
    let bound = link::bind(place.ring, options.liveness);
    let link = bound.map_err(|(what, source)| Error::Bind {
        address: place.ring,
        what,
        id: options.id,
        list: options.nodes.clone(),
        source,
    })?;
    let (address, desk) = (
        options.http.unwrap_or(place.http),
        Arc::new(Desk::default()),
    );
    let (names, clients) = (options.http_names.clone(), Clients::new(options.post_rate));
    let web =
        Web::bind(address, names, clients, Arc::clone(&desk)).map_err(|source| Error::Bind {
            address,
            what: "HTTP",
            id: options.id,
            list: options.nodes.clone(),
            source,
        })?;
    try_file(options)?;
    let seed = random().map_err(ring_host::Error::system("draw a random number"))?;
    let machine = Andrews::new(own, list.nodes().clone(), seed).map_err(unusable)?;
    rights::keep(rights::PORTS | rights::FILES)
        .map_err(ring_host::Error::system("give up capabilities"))?;
    let host = Host::start(
        PROGRAM,
        &options.control_path(),
        options.log_format,
        options.verbose,
    )?;
    say_start(options, &list, place.ring);
    warn_of_files(&options.database, &list);
    let complaint = Arc::new(Complaint::default());
    let node = Node {
        around: Surroundings {
            link,
            health: NodeHealth::new(PROGRAM, "datagrams"),
            late_wake_ups: 0,
            complaint: Arc::clone(&complaint),
        },
        store: NoStore,
        audience: Audience {
            log: Log::new(options.verbose),
            history: History::new(host.started()),
            replies: Replies::new(),
            has_news: false,
        },
        onlookers: Onlookers::new(REFUSAL),
        worker: Some(Worker::new(Setting {
            url: options.database.clone(),
            timeout: options.database_timeout,
            own: options.id,
            lines: list.lines().to_vec(),
            desk,
            feed: web.listeners(),
            complaint,
        })),
        web,
    };
    let received = datagrams::receive_batch(ROOM);
    let transmit = datagrams::transmit_batch(ROOM);
    host.run(Driver::with_batches(machine, received, transmit), node)
}

fn unusable(error: OptionsError) -> ring_host::Error {
    ring_host::Error::Usage(format!("{error}; ring-board --help says more"))
}

/// A file that cannot be used now never can be: better to say so than to wait for it. A server may come.
fn try_file(options: &Options) -> Result<(), Error> {
    let Url::Sqlite(path) = &options.database else {
        return Ok(());
    };
    let (old, new) = (Path::new(EARLIER), Path::new(DATABASE));
    if path == new && old.exists() && !new.exists() {
        return Err(Error::Moved);
    }
    let made = path.parent().map_or(Ok(()), |folder| {
        runtime_directory::make_directory(folder, 0o755)
    });
    let opened = made.map_err(|error| error.to_string()).and_then(|()| {
        let opened = options.database.open(options.database_timeout);
        opened.map(drop).map_err(|fault| fault.to_string())
    });
    opened.map_err(|why| Error::Database {
        url: options.database.to_string(),
        why,
    })
}

fn say_start(options: &Options, list: &List, address: SocketAddr) {
    let (version, id) = (env!("CARGO_PKG_VERSION"), options.id);
    let (nodes, database) = (list.lines().len(), &options.database);
    info!(
        event = "started", version, node = id, %address, nodes, %database,
        "ring-board {version}, node {id} of {nodes}, at {address}, with {database}"
    );
}
