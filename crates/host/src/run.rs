//! The daemon's only loop, in one thread.
//!
//! Each iteration waits until a descriptor is ready or a deadline has passed. After the wait, the iteration does a
//! bounded amount of work, and the most urgent work comes first. The order is: messages and timeouts, changes of the
//! network, signals, answers of jobs, the control socket.

use std::path::{self, Path, PathBuf};

use nix::sys::signal::Signal;
use ring_control::NodeName;
use ring_process::sandbox::{self, MissingLimit, Sandbox};
use ring_proto::time::{Instant, Now};
use ring_proto::{JobRequest, Machine};
use ring_runtime::clock;
use ring_runtime::driver::Driver;
use ring_runtime::nice;
use tracing::{debug, info, warn};

use super::descriptor_budget::DescriptorBudget;
use super::jobs::Jobs;
use super::keys::{CONTROL, JOBS, NETWORK, SIGNALS, SYSTEM};
use super::loop_health::LoopHealth;
use super::machine_names::MachineNames;
use super::notify::Notifier;
use super::server::Server;
use super::signals::{SignalAction, Signals};
use super::system::{Answer, LateLimits, Reload, ShutDown, System};
use super::{Error, LogFormat, Program};
use crate::observe::{LogOutput, LogSettings, events};
use ring_runtime::EventLoop;
use ring_runtime::wait::{Reactor, ReadyKeys};

/// Maximum number of network changes that one loop iteration handles.
const NETWORK_CHANGES_MAX: usize = 2;
/// Maximum number of client commands that one loop iteration handles.
const CLIENT_COMMANDS_MAX: usize = 8;
/// Timer slack in nanoseconds: the maximum delay that the kernel may add to a wake-up of the loop. The kernel's
/// default, 50 µs, is long compared with a hop.
const TIMER_SLACK: u32 = 1_000;

/// A process that can run a system. The process has the control socket, the signals and the log.
#[derive(Debug)]
pub struct Host {
    program: Program,
    waiting: Reactor,
    signals: Signals,
    server: Server,
    /// Time at which the process was started.
    started: Now,
    descriptors: DescriptorBudget,
    /// Whether the process runs at an urgent nice value.
    is_prioritized: bool,
    missing_limits: Vec<MissingLimit>,
    log: LogOutput,
}

impl Host {
    /// Makes the control socket and the monitor socket, starts to catch signals, and starts the log. If the log does
    /// not go to the journal, the daemon also writes the holds of locks to files in `hold_dir`. Gives up all
    /// permissions that are not in `sandbox`.
    ///
    /// # Errors
    /// Fails if a socket cannot be made. Also fails if a system call fails that never fails on a healthy system.
    pub fn start(
        program: Program,
        node: NodeName,
        control: &Path,
        log_format: LogFormat,
        verbose: bool,
        hold_dir: Option<PathBuf>,
        mut sandbox: Sandbox,
    ) -> Result<Self, Error> {
        let descriptors = DescriptorBudget::raise_limit_for_clients();
        let server = Server::listen(program, control, descriptors.clients())?;
        let signals = Signals::new().map_err(Error::system("catch signals"))?;
        let waiting = Reactor::new()?;
        waiting.add(&signals, SIGNALS)?;
        waiting.add(server.poller(), CONTROL)?;
        clock::timer_slack(TIMER_SLACK).map_err(Error::system("set the timer slack"))?;
        let is_prioritized = nice::raise_priority(nice::URGENT_NICE).is_ok();
        let control =
            path::absolute(control).map_err(Error::system("find the working directory"))?;
        let directory = control.parent().map(Path::to_owned);
        sandbox.files.write.extend(directory);
        // Start the thread of the log after this call, because a thread keeps the permissions that it has at its start.
        let missing_limits = sandbox.enter();
        let missing_limits = missing_limits.map_err(Error::system("give up capabilities"))?;
        let started = clock::now();
        let mut machines = MachineNames::default();
        let named = move |text: &str| machines.add_names(text);
        let settings = LogSettings {
            json: log_format == LogFormat::Json,
            verbose,
            node,
            hold_dir,
        };
        let log = LogOutput::start(settings, named);
        let log = log
            .map_err(std::io::Error::other)
            .map_err(Error::system("start the log"))?;
        Ok(Self {
            program,
            waiting,
            signals,
            server,
            started,
            descriptors,
            is_prioritized,
            missing_limits,
            log,
        })
    }

    /// Returns the time at which the process was started.
    pub const fn start_time(&self) -> Now {
        self.started
    }

    /// Runs a node until its requested shutdown is complete.
    ///
    /// # Errors
    /// Fails if a system call fails that never fails on a healthy system. Also fails if a second signal arrives before
    /// the shutdown is complete.
    pub fn run<S: System>(self, driver: Driver<S::Machine>, system: S) -> Result<(), Error> {
        self.log_limits();
        let mut daemon = Daemon {
            program: self.program,
            cycle: EventLoop::new(driver, self.waiting, system.busy_poll()),
            jobs: None,
            signals: self.signals,
            server: self.server,
            server_awaited: true,
            notifier: Notifier::new(),
            loop_health: LoopHealth::new(),
            shutdown: Shutdown::No,
            system,
            log: self.log,
        };
        daemon.start()?;
        daemon.run()
    }

    fn log_limits(&self) {
        self.descriptors.log_limit();
        if !self.is_prioritized {
            debug!(
                event = events::NICE_DENIED,
                "cannot run at nice {}: CAP_SYS_NICE is missing; on a busy machine this node may be late",
                nice::URGENT_NICE
            );
        }
        for MissingLimit { limit, why } in &self.missing_limits {
            warn!(
                event = events::SANDBOX_INCOMPLETE,
                limit,
                "cannot limit the {limit} of this daemon: {why}; the daemon works, but has more permissions than it \
                 needs"
            );
        }
    }
}

#[derive(Debug)]
enum Shutdown<C> {
    No,
    /// A local client still uses the token. The shutdown begins when this client has ended its work.
    WhenReleased,
    /// The machine shuts down. If the shutdown is not complete at this time, the loop gives the machine the last
    /// command, and ends.
    Now(Instant, Option<C>),
}

/// All parts of the running daemon. Rust drops the fields in their order. The server is dropped before the system:
/// until then, the lock of the system prevents other daemons from using the path of the socket. The log is dropped
/// last.
struct Daemon<S: System> {
    program: Program,
    cycle: EventLoop<S::Machine>,
    jobs: Option<Jobs<S::Task>>,
    signals: Signals,
    server: Server,
    /// Whether the loop waits for the poller of the server.
    server_awaited: bool,
    notifier: Notifier<S::Condition>,
    loop_health: LoopHealth,
    shutdown: Shutdown<<S::Machine as Machine>::Command>,
    system: S,
    log: LogOutput,
}

impl<S: System> Daemon<S> {
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
        self.notifier.send_ready();
        // Requests that an earlier run has stored, such as a pause, must take effect before the first message.
        self.apply_client_commands(clock::now());
        let now = self.poll_network(clock::now())?;
        self.dispatch_jobs(now);
        let result = loop {
            if S::is_finished(self.cycle.driver.machine()) {
                break Ok(());
            }
            if let Some((now, last_word)) = self.take_last_command() {
                self.cycle
                    .driver
                    .command(now, last_word, &mut self.system.environment());
                break Ok(());
            }
            if let Err(error) = self.run_iteration() {
                break Err(error);
            }
        };
        self.notifier
            .stopping("running the hooks for the daemon's end");
        if let Some(jobs) = &self.jobs {
            jobs.cancel_all();
        }
        let mut is_urgent = matches!(result, Err(Error::Interrupted));
        let signals = &mut self.signals;
        let mut is_over = || {
            let mut actions = signals.drain(clock::now().monotonic);
            is_urgent |= actions.any(|action| action == SignalAction::ExitNow);
            is_urgent
        };
        self.system.finish(clock::now(), &mut is_over);
        if let Some(jobs) = &self.jobs {
            jobs.join(is_over);
        }
        log_denied_call();
        info!(event = events::STOPPED, "stopped");
        result
    }

    /// If the shutdown takes too long, returns the current time and the last command for the machine.
    fn take_last_command(&mut self) -> Option<(Now, <S::Machine as Machine>::Command)> {
        let Shutdown::Now(at, last_word) = &mut self.shutdown else {
            return None;
        };
        let now = clock::now();
        let is_over = now.monotonic >= *at;
        last_word.take_if(|_| is_over).map(|word| (now, word))
    }

    fn run_iteration(&mut self) -> Result<(), Error> {
        let deadline = self.deadline();
        let link = self.system.environment().link;
        let (ready, now) = self.cycle.wait(link, deadline)?;
        self.check_lateness(now.monotonic);
        self.drive(now, ready);
        if ready.has(NETWORK) {
            self.system.on_network_readable()?;
        }
        let now = self.poll_network(now)?;
        if ready.has(SIGNALS) {
            self.handle_signals(now)?;
        }
        if ready.has(JOBS) {
            self.collect_job_results(now)?;
        }
        if ready.has(SYSTEM) {
            self.system.on_system_readable(now)?;
        }
        self.serve_clients(now, ready.has(CONTROL))?;
        self.apply_client_commands(now);
        self.dispatch_jobs(now);
        self.system
            .on_iteration_end(now, self.cycle.driver.machine());
        self.do_housekeeping(now);
        Ok(())
    }

    /// Returns the earliest deadline of all parts except the machine.
    fn deadline(&self) -> Option<Instant> {
        let give_up = match self.shutdown {
            Shutdown::Now(at, _) => Some(at),
            Shutdown::No | Shutdown::WhenReleased => None,
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

    /// Counts and logs a late wake-up, because peers may act as if this node were dead.
    fn check_lateness(&mut self, now: Instant) {
        let Some(due) = self.cycle.driver.deadline() else {
            return;
        };
        let late = now.since(due);
        let LateLimits {
            log_after: noticed,
            fail_after: harmful,
        } = S::late_limits(self.cycle.driver.machine());
        if late > noticed {
            self.system.count_late_wake_up(late);
            self.loop_health.on_late_wake_up(now, late, harmful);
        }
    }

    fn drive(&mut self, now: Now, ready: ReadyKeys) {
        let environment = &mut self.system.environment();
        if let Err(error) = self.cycle.pump(now, ready, environment) {
            let net = self.system.on_link_failed(now.monotonic, &error);
            self.cycle
                .driver
                .link_changed(now, net, &mut self.system.environment());
        }
    }

    /// Handles changes of the network. Returns the time after this work.
    fn poll_network(&mut self, mut now: Now) -> Result<Now, Error> {
        for _ in 0..NETWORK_CHANGES_MAX {
            let looked = self.system.poll_network(now.monotonic, &self.cycle.waiting);
            let Some(net) = looked? else { break };
            // Read the clock again, because the change may have opened a socket, and opening a socket takes time.
            now = clock::now();
            self.cycle
                .driver
                .link_changed(now, net, &mut self.system.environment());
        }
        Ok(now)
    }

    fn handle_signals(&mut self, now: Now) -> Result<(), Error> {
        let actions: Vec<_> = self.signals.drain(now.monotonic).collect();
        for action in actions {
            match action {
                SignalAction::ExitNow => return Err(Error::Interrupted),
                SignalAction::ShutDown => {
                    let next = self.system.begin_shutdown();
                    self.notifier.stopping(next);
                    self.shutdown = Shutdown::WhenReleased;
                }
                SignalAction::Reload => self.reload(now),
                SignalAction::Report => self.system.report(now, self.cycle.driver.machine()),
                SignalAction::Nothing(signal) => self.log_ignored(signal),
            }
        }
        Ok(())
    }

    fn reload(&mut self, now: Now) {
        match self.system.reload(&self.log) {
            Reload::Done(command) => {
                if let Some(command) = command {
                    let environment = &mut self.system.environment();
                    self.cycle.driver.command(now, command, environment);
                }
            }
            Reload::Unsupported => self.log_ignored(Signal::SIGHUP),
        }
    }

    fn log_ignored(&self, signal: Signal) {
        info!(
            event = events::SIGNAL_IGNORED,
            signal = signal.as_str(),
            "{signal} ignored: SIGTERM ends {}, SIGUSR1 logs its status",
            self.program
        );
    }

    /// Gives the answers of jobs to the machine.
    fn collect_job_results(&mut self, now: Now) -> Result<(), Error> {
        let Some(jobs) = &self.jobs else {
            return Ok(());
        };
        jobs.drain();
        // This loop ends: there is one answer per job, and the machine limits the number of jobs.
        while let Some(answer) = jobs.next_answer().map_err(Error::system("do jobs"))? {
            self.cycle
                .driver
                .command(now, answer, &mut self.system.environment());
        }
        Ok(())
    }

    /// Gives the machine's jobs to the worker.
    fn dispatch_jobs(&mut self, now: Now) {
        let Some(jobs) = &mut self.jobs else { return };
        while let Some(wanted) = self.cycle.driver.next_job() {
            match wanted {
                JobRequest::Start(job) => jobs.add(job),
                JobRequest::Cancel => jobs.cancel(),
            }
        }
        jobs.post(now.monotonic);
    }

    fn serve_clients(&mut self, now: Now, ready: bool) -> Result<(), Error> {
        let Self {
            cycle: EventLoop { driver, .. },
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
        let is_awaited = self.server.resume().is_none();
        if is_awaited != self.server_awaited {
            self.server_awaited = is_awaited;
            if is_awaited {
                self.cycle.waiting.add(self.server.poller(), CONTROL)?;
            } else {
                self.cycle.waiting.remove(self.server.poller())?;
            }
        }
        Ok(())
    }

    /// Gives the commands of clients to the machine, and replies to the clients.
    fn apply_client_commands(&mut self, now: Now) {
        let Self {
            cycle: EventLoop { driver, .. },
            system,
            server,
            ..
        } = self;
        for _ in 0..CLIENT_COMMANDS_MAX {
            let Some(command) = system.poll_clients(now, server, driver.machine()) else {
                break;
            };
            driver.command(now, command, &mut system.environment());
        }
        if matches!(self.shutdown, Shutdown::WhenReleased) && !self.system.is_busy() {
            let ShutDown {
                command,
                timeout: patience,
                last_command: last_word,
            } = S::shut_down(self.cycle.driver.machine());
            self.shutdown = Shutdown::Now(now.monotonic + patience, Some(last_word));
            let environment = &mut self.system.environment();
            self.cycle.driver.command(now, command, environment);
        }
    }

    fn do_housekeeping(&mut self, now: Now) {
        if self.loop_health.take_due_check(now.monotonic) {
            self.loop_health.report_lost_lines(self.log.lost_lines());
            self.loop_health.report_lost_holds(self.log.lost_holds());
            self.server.check_sockets();
            log_denied_call();
            self.system.note_busy_poll(self.cycle.busy_poll_work());
            self.system.on_second(now);
        }
        let now = now.monotonic;
        self.notifier.feed(now);
        if matches!(self.shutdown, Shutdown::No) {
            let (system, machine) = (&self.system, self.cycle.driver.machine());
            self.notifier.update(now, || system.condition(machine));
        }
    }
}

/// Logs a system call that the sandbox denied.
fn log_denied_call() {
    if let Some(call) = sandbox::take_denied_call() {
        warn!(
            event = events::CALL_DENIED,
            call,
            "the sandbox denied the system call {call}: a bug of this version, or an attack; report it with this line"
        );
    }
}
