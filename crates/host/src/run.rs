//! The daemon's one loop, in one thread.
//!
//! Each turn waits until a descriptor is ready or a deadline has come. Then it does a bounded amount of
//! work in order of urgency: messages, timeouts, changes of the network, signals, answers of the worker, and
//! last the control socket.

use std::path::Path;

use ring_proto::time::{Instant, Now};
use ring_proto::{JobOp, Machine};
use ring_runtime::clock;
use ring_runtime::driver::Driver;
use ring_runtime::nice;
use tracing::{debug, info};

use super::descriptors::Room;
use super::jobs::Jobs;
use super::keys::{CONTROL, JOBS, NETWORK, SIGNALS, SYSTEM};
use super::loop_health::LoopHealth;
use super::machine_names::MachineNames;
use super::notify::Notifier;
use super::server::Server;
use super::signals::{Signals, Wish};
use super::system::{Answer, LateLimits, ShutDown, System};
use super::{Error, LogFormat, Program};
use crate::observe::LogOutput;
use ring_runtime::Cycle;
use ring_runtime::wait::{ReadyKeys, Waiting};

/// Maximum changes of the network handled in one turn.
const STEPS: usize = 2;
/// Maximum commands that clients cause in one turn.
const COMMANDS: usize = 8;
/// Timer slack, in nanoseconds: how much later than asked the kernel may wake the loop. Its default is long
/// beside a hop.
const TIMER_SLACK: u32 = 1_000;

/// A process that can run a system: control socket, signals and log.
#[derive(Debug)]
pub struct Host {
    program: Program,
    waiting: Waiting,
    signals: Signals,
    server: Server,
    /// When it was started.
    started: Now,
    room: Room,
    /// The process runs at an urgent nice value.
    favoured: bool,
    log: LogOutput,
}

impl Host {
    /// Makes the control socket, catches signals and starts the log.
    ///
    /// # Errors
    /// The socket cannot be made, or a system call failed that does not fail on a healthy system.
    pub fn start(
        program: Program,
        control: &Path,
        log_format: LogFormat,
        verbose: bool,
    ) -> Result<Self, Error> {
        let room = Room::make();
        let server = Server::listen(program, control, room.clients())?;
        let signals = Signals::new().map_err(Error::system("catch signals"))?;
        let waiting = Waiting::new()?;
        waiting.add(&signals, SIGNALS)?;
        waiting.add(server.poller(), CONTROL)?;
        clock::timer_slack(TIMER_SLACK).map_err(Error::system("set the timer slack"))?;
        let started = clock::now();
        let mut machines = MachineNames::default();
        let named = move |text: &str| machines.put_into(text);
        let log = LogOutput::start(log_format == LogFormat::Json, verbose, named);
        let log = log
            .map_err(std::io::Error::other)
            .map_err(Error::system("start the log"))?;
        // After the log's thread has started: that one can wait.
        let favoured = nice::at_most(nice::URGENT).is_ok();
        Ok(Self {
            program,
            waiting,
            signals,
            server,
            started,
            room,
            favoured,
            log,
        })
    }

    /// When it was started.
    pub const fn started(&self) -> Now {
        self.started
    }

    /// Runs a node until it has shut down on request.
    ///
    /// # Errors
    /// A system call failed that does not fail on a healthy system, or a second signal came before the
    /// shutdown was complete.
    pub fn run<S: System>(self, driver: Driver<S::Machine>, system: S) -> Result<(), Error> {
        self.say();
        let mut running = Running {
            program: self.program,
            cycle: Cycle {
                driver,
                waiting: self.waiting,
            },
            jobs: None,
            signals: self.signals,
            server: self.server,
            server_awaited: true,
            notifier: Notifier::new(),
            loop_health: LoopHealth::new(),
            leaving: Leaving::No,
            system,
            log: self.log,
        };
        running.start()?;
        running.run()
    }

    fn say(&self) {
        self.room.say();
        if !self.favoured {
            debug!(
                event = "not_favoured",
                "no right to run at nice {} (CAP_SYS_NICE): on a busy machine this node may be late",
                nice::URGENT
            );
        }
    }
}

/// How far a shutdown has come.
#[derive(Debug)]
enum Leaving<C> {
    No,
    /// Waits for a local client to end its work.
    WhenReleased,
    /// Complete at this time at the latest, done or not; the machine's last command if it is not.
    Now(Instant, Option<C>),
}

/// Everything that runs. The order of the fields is the order of dropping: the server goes before the
/// system, whose lock keeps other daemons off the socket's path, and the log comes last.
struct Running<S: System> {
    program: Program,
    cycle: Cycle<S::Machine>,
    jobs: Option<Jobs<S::Task>>,
    signals: Signals,
    server: Server,
    /// Whether the loop waits for the server's descriptors.
    server_awaited: bool,
    notifier: Notifier<S::Condition>,
    loop_health: LoopHealth,
    leaving: Leaving<<S::Machine as Machine>::Command>,
    system: S,
    log: LogOutput,
}

impl<S: System> Running<S> {
    fn start(&mut self) -> Result<(), Error> {
        self.system.register(&self.cycle.waiting)?;
        let jobs = self.system.task().map(Jobs::start).transpose();
        let jobs = jobs.map_err(Error::system("start the thread that does jobs"))?;
        if let Some(jobs) = &jobs {
            self.cycle.waiting.add(jobs, JOBS)?;
        }
        self.jobs = jobs;
        Ok(())
    }

    fn run(&mut self) -> Result<(), Error> {
        self.notifier.ready();
        // Requests to an earlier run (a stored pause) take effect before the first message.
        self.heed_clients(clock::now());
        let now = self.look_at_network(clock::now())?;
        self.give_jobs(now);
        let result = loop {
            if S::is_finished(self.cycle.driver.machine()) {
                break Ok(());
            }
            if let Some((now, last_word)) = self.gives_up() {
                self.cycle
                    .driver
                    .command(now, last_word, &mut self.system.environment());
                break Ok(());
            }
            if let Err(error) = self.turn() {
                break Err(error);
            }
        };
        self.notifier.stopping("telling hooks of the end");
        if let Some(jobs) = &self.jobs {
            jobs.end();
        }
        let mut in_haste = matches!(result, Err(Error::Interrupted));
        let signals = &mut self.signals;
        let mut is_over = || {
            let mut wishes = signals.drain(clock::now().monotonic);
            in_haste |= wishes.any(|wish| wish == Wish::ExitNow);
            in_haste
        };
        self.system.finish(clock::now(), &mut is_over);
        if let Some(jobs) = &self.jobs {
            jobs.join(is_over);
        }
        info!(event = "stopped", "stopped");
        result
    }

    /// Returns the time and the machine's last command, if a shutdown has taken too long.
    fn gives_up(&mut self) -> Option<(Now, <S::Machine as Machine>::Command)> {
        let Leaving::Now(at, last_word) = &mut self.leaving else {
            return None;
        };
        let now = clock::now();
        let is_over = now.monotonic >= *at;
        last_word.take_if(|_| is_over).map(|word| (now, word))
    }

    fn turn(&mut self) -> Result<(), Error> {
        let deadline = self.deadline();
        let link = self.system.environment().link;
        let (ready, now) = self.cycle.wait(link, deadline)?;
        self.notice_lateness(now.monotonic);
        self.drive(now, ready);
        if ready.has(NETWORK) {
            self.system.network_readable()?;
        }
        let now = self.look_at_network(now)?;
        if ready.has(SIGNALS) {
            self.heed_signals(now)?;
        }
        if ready.has(JOBS) {
            self.hear_answers(now)?;
        }
        if ready.has(SYSTEM) {
            self.system.own_readable(now)?;
        }
        self.serve_clients(now, ready.has(CONTROL))?;
        self.heed_clients(now);
        self.give_jobs(now);
        self.system.after_turn(now, self.cycle.driver.machine());
        self.keep_house(now);
        Ok(())
    }

    /// Returns the earliest deadline that is not the machine's.
    fn deadline(&self) -> Option<Instant> {
        let give_up = match self.leaving {
            Leaving::Now(at, _) => Some(at),
            Leaving::No | Leaving::WhenReleased => None,
        };
        let deadlines = [
            self.jobs.as_ref().and_then(Jobs::deadline),
            self.server.deadline(),
            self.system.deadline(),
            self.notifier.deadline(),
            Some(self.loop_health.deadline()),
            give_up,
        ];
        deadlines.into_iter().flatten().min()
    }

    /// Counts and logs a late wake-up: peers may have given this node up.
    fn notice_lateness(&mut self, now: Instant) {
        let Some(due) = self.cycle.driver.deadline() else {
            return;
        };
        let late = now.since(due);
        let LateLimits { noticed, harmful } = S::late_limits(self.cycle.driver.machine());
        if late > noticed {
            self.system.count_late_wake_up();
            self.loop_health.late(now, late, harmful);
        }
    }

    fn drive(&mut self, now: Now, ready: ReadyKeys) {
        let environment = &mut self.system.environment();
        if let Err(error) = self.cycle.pump(now, ready, environment) {
            let net = self.system.link_failed(now.monotonic, &error);
            self.cycle
                .driver
                .link_changed(now, net, &mut self.system.environment());
        }
    }

    /// Handles changes of the network. Returns the time after that.
    fn look_at_network(&mut self, mut now: Now) -> Result<Now, Error> {
        for _ in 0..STEPS {
            let looked = self.system.poll_network(now.monotonic, &self.cycle.waiting);
            let Some(net) = looked? else { break };
            // Opening a socket took a while, in which this node could not have answered.
            now = clock::now();
            self.cycle
                .driver
                .link_changed(now, net, &mut self.system.environment());
        }
        Ok(now)
    }

    fn heed_signals(&mut self, now: Now) -> Result<(), Error> {
        for wish in self.signals.drain(now.monotonic) {
            match wish {
                Wish::ExitNow => return Err(Error::Interrupted),
                Wish::ShutDown => {
                    let next = self.system.leave();
                    self.notifier.stopping(next);
                    self.leaving = Leaving::WhenReleased;
                }
                Wish::Report => self.system.report(now, self.cycle.driver.machine()),
                Wish::Nothing(signal) => info!(
                    event = "signal_ignored",
                    signal = signal.as_str(),
                    "{signal} ignored: SIGTERM ends {}, SIGUSR1 logs its status",
                    self.program
                ),
            }
        }
        Ok(())
    }

    /// Passes the answers of jobs to the machine.
    fn hear_answers(&mut self, now: Now) -> Result<(), Error> {
        let Some(jobs) = &self.jobs else {
            return Ok(());
        };
        jobs.heard();
        // One answer a job: the machine bounds how many there are.
        while let Some(answer) = jobs.answer().map_err(Error::system("do jobs"))? {
            self.cycle
                .driver
                .command(now, answer, &mut self.system.environment());
        }
        Ok(())
    }

    /// Passes the machine's jobs to the worker.
    fn give_jobs(&mut self, now: Now) {
        let Some(jobs) = &mut self.jobs else { return };
        while let Some(wanted) = self.cycle.driver.next_job() {
            match wanted {
                JobOp::Start(job) => jobs.give(job),
                JobOp::Cancel => jobs.cancel(),
            }
        }
        jobs.post(now.monotonic);
    }

    fn serve_clients(&mut self, now: Now, ready: bool) -> Result<(), Error> {
        let Self {
            cycle: Cycle { driver, .. },
            system,
            server,
            ..
        } = self;
        let clock = || clock::now().monotonic;
        server.serve(
            now.monotonic,
            ready,
            clock,
            |peer, request, descriptors| match system.answer(
                now,
                peer,
                request,
                descriptors,
                driver.machine(),
            ) {
                Answer::Reply(reply) => Some(reply),
                Answer::Later => None,
                Answer::Command(command, reply) => {
                    driver.command(now, command, &mut system.environment());
                    Some(reply)
                }
            },
        );
        let awaited = self.server.resume().is_none();
        if awaited != self.server_awaited {
            self.server_awaited = awaited;
            if awaited {
                self.cycle.waiting.add(self.server.poller(), CONTROL)?;
            } else {
                self.cycle.waiting.remove(self.server.poller())?;
            }
        }
        Ok(())
    }

    /// Passes clients' wishes to the machine and the outcomes to the clients.
    fn heed_clients(&mut self, now: Now) {
        let Self {
            cycle: Cycle { driver, .. },
            system,
            server,
            ..
        } = self;
        for _ in 0..COMMANDS {
            let Some(command) = system.poll_clients(now, server, driver.machine()) else {
                break;
            };
            driver.command(now, command, &mut system.environment());
        }
        if matches!(self.leaving, Leaving::WhenReleased) && !self.system.is_busy() {
            let ShutDown {
                command,
                patience,
                last_word,
            } = S::shut_down(self.cycle.driver.machine());
            self.leaving = Leaving::Now(now.monotonic + patience, Some(last_word));
            let environment = &mut self.system.environment();
            self.cycle.driver.command(now, command, environment);
        }
    }

    fn keep_house(&mut self, now: Now) {
        if self.loop_health.is_due(now.monotonic) {
            self.loop_health.look_at_log(self.log.lost_lines());
            self.server.look_after_socket();
            self.system.every_second(now);
        }
        let now = now.monotonic;
        self.notifier.feed(now);
        if matches!(self.leaving, Leaving::No) {
            let (system, machine) = (&self.system, self.cycle.driver.machine());
            self.notifier.update(now, || system.condition(machine));
        }
    }
}
