//! Starts a server of the token service.

use std::net::SocketAddr;
use std::path::Path;

use ring_client::token::{ServerList, ServersError, read_list};
use ring_config::Configured;
use ring_control::Finding;
use ring_host::trust::RefusedMessages;
use ring_host::{History, Host, NodeHealth, Onlookers, UdpSlot, readable_directories};
use ring_process::capabilities;
use ring_process::sandbox::{Files, IP_FAMILIES, Sandbox};
use ring_proto::ftn::server::{Durable, OptionsError, Server};
use ring_proto::ftn::{DATAGRAM_BYTES_MAX, Servers};
use ring_runtime::driver::{Driver, datagrams};
use ring_runtime::random;
use tracing::{info, warn};

use super::Options;
use super::addresses::Addresses;
use super::error::Error;
use super::link;
use super::node::Node;
use super::observers::Observers;
use super::option_warnings::option_warnings;
use super::options::{self, unusable};
use super::state_file::{Record, StateFile};
use super::trust::{Link, SIGNED_BYTES_MAX};
use crate::system::events as shared_events;
use crate::system::ftn::events;
use crate::system::ftn::observe::{Describer, Log, Names};
use crate::system::record_file::LoadedState;
use crate::system::troubles::STATE_CORRUPT;
use crate::system::write_warnings::WriteWarnings;
use crate::system::{PROGRAM, STATE_DIR};

/// The reply to clients that request anything except the status and events.
const REFUSAL: &str = "a server of the token service answers only requests for its status and events; for tokens use \
                       ringctl token";

/// Runs a server until its requested shutdown is complete.
///
/// # Errors
/// Fails if the server cannot start, or if a system call fails that always succeeds on a healthy system.
pub fn run(configured: Configured<Options>) -> Result<(), ring_host::Error> {
    let options = configured.options();
    options.check()?;
    let index = options.index;
    let ServerList {
        names,
        servers,
        hosts,
        warnings: address_warnings,
    } = read_list(&options.servers).map_err(Error::List)?;
    let (count, ssig) = (servers.len(), servers.signature());
    let own = options.of_machine(count);
    own.check(count).map_err(|error| unusable(&error))?;
    let address = own_address(options, &names, &servers, &address_warnings)?;
    let link = link::bind(address, own.max_clients).map_err(|source| Error::Bind {
        address,
        index,
        list: options.servers.clone(),
        source,
    })?;
    let trust = options
        .trust()
        .map_err(|error| ring_host::Error::Usage(error.to_string()))?;
    let name = options.name();
    check_old_state(options)?;
    let (store, found) = StateFile::open(&options.state_dir, (&name, index), ssig)?;
    let fresh = Record {
        configuration: 0,
        ssig,
    };
    let durable = Durable {
        configuration: found.or(fresh).configuration,
    };
    let seed = random().map_err(ring_host::Error::system("draw a random number"))?;
    let machine = Server::new(own, servers.clone(), index, durable, seed);
    let machine = machine.map_err(|error| unusable(&error))?;
    let host = Host::start(
        PROGRAM,
        options.name(),
        &options.control_path(),
        options.log_format,
        options.verbose,
        None,
        sandbox(&configured, hosts.has_names()),
    )?;
    let mut option_findings = option_warnings(&own, count);
    let names = Names::new(names, index);
    let addresses = Addresses::of(&servers, hosts, address_warnings, options.bind.is_none());
    let addresses = addresses.map_err(ring_host::Error::system("start a thread for names"))?;
    let addressing = addresses.for_signatures(index, address);
    let signer = trust.signer(addressing, own.max_clients);
    let signer = signer.map_err(ring_host::Error::system("draw a random number"))?;
    log_start(&names, index, &link);
    trust.log();
    log_list_change(&store, found, ssig);
    for finding in &option_findings {
        warn!(event = events::OPTIONS_WARNING, "{}", finding.text);
    }
    if let Some(loss) = found.loss(store.path()) {
        let loss = format!("{loss}; configuration numbers continue from the clock");
        warn!(event = shared_events::STATE_CORRUPT, "{loss}");
        option_findings.push(Finding::new(&STATE_CORRUPT, loss));
    }
    let verbose = options.verbose;
    let node = Node {
        configured,
        started: host.start_time(),
        link: Link::new(link, signer),
        store,
        observers: Observers {
            describer: Describer::new(names.clone()),
            log: Log::new(verbose),
            history: History::new(host.start_time()),
        },
        names,
        addresses,
        health: NodeHealth::new(PROGRAM, "datagrams"),
        write_warnings: WriteWarnings::new(
            "until it can write the file, this server sends nothing, as if it were split from the others",
        ),
        onlookers: Onlookers::new(REFUSAL),
        option_findings,
        refused_messages: RefusedMessages::default(),
        late_wake_ups: 0,
    };
    let received = datagrams::merged_receive_batch(SIGNED_BYTES_MAX);
    let transmit = datagrams::transmit_batch(DATAGRAM_BYTES_MAX);
    host.run(Driver::with_batches(machine, received, transmit), node)
}

fn sandbox(configured: &Configured<Options>, resolves_names: bool) -> Sandbox {
    let options = configured.options();
    let keys = [&options.keys.key_file, &options.client_keys];
    let keys = keys.into_iter().flatten();
    Sandbox {
        capabilities: capabilities::PORTS,
        address_families: IP_FAMILIES,
        files: Files {
            reads_everything: resolves_names,
            read: readable_directories(configured, keys),
            write: vec![options.state_dir.clone()],
        },
    }
}

/// Checks that the directory of an earlier version contains no state that the server must use. A server that ignored
/// this state would use the same numbers twice.
fn check_old_state(options: &Options) -> Result<(), Error> {
    let [old, new] =
        [STATE_DIR, options::STATE_DIR].map(|place| options.name().state_path(Path::new(place)));
    let is_default = options.state_dir == Path::new(options::STATE_DIR);
    if is_default && old.exists() && !new.exists() {
        let index = options.index;
        return Err(Error::StateMoved { old, new, index });
    }
    Ok(())
}

fn own_address(
    options: &Options,
    names: &[Box<str>],
    servers: &Servers,
    warnings: &[String],
) -> Result<SocketAddr, ring_host::Error> {
    let (index, count) = (options.index, servers.len());
    let name = names.get(index).ok_or_else(|| {
        let servers = count;
        unusable(&OptionsError::Index { index, servers })
    })?;
    if let Some(bind) = options.bind {
        let port = name
            .rsplit_once(':')
            .and_then(|(_, port)| port.parse().ok());
        // This search ignores a line without a port, because reading the list refuses it later.
        let own = bind.with_port(port.unwrap_or_default());
        return same_family(own, servers).map_err(|why| unusable_bind(options, &why));
    }
    let warning = || {
        let is_own = |warning: &&String| warning.starts_with(&format!("server {index} "));
        warnings.iter().find(is_own).cloned().unwrap_or_default()
    };
    servers.address(index).ok_or_else(|| {
        let error = ServersError::OwnUnresolved {
            path: options.servers.clone(),
            warning: warning(),
        };
        Error::List(error).into()
    })
}

/// Checks that the address has the IP version of the servers. With a different IP version, the socket could not send to
/// any server.
fn same_family(own: SocketAddr, servers: &Servers) -> Result<SocketAddr, String> {
    let mut known = (0..servers.len()).filter_map(|index| servers.address(index));
    let family = |address: SocketAddr| if address.is_ipv4() { "IPv4" } else { "IPv6" };
    match known.find(|listed| listed.is_ipv4() != own.is_ipv4()) {
        Some(listed) => Err(format!(
            "cannot use --bind {}: it is an {} address, but the servers have {} addresses, for example {listed}; give \
             an {} address",
            own.ip(),
            family(own),
            family(listed),
            family(listed)
        )),
        None => Ok(own),
    }
}

fn unusable_bind(options: &Options, why: &str) -> ring_host::Error {
    let list = options.servers.display();
    ring_host::Error::Usage(format!("{why}; {list} lists the servers"))
}

fn log_start(names: &Names, index: usize, link: &UdpSlot) {
    let (version, address, count) = (
        env!("CARGO_PKG_VERSION"),
        link.address(),
        names.iter().count(),
    );
    info!(
        event = events::STARTED, version, server = index, %address, servers = count,
        "ringd {version}, server {index} ({}) of {count}, at {address}", names.of(index)
    );
    if let Some((has, asked)) = link.shortage() {
        info!(
            event = events::SMALL_BUFFER,
            has,
            asked,
            "the kernel stores only {has} bytes of datagrams for this server, not {asked}: if very many clients send \
             at once, some must send again; set sysctl net.core.rmem_max={asked}"
        );
    }
}

fn log_list_change(store: &StateFile, found: LoadedState<Record>, ssig: i32) {
    let LoadedState::Stored(record) = found else {
        return;
    };
    if record.ssig != ssig && record.configuration > 0 {
        let (path, configuration) = (store.path().display(), record.configuration);
        info!(
            event = events::LIST_CHANGED,
            configuration,
            "{path} belongs to another list of servers: the configuration numbers continue from {configuration}"
        );
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use ring_proto::ftn::Servers;

    use super::same_family;

    /// With an address of another family, the socket could not send to any server.
    #[test]
    fn an_address_of_another_family_than_the_servers_is_refused() {
        let v4: SocketAddr = ([192, 0, 2, 1], 7301).into();
        let v6: SocketAddr = "[2001:db8::1]:7301".parse().unwrap();
        let list = |address| Servers::new([("a:7301", None), ("b:7301", Some(address))]).unwrap();
        for (own, listed, fits) in [
            (v4, v4, true),
            (v6, v6, true),
            (v4, v6, false),
            (v6, v4, false),
        ] {
            let outcome = same_family(own, &list(listed));
            assert_eq!(outcome.is_ok(), fits, "{own} {listed}");
            if let Err(why) = outcome {
                assert!(why.contains(&format!("--bind {}:", own.ip())), "{why}");
                assert!(why.contains(&listed.to_string()), "{why}");
            }
        }
    }
}
