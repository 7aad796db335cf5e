//! Starts a node.

use std::env;

use ring_config::Configured;
use ring_host::hooks::{self, HookSources, Hooks};
use ring_host::program::Launcher;
use ring_host::trust::RefusedMessages;
use ring_host::{Host, NodeHealth, readable_directories};
use ring_process::capabilities;
use ring_process::sandbox::{Files, IP_FAMILIES, Sandbox};
use ring_proto::jitterbug::{self, Compute, Decide, Jitterbug};
use ring_runtime::driver::{Driver, NoStore, datagrams};
use ring_runtime::{clock, random};
use tracing::info;

use super::Options;
use super::commands;
use super::history::History;
use super::link::{DATAGRAM_BUFFER, SegmentLink};
use super::node::Node;
use super::observers::Observers;
use super::options::unusable;
use super::programs::Programs;
use super::service::Service;
use super::starvation::Starvation;
use crate::system::PROGRAM;
use crate::system::jitterbug::events;
use crate::system::jitterbug::observe::Log;

/// Runs a node until its requested shutdown is complete.
///
/// # Errors
/// Fails if the node cannot start, or if a system call fails that always succeeds on a healthy system.
pub fn run(configured: Configured<Options>) -> Result<(), ring_host::Error> {
    let options = configured.options();
    options.check()?;
    let own = options.of_machine();
    commands::check(options.compute.as_deref(), &options.decide)
        .map_err(ring_host::Error::Usage)?;
    // Before the first socket, which the launchers must not have.
    let launcher = start_launcher(options)?;
    let programs = start_programs(options, &own)?;
    let options = &options.with_interface(options.interface_request().find()?);
    let trust = options
        .keys
        .trust()
        .map_err(|error| ring_host::Error::Usage(error.to_string()))?;
    let ports = (options.udp_port, options.tcp_port);
    let link = SegmentLink::open(&options.interface, ports, trust)?;
    let seed = random().map_err(ring_host::Error::system("draw a random number"))?;
    let machine = Jitterbug::new(own, seed).map_err(|error| unusable(&error))?;
    let host = Host::start(
        PROGRAM,
        options.name(),
        &options.control_path(),
        options.log_format,
        options.verbose,
        None,
        sandbox(&configured, programs.is_some()),
    )?;
    log_start(options);
    link.trust().log(false);
    let observers = Observers {
        log: Log::new(options.verbose),
        history: History::new(host.start_time()),
        use_losses: 0,
        starvation: Starvation::default(),
    };
    let node = Node {
        refused_messages: RefusedMessages::default(),
        interface: options.interface.clone(),
        link,
        store: NoStore,
        hooks: start_hooks(launcher, options, &observers.history)?,
        observers,
        health: NodeHealth::new(PROGRAM, "datagrams"),
        service: Service::new(&options.interface),
        programs,
        configured,
    };
    let received = datagrams::receive_batch(DATAGRAM_BUFFER);
    let transmit = datagrams::transmit_batch(DATAGRAM_BUFFER);
    host.run(Driver::with_batches(machine, received, transmit), node)
}

fn sandbox(configured: &Configured<Options>, has_programs: bool) -> Sandbox {
    let keys = configured.options().keys.key_file.as_ref();
    Sandbox {
        capabilities: capabilities::PORTS,
        address_families: IP_FAMILIES,
        files: Files {
            reads_everything: false,
            read: readable_directories(configured, keys),
            // The files for the command of --decide.
            write: has_programs.then(env::temp_dir).into_iter().collect(),
        },
    }
}

/// Starts the process that starts hooks, if the options contain hooks.
fn start_launcher(options: &Options) -> Result<Option<Launcher>, ring_host::Error> {
    if options.on_change.is_none() && options.hooks_dir.is_none() {
        return Ok(None);
    }
    let sources = HookSources {
        command: options.on_change.clone(),
        // The path is empty if no directory is given. Such a directory does not exist, so it has no hooks.
        directory: options.hooks_dir.clone().unwrap_or_default(),
    };
    hooks::start_launcher(sources, || None)
        .map(Some)
        .map_err(ring_host::Error::system(
            "start the process that starts hooks",
        ))
}

/// Starts the process that starts the commands of `--compute` and `--decide`, if there are such commands.
fn start_programs(
    options: &Options,
    own: &jitterbug::Options,
) -> Result<Option<Programs>, ring_host::Error> {
    if own.compute != Compute::Program && own.decide != Decide::Program {
        return Ok(None);
    }
    let compute = options.compute.as_deref().unwrap_or_default();
    Programs::start(compute, &options.decide, own.compute_timeout, own.max_data)
        .map(Some)
        .map_err(ring_host::Error::system(
            "start the process that starts commands",
        ))
}

/// Starts the thread that runs hooks, if there are hooks.
fn start_hooks(
    launcher: Option<Launcher>,
    options: &Options,
    history: &History,
) -> Result<Option<Hooks<super::hook_change::Change>>, ring_host::Error> {
    let Some(launcher) = launcher else {
        return Ok(None);
    };
    let settings = hooks::Settings {
        environment: vec![("RINGD_INTERFACE", options.interface.clone())],
        timeout: options.hook_timeout,
        ..hooks::Settings::default()
    };
    Hooks::start(launcher, settings, clock::now(), history)
        .map(Some)
        .map_err(ring_host::Error::system("start the thread that runs hooks"))
}

fn log_start(options: &Options) {
    let (version, interface, udp_port) = (
        env!("CARGO_PKG_VERSION"),
        &options.interface,
        options.udp_port,
    );
    info!(
        event = events::STARTED,
        version,
        interface,
        udp_port,
        "ringd {version}, a node of Jitterbug on {interface}, UDP port {udp_port}"
    );
}
