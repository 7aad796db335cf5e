//! The daemon's one loop, in one thread.
//!
//! Each turn waits until something is there or the machine's time has come, then does a bounded
//! amount of everything in order of urgency: frames, time-outs, the interface, signals, and last
//! the control socket.

use std::io;
use std::path::Path;

use ring_proto::LinkState;
use ring_proto::lab2::{Command, Constants, Durable, Lab2};
use ring_proto::time::{Instant, Now};
use tracing::{debug, info, warn};

use super::attachment::{Attachment, Step};
use super::descriptors::Room;
use super::history::History;
use super::hooks::Hooks;
use super::housekeeping::Housekeeping;
use super::notify::Notifier;
use super::pace::Pace;
use super::report;
use super::server::Server;
use super::service::{Answer, Service};
use super::signals::{Signals, Wish};
use super::state_file::{Found, StateFile};
use super::stored_pause::StoredPause;
use super::surroundings::{Audience, Surroundings};
use super::waiting::{CONTROL, PACKETS, SIGNALS, WATCH, Waiting};
use super::{Error, LogFormat, Options};
use crate::control::{CONTROL_DIR, Reply, Snapshot};
use crate::driver::Driver;
use crate::observe::{Log, LogOutput, Observers, Tally};
use crate::sys::{RingLock, clock, nice};

/// The most steps of the interface that one turn takes.
const STEPS: usize = 2;
/// The most commands that clients give the machine in one turn.
const COMMANDS: usize = 8;
/// How much later than asked the kernel may wake the loop, in nanoseconds; its default is long
/// beside a hop.
const TIMER_SLACK: u32 = 1_000;

/// Runs a daemon until it was asked to shut down and has done so.
///
/// # Errors
/// It could not start, or a system call failed that does not fail on a healthy system.
pub fn run(options: &Options) -> Result<(), Error> {
    let constants = options.constants();
    constants.check()?;
    let mut daemon = Daemon::start(options, constants)?;
    daemon.run()
}

/// How far a shutdown has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Leaving {
    No,
    /// A client of this machine is to end its work with the token first.
    WhenReleased,
    Now,
}

/// All that runs. Dropped in this order: the last log lines come out last.
#[derive(Debug)]
struct Daemon {
    driver: Driver<Lab2>,
    around: Surroundings,
    waiting: Waiting,
    signals: Signals,
    server: Server,
    service: Service,
    hooks: Hooks,
    /// Whether the server is waited for.
    server_awaited: bool,
    notifier: Notifier,
    housekeeping: Housekeeping,
    leaving: Leaving,
    /// When the shutdown is complete, be it done or not; `None`: there is none.
    give_up: Option<Instant>,
    _lock: RingLock,
    log: LogOutput,
}

impl Daemon {
    fn start(options: &Options, constants: Constants) -> Result<Self, Error> {
        let attachment = Attachment::open(&options.interface, constants.ethertype)?;
        let ring = options.ring();
        let lock = RingLock::acquire(Path::new(CONTROL_DIR), &ring.to_string())?;
        attachment.check_alone(&ring)?;
        let (mut store, found) = StateFile::open(&options.state_dir, &ring)?;
        let room = Room::make();
        let server = Server::listen(&options.control_path(), room.clients())?;
        let signals = Signals::new().map_err(Error::system("catch signals"))?;
        let waiting = Waiting::new()?;
        waiting.add(attachment.watch(), WATCH)?;
        waiting.add(&signals, SIGNALS)?;
        waiting.add(server.poller(), CONTROL)?;
        clock::timer_slack(TIMER_SLACK).map_err(Error::system("set the timer slack"))?;
        let started = clock::now();
        let tally = Tally::new().map_err(io::Error::other);
        let audience = Audience {
            observers: Observers {
                tally: tally.map_err(Error::system("make the counters"))?,
                log: Log::new(options.verbose),
            },
            history: History::new(started),
        };
        let log = LogOutput::start(options.log_format == LogFormat::Json, options.verbose);
        let log = log
            .map_err(io::Error::other)
            .map_err(Error::system("start the log"))?;
        // After the log's thread has started, which can wait.
        let favoured = nice::at_most(nice::URGENT).is_ok();
        say_start(options, &constants, &attachment, &store, found);
        room.say();
        let history = &audience.history;
        let hooks = Hooks::start(options, constants.idle_hold, clock::now(), history);
        let hooks = hooks.map_err(Error::system("start the thread that runs hooks"))?;
        if !favoured {
            debug!(
                event = "not_favoured",
                "no right to run at nice {} (CAP_SYS_NICE): a busy machine may cost this node the token",
                nice::URGENT
            );
        }
        let machine = Lab2::new(constants, durable(found)).with_stamps(store.take_stamps());
        let stored_pause = StoredPause::beside(store.path());
        let mut service = Service::new(&options.interface, stored_pause);
        if service.go_on_pausing()? {
            info!(
                event = "paused",
                "paused, as before the start (ringctl pause --persist), until ringctl resume"
            );
        }
        Ok(Self {
            driver: Driver::new(machine),
            around: Surroundings {
                started,
                attachment,
                store,
                audience,
                pace: Pace::default(),
            },
            waiting,
            signals,
            server,
            service,
            hooks,
            server_awaited: true,
            notifier: Notifier::new(),
            housekeeping: Housekeeping::new(),
            leaving: Leaving::No,
            give_up: None,
            _lock: lock,
            log,
        })
    }

    fn run(&mut self) -> Result<(), Error> {
        self.notifier.ready();
        // A pause of an earlier run counts before the first frame.
        self.heed_clients(clock::now());
        self.look_at_interface(clock::now())?;
        let result = loop {
            if self.driver.machine().is_finished() {
                break Ok(());
            }
            if let Some(now) = self.gives_up() {
                // The others are to know at least that this node is gone.
                let environment = &mut self.around.environment();
                self.driver.command(now, Command::Leave, environment);
                break Ok(());
            }
            if let Err(error) = self.turn() {
                break Err(error);
            }
        };
        self.notifier.stopping("telling hooks of the end");
        if let Err(error) = self.around.store.sync() {
            warn!(
                event = "state_not_synced",
                "cannot sync the state file: {error}"
            );
        }
        let Self {
            hooks,
            signals,
            around,
            ..
        } = self;
        let mut in_haste = matches!(result, Err(Error::Interrupted));
        hooks.finish(clock::now(), &around.audience.history, || {
            let mut wishes = signals.drain(clock::now().monotonic);
            in_haste |= wishes.any(|wish| wish == Wish::ExitNow);
            in_haste
        });
        info!(event = "stopped", "stopped");
        result
    }

    /// The time, if there is none left for a shutdown.
    fn gives_up(&self) -> Option<Now> {
        let at = self.give_up?;
        Some(clock::now()).filter(|now| now.monotonic >= at)
    }

    fn turn(&mut self) -> Result<(), Error> {
        let ready = self.waiting.wait(self.deadline())?;
        // Reading the clocks costs a hundredth of a hop: once a turn is enough.
        let now = clock::now();
        self.notice_lateness(now.monotonic);
        self.drive(now, ready.packets)?;
        if ready.watch {
            let heard = self.around.attachment.heard();
            heard.map_err(Error::system("hear of changes to the interfaces"))?;
        }
        let now = self.look_at_interface(now)?;
        if ready.signals {
            self.heed_signals(now)?;
        }
        self.serve_clients(now, ready.control)?;
        self.heed_clients(now);
        self.hooks
            .tell(now.monotonic, &self.around.audience.history);
        self.keep_house(now);
        Ok(())
    }

    /// When something is due at the latest.
    fn deadline(&self) -> Option<Instant> {
        let deadlines = [
            self.driver.deadline(),
            self.server.deadline(),
            self.service.deadline(),
            self.hooks.deadline(),
            self.around.attachment.deadline(),
            self.notifier.deadline(),
            self.give_up,
        ];
        deadlines.into_iter().flatten().min()
    }

    /// So late that a member may have given this one up is worth saying.
    fn notice_lateness(&mut self, now: Instant) {
        let Some(due) = self.driver.deadline() else {
            return;
        };
        let late = now.since(due);
        let constants = self.driver.machine().constants();
        if late > constants.take_timeout {
            let limit = constants.waiter_timeout();
            self.around.audience.observers.tally.late_wake_up();
            self.housekeeping.late(now, late, limit);
        }
    }

    fn drive(&mut self, now: Now, arrived: bool) -> Result<(), Error> {
        let environment = &mut self.around.environment();
        let driven = self.driver.turn(now, arrived, clock::now, environment);
        let Err(error) = driven else { return Ok(()) };
        let step = self.around.attachment.fail(now.monotonic, &error);
        self.take_step(now, step)
    }

    /// Does what there is to do about the interface; the time after it.
    fn look_at_interface(&mut self, mut now: Now) -> Result<Now, Error> {
        for _ in 0..STEPS {
            let Some(step) = self.around.attachment.look(now.monotonic) else {
                break;
            };
            // Opening the socket took a while, in which nobody could have answered.
            now = clock::now();
            self.take_step(now, step)?;
        }
        Ok(now)
    }

    fn take_step(&mut self, now: Now, step: Step) -> Result<(), Error> {
        let link = match step {
            Step::Lost => LinkState::Down,
            Step::Opened(link) => {
                if let Some(socket) = self.around.attachment.socket() {
                    self.waiting.add(&*socket, PACKETS)?;
                }
                link
            }
            Step::Changed(link) => link,
        };
        let environment = &mut self.around.environment();
        self.driver.link_changed(now, link, environment);
        Ok(())
    }

    fn heed_signals(&mut self, now: Now) -> Result<(), Error> {
        for wish in self.signals.drain(now.monotonic) {
            match wish {
                Wish::ExitNow => return Err(Error::Interrupted),
                Wish::ShutDown => {
                    info!(
                        event = "stopping",
                        "shutting down: the token goes to another member first"
                    );
                    self.notifier.stopping("handing the token over");
                    self.service.leave();
                    self.leaving = Leaving::WhenReleased;
                }
                Wish::Report => {
                    let machine = self.driver.machine();
                    let status = self.around.status(now, machine, &self.service);
                    report::log(&status, machine.token());
                }
                Wish::Nothing(signal) => info!(
                    event = "signal_ignored",
                    signal = signal.as_str(),
                    "{signal} ignored: SIGTERM ends ringd, SIGUSR1 logs its status"
                ),
            }
        }
        Ok(())
    }

    fn serve_clients(&mut self, now: Now, ready: bool) -> Result<(), Error> {
        let Self {
            driver,
            around,
            server,
            service,
            ..
        } = self;
        let clock = || clock::now().monotonic;
        server.serve(now.monotonic, ready, clock, |peer, request, descriptors| {
            let history = &around.audience.history;
            match service.answer(now, peer, request, descriptors, driver.machine(), history) {
                Answer::Reply(reply) => Some(reply),
                Answer::Later => None,
                Answer::Command(command, reply) => {
                    driver.command(now, command, &mut around.environment());
                    Some(reply)
                }
                Answer::Status => {
                    let status = around.status(now, driver.machine(), service);
                    Some(Reply::Status(Box::new(status)))
                }
                Answer::Snapshot => {
                    let status = around.status(now, driver.machine(), service);
                    let number = around.audience.history.latest();
                    Some(Reply::Snapshot(Box::new(Snapshot { number, status })))
                }
            }
        });
        let awaited = self.server.resume().is_none();
        if awaited != self.server_awaited {
            self.server_awaited = awaited;
            if awaited {
                self.waiting.add(self.server.poller(), CONTROL)?;
            } else {
                self.waiting.remove(self.server.poller())?;
            }
        }
        Ok(())
    }

    /// Does what clients want of the machine, and tells them what became of it.
    fn heed_clients(&mut self, now: Now) {
        let Self {
            driver,
            around,
            server,
            service,
            ..
        } = self;
        for _ in 0..COMMANDS {
            let history = &mut around.audience.history;
            let Some(command) = service.settle(now, server, driver.machine(), history) else {
                break;
            };
            driver.command(now, command, &mut around.environment());
        }
        if self.leaving == Leaving::WhenReleased && !self.service.is_held() {
            self.leaving = Leaving::Now;
            let patience = self.driver.machine().constants().waiter_timeout();
            self.give_up = Some(now.monotonic + patience);
            let environment = &mut self.around.environment();
            self.driver.command(now, Command::ShutDown, environment);
        }
    }

    fn keep_house(&mut self, now: Now) {
        let Surroundings {
            attachment, store, ..
        } = &mut self.around;
        let tidied = self
            .housekeeping
            .tidy(now.monotonic, attachment, store, &self.log);
        if tidied {
            self.around.look_at_pace(now);
        }
        let now = now.monotonic;
        let link_up = self.around.attachment.loss().is_none();
        self.notifier.feed(now);
        if self.leaving == Leaving::No {
            self.notifier.update(now, self.driver.machine(), link_up);
        }
    }
}

fn durable(found: Found) -> Durable {
    match found {
        Found::Stored(durable) => durable,
        Found::Nothing | Found::Corrupt => Durable {
            my_token_number: 0,
            known: None,
            stamp: None,
        },
    }
}

fn say_start(
    options: &Options,
    constants: &Constants,
    attachment: &Attachment,
    store: &StateFile,
    found: Found,
) {
    let (interface, version) = (&options.interface, env!("CARGO_PKG_VERSION"));
    let mac = attachment.interface().mac;
    let (heartbeat, ethertype) = (constants.heartbeat, constants.ethertype);
    info!(
        event = "started", version, interface, %mac,
        "ringd {version} on {interface}: MAC {mac}, heartbeat {heartbeat:?}, \
         EtherType {ethertype:#06x}"
    );
    if found == Found::Corrupt {
        warn!(
            event = "state_corrupt",
            "{} was unreadable: starting without it; tokens keep growing by the clock",
            store.path().display()
        );
    }
    if let Some((path, count)) = store.damaged_jobs() {
        warn!(
            event = "jobs_corrupt",
            count,
            "{count} records of {} were unreadable: starting without them; a job of theirs may run \
             again in its period, unless another member knows of its run",
            path.display()
        );
    }
}
