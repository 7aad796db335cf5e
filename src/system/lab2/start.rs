//! Starts a node.

use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use ring_codec::lab2::Version;
use ring_config::Configured;
use ring_control::{CONTROL_DIR, NodeName, recent_state_path};
use ring_host::hooks::{self, HookSources, Hooks};
use ring_host::trust::RefusedMessages;
use ring_host::{Host, NodeHealth, readable_directories};
use ring_process::sandbox::{Files, Sandbox};
use ring_process::{LockError, RingLock, SharedRecord, capabilities};
use ring_proto::lab2::{Constants, Lab2};
use ring_proto::time::Now;
use ring_recording::Recorded;
use ring_runtime::driver::Driver;
use ring_runtime::{BusyPoll, BusyPollWork, clock, random};
use ring_text::format_duration;
use tracing::{info, warn};

use super::Options;
use super::attachment::Attachment;
use super::guardian::{GuardedStore, Guardian};
use super::history::History;
use super::member_addresses::{MemberAddresses, read_host_name};
use super::minimum_times::MinimumTimes;
use super::node::Node;
use super::node_environment::{AllObservers, NodeEnvironment};
use super::recordings::{RecordingWriter, Recordings, write_after_panic};
use super::service::Service;
use super::state_file::{INITIAL_DURABLE, StateFile};
use super::stored_pause::StoredPause;
use crate::system::lab2::events;
use crate::system::lab2::observe::{Log, Observers, PauseNews, PauseText, Tally};
use crate::system::write_warnings::WriteWarnings;
use crate::system::{Error, PROGRAM};

/// The minimum IDLE_HOLD without a warning about hooks. With a shorter IDLE_HOLD, the turns of an idle token would run
/// hooks all the time.
const CALM_IDLE_HOLD_MIN: Duration = Duration::from_secs(1);

/// The time that a guardian gets to end after its last offer.
const GUARDIAN_GRACE: Duration = Duration::from_millis(100);
/// The maximum wait for a guardian. It is shorter than `TimeoutStartSec` of the unit.
const GUARDIAN_WAIT_MAX: Duration = Duration::from_secs(8);

/// Runs a daemon until its requested shutdown is complete.
///
/// # Errors
/// Fails if the node cannot start, or if a system call fails that always succeeds on a healthy system.
pub fn run(configured: Configured<Options>) -> Result<(), ring_host::Error> {
    let options = configured.options();
    options.check()?;
    let constants = options.constants();
    // Before the first socket, which the launcher must not have.
    let launcher = hooks::start_launcher(hook_sources(options), || {
        let new = configured.reload().ok()?;
        Some(hook_sources(new.options()))
    })
    .map_err(ring_host::Error::system(
        "start the process that starts hooks",
    ))?;
    let options = &options.with_interface(options.interface_request().find()?);
    let trust = options
        .keys
        .trust()
        .map_err(|error| ring_host::Error::Usage(error.to_string()))?;
    let record = SharedRecord::new().map(Rc::new);
    let record = record.map_err(ring_host::Error::system("share memory with the guardian"))?;
    let attachment = Attachment::open(
        &options.interface,
        constants.ethertype,
        &trust,
        Rc::clone(&record),
    )?;
    let minimum_times = MinimumTimes::measure(attachment.interface());
    let check = minimum_times.check(&options.interface, &constants);
    check.map_err(ring_host::Error::Usage)?;
    let ring = options.ring();
    let lock = lock_ring(&ring, &attachment, &constants)?;
    let control = options.control_path();
    let recent = recent_state_path(&control);
    let address = attachment.interface().mac;
    let (mut store, found) = StateFile::open(&options.state_dir, &ring, &recent, address)?;
    // While the process has a single thread, and all its permissions.
    let sandbox = sandbox(&configured, &lock);
    let guardian = Guardian::start(Rc::clone(&record), lock, constants.ethertype);
    let guardian = guardian.map_err(ring_host::Error::system("start the guardian"))?;
    let host = Host::start(
        PROGRAM,
        ring.clone(),
        &control,
        options.log_format,
        options.verbose,
        Some(options.state_dir.clone()),
        sandbox,
    )?;
    let all_observers = new_observers(options, &constants, host.start_time());
    let host_name = read_host_name(attachment.interface().mac);
    log_start(options, &constants, &attachment, &store);
    trust.log(false);
    let hooks = Hooks::start(
        launcher,
        hook_settings(options, constants.idle_hold),
        clock::now(),
        &all_observers.history,
    );
    let hooks = hooks.map_err(ring_host::Error::system("start the thread that runs hooks"))?;
    let heartbeat = constants.heartbeat;
    let machine = Lab2::new(constants, found.or(INITIAL_DURABLE))
        .with_stamps(store.take_stamps())
        .with_version(version())
        .with_host_name(host_name)
        .with_preference(options.prefer);
    let writer = RecordingWriter::next_to(store.path(), ring.to_string());
    let recordings = Recordings::start(writer.clone());
    let recordings = recordings.map_err(ring_host::Error::system(
        "start the thread that writes recordings",
    ))?;
    let machine = Recorded::new(machine)
        .with_panic_handler(move |recording| write_after_panic(writer, recording));
    let stored_pause = StoredPause::next_to(store.path());
    let number = random().map_err(ring_host::Error::system("draw a random number"))?;
    let interface = &options.interface;
    let mut service = Service::new(interface, heartbeat, stored_pause, recordings, number);
    service.set_rule(options.require);
    let now = clock::now();
    if let Some(pause) = service.restore_pause(now)? {
        let end = PauseText(PauseNews::new(&pause, now.monotonic));
        info!(
            event = events::PAUSED,
            "paused, as before the start: owns nothing {end}"
        );
    }
    let node_environment = NodeEnvironment {
        configured,
        started: host.start_time(),
        attachment,
        store: GuardedStore::new(record, store),
        guardian,
        all_observers,
        health: NodeHealth::new(PROGRAM, "frames"),
        refused_messages: RefusedMessages::default(),
        write_warnings: WriteWarnings::new(
            "the ring continues without this node, which owns nothing until it can write the file",
        ),
    };
    let node = Node::new(node_environment, service, hooks);
    host.run(Driver::new(machine), node)
}

/// Locks the ring. If the guardian of an earlier daemon still works, waits for its end, but at most
/// [`GUARDIAN_WAIT_MAX`].
fn lock_ring(
    ring: &NodeName,
    attachment: &Attachment,
    constants: &Constants,
) -> Result<RingLock, Error> {
    // This guardian sends its last offer before the end of the lease.
    let guardian_timeout = constants.waiter_timeout() + constants.take_timeout + GUARDIAN_GRACE;
    let guardian_timeout = guardian_timeout.min(GUARDIAN_WAIT_MAX);
    let lock = RingLock::acquire(Path::new(CONTROL_DIR), &ring.to_string(), guardian_timeout);
    if !matches!(lock, Err(LockError::Held { .. })) {
        attachment.check_unshared(ring)?;
    }
    lock.map_err(Error::Lock)
}

fn new_observers(options: &Options, constants: &Constants, started: Now) -> AllObservers {
    AllObservers {
        observers: Observers {
            tally: new_tally(options),
            log: Log::new(options.verbose, constants.waiter_timeout()),
        },
        member_addresses: MemberAddresses::default(),
        history: History::new(started),
        session_events: Vec::new(),
        problem: None,
    }
}

/// Creates the counters. The counters of polling exist only if the daemon may poll.
fn new_tally(options: &Options) -> Tally {
    let mut tally = Tally::new();
    if options.busy_poll != BusyPoll::Never {
        tally.set_busy_poll(BusyPollWork::default());
    }
    tally
}

fn version() -> Version {
    let number = |text: &str| text.parse().unwrap_or(0);
    Version {
        major: number(env!("CARGO_PKG_VERSION_MAJOR")),
        minor: number(env!("CARGO_PKG_VERSION_MINOR")),
        patch: number(env!("CARGO_PKG_VERSION_PATCH")),
    }
}

fn sandbox(configured: &Configured<Options>, lock: &RingLock) -> Sandbox {
    let state = configured.options().state_dir.as_path();
    let keys = configured.options().keys.key_file.as_ref();
    Sandbox {
        capabilities: capabilities::FRAMES,
        // For the frames, for the journal and clients, and for the look-up of the interface.
        address_families: &[libc::AF_PACKET, libc::AF_UNIX, libc::AF_NETLINK],
        files: Files {
            reads_everything: false,
            read: readable_directories(configured, keys),
            write: [Some(state), lock.directory()]
                .into_iter()
                .flatten()
                .map(Path::to_owned)
                .collect(),
        },
    }
}

fn hook_sources(options: &Options) -> HookSources {
    HookSources {
        command: options.on_change.clone(),
        directory: options.hooks_dir.clone(),
    }
}

fn hook_settings(options: &Options, idle_hold: Duration) -> hooks::Settings {
    hooks::Settings {
        environment: vec![
            ("RINGD_INTERFACE", options.interface.clone()),
            ("RINGD_RING", options.ring().to_string()),
        ],
        timeout: options.hook_timeout,
        constant_changes: constant_changes(idle_hold),
        reloads: false,
    }
}

/// Returns the warning about hooks that run all the time.
pub(super) fn constant_changes(idle_hold: Duration) -> Option<String> {
    (idle_hold < CALM_IDLE_HOLD_MIN).then(|| {
        format!(
            "hooks run at every turn of the token, and an idle owner hands the token over after {}; \
             for a leader that stays, start all members with --idle-hold forever",
            format_duration(idle_hold)
        )
    })
}

fn log_start(options: &Options, constants: &Constants, attachment: &Attachment, store: &StateFile) {
    let (interface, version) = (&options.interface, env!("CARGO_PKG_VERSION"));
    let mac = attachment.interface().mac;
    let (heartbeat, ethertype) = (constants.heartbeat, constants.ethertype);
    info!(
        event = events::STARTED, version, interface, %mac,
        "ringd {version} on {interface}: MAC {mac}, heartbeat {heartbeat:?}, \
         EtherType {ethertype:#06x}"
    );
    for (event, loss) in store.losses() {
        warn!(event, "{loss}");
    }
}
