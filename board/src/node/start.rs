//! The start of a node.

use std::env;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use ring_config::Configured;
use ring_host::trust::RefusedMessages;
use ring_host::{History, Host, NodeHealth, Onlookers, Program, readable_directories};
use ring_process::sandbox::{Files, IP_FAMILIES, Sandbox};
use ring_process::{capabilities, runtime_directory};
use ring_proto::andrews::{Andrews, OptionsError};
use ring_runtime::driver::{Driver, NoStore, datagrams};
use ring_runtime::random;
use tracing::info;

use super::file_warning::warn_if_file_is_local;
use super::link;
use super::observer::EventObserver;
use super::page::PageCalls;
use super::system::{Node, StatusSources};
use crate::database::{CurrentFault, Url, Worker, WorkerOptions};
use crate::error::Error;
use crate::events;
use crate::http::{Clients, Login, PageRules, Password, ReplySenders};
use crate::list::List;
use crate::observe::Log;
use crate::options::{DEFAULT_DATABASE, EARLIER_DATABASE, Options};
use crate::posts::PendingRequests;

pub(super) const PROGRAM: Program = Program("ring-board");
/// The control socket's answer to a request that this system does not support.
const REQUEST_REFUSAL: &str =
    "a node of the board answers only requests for its status and its events";
/// The refusal of a URL that contains a password.
pub(super) const PASSWORD_REFUSAL: &str = "--database contains a password, which ps shows to every user: \
     remove the password from the URL, and use PGPASSFILE, ~/.pgpass, PGPASSWORD or the systemd credential \
     database-password; see ring-board --help";
/// The size of a datagram's buffer. Longer messages travel on connections. The kernel truncates a longer datagram, and
/// the node recognizes the truncated datagram as too long.
const DATAGRAM_BYTES_MAX: usize = datagrams::MAX_DATAGRAM;

/// Runs a node until its requested shutdown is complete.
///
/// # Errors
/// Returns an error if the node cannot start, or if a system call fails that never fails on a healthy system.
pub fn run(configured: Box<Configured<Options>>) -> Result<(), ring_host::Error> {
    let options = configured.options();
    options.keys.check()?;
    if options.database.has_password() {
        return Err(ring_host::Error::Usage(PASSWORD_REFUSAL.to_owned()));
    }
    let list = List::read(&options.nodes);
    let list = list.map_err(|error| ring_host::Error::Usage(error.to_string()))?;
    let own = options.node_options();
    own.check(list.nodes()).map_err(usage_error)?;
    let line = list.line(options.id);
    let line = line.ok_or_else(|| usage_error(OptionsError::NotInList(options.id)))?;
    let address = options.http.unwrap_or(line.http);
    let rules = PageRules {
        names: options.http_names.clone(),
        login: login(options, address)?,
        is_behind_proxy: options.http_proxy,
    };
    let trust = options
        .keys
        .trust()
        .map_err(|error| ring_host::Error::Usage(error.to_string()))?;
    let bound = link::bind(line.ring, options.liveness);
    let mut link = bound.map_err(|(what, source)| Error::Bind {
        address: line.ring,
        what,
        id: options.id,
        list: options.nodes.clone(),
        source,
    })?;
    let (clients, pending) = (
        Clients::new(options.post_rate),
        Arc::new(PendingRequests::default()),
    );
    let page =
        PageCalls::bind(address, rules, clients, Arc::clone(&pending)).map_err(|source| {
            Error::Bind {
                address,
                what: "HTTP",
                id: options.id,
                list: options.nodes.clone(),
                source,
            }
        })?;
    check_database_file(options)?;
    let seed = random().map_err(ring_host::Error::system("draw a random number"))?;
    let machine = Andrews::new(own, list.nodes().clone(), seed).map_err(usage_error)?;
    let host = Host::start(
        PROGRAM,
        options.name(),
        &options.control_path(),
        options.log_format,
        options.verbose,
        None,
        sandbox(&configured),
    )?;
    log_start(options, &list, line.ring);
    link::set_trust(&mut link, &trust).map_err(ring_host::Error::Usage)?;
    warn_if_file_is_local(&options.database, &list);
    let current_fault = Arc::new(CurrentFault::default());
    let node = Node {
        sources: StatusSources {
            link,
            nodes: list.nodes().clone(),
            refused_messages: RefusedMessages::default(),
            health: NodeHealth::new(PROGRAM, "datagrams"),
            late_wake_ups: 0,
            current_fault: Arc::clone(&current_fault),
        },
        store: NoStore,
        observer: EventObserver {
            log: Log::new(options.verbose),
            history: History::new(host.start_time()),
            replies: ReplySenders::new(),
            has_status_changed: false,
        },
        onlookers: Onlookers::new(REQUEST_REFUSAL),
        worker: Some(Worker::new(WorkerOptions {
            url: options.database.clone(),
            timeout: options.database_timeout,
            own: options.id,
            lines: list.lines().to_vec(),
            pending,
            feed: page.listeners(),
            current_fault,
        })),
        page,
        configured,
    };
    let received = datagrams::receive_batch(DATAGRAM_BYTES_MAX);
    let transmit = datagrams::transmit_batch(DATAGRAM_BYTES_MAX);
    host.run(Driver::with_batches(machine, received, transmit), node)
}

/// Returns the login of the page, or `None` if only this machine can reach the page.
fn login(options: &Options, address: SocketAddr) -> Result<Option<Login>, ring_host::Error> {
    if let Some(path) = &options.http_password_file {
        let password = Password::read(path).map_err(ring_host::Error::Usage)?;
        return Ok(Some(Login::new(password, options.id, options.http_proxy)));
    }
    if address.ip().to_canonical().is_loopback() {
        return Ok(None);
    }
    let port = address.port();
    Err(ring_host::Error::Usage(format!(
        "cannot serve the page at {address} without a password, because other machines may reach it; give \
         --http-password-file FILE, or --http 127.0.0.1:{port}"
    )))
}

fn usage_error(error: OptionsError) -> ring_host::Error {
    ring_host::Error::Usage(format!("{error}; see ring-board --help"))
}

fn sandbox(configured: &Configured<Options>) -> Sandbox {
    let options = configured.options();
    let (reads_everything, write) = match &options.database {
        // SQLite makes files next to the database, and temporary files.
        Url::Sqlite(path) => {
            let folder = path
                .parent()
                .filter(|folder| !folder.as_os_str().is_empty());
            let folder = folder.unwrap_or(Path::new(".")).to_owned();
            (false, vec![folder, env::temp_dir()])
        }
        // The resolver of names, the certificates and the file of passwords.
        Url::PostgreSql(_) => (true, Vec::new()),
    };
    Sandbox {
        capabilities: capabilities::PORTS | capabilities::FILES,
        address_families: IP_FAMILIES,
        files: Files {
            reads_everything,
            read: readable_directories(configured, options.keys.key_file.as_ref()),
            write,
        },
    }
}

/// Checks the file of the database. If the file cannot be used when the node starts, it will not become usable later,
/// so the node does not wait. If the database is a server, the node waits, because the server may start later.
fn check_database_file(options: &Options) -> Result<(), Error> {
    let Url::Sqlite(path) = &options.database else {
        return Ok(());
    };
    let (old, new) = (Path::new(EARLIER_DATABASE), Path::new(DEFAULT_DATABASE));
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

fn log_start(options: &Options, list: &List, address: SocketAddr) {
    let (version, id) = (env!("CARGO_PKG_VERSION"), options.id);
    let (nodes, database) = (list.lines().len(), &options.database);
    info!(
        event = events::STARTED, version, node = id, %address, nodes, %database,
        "ring-board {version}, node {id} of {nodes}, at {address}, with {database}"
    );
}
