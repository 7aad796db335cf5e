//! `ringctl lock` and `ringctl unlock`: locks that are bound to a process or an open pipe.

use std::fs;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use serde_json::{Value, json};
use xxhash_rust::xxh3::xxh3_64;

use crate::fake::{Client, ENDLESS_LEASE, FakeDaemon};
use crate::program::{RINGCTL, Running, ringctl};
use ring_segment::limit::wait_until;

tests! {
    a_lock_lasts_as_long_as_the_process_that_it_is_bound_to,
    unlock_releases_a_lock_once,
    no_other_user_can_replace_a_keeper,
    the_files_of_a_killed_keeper_are_replaced_and_removed,
    exclusive silent_connections_do_not_delay_the_keeper,
    a_process_has_one_lock,
    with_kill_the_process_gets_sigterm_after_the_loss,
    after_a_loss_the_lock_is_not_held,
    an_ended_wait_gives_up_its_place,
    a_script_holds_a_lock_by_an_open_descriptor,
    a_pipe_ends_when_the_lock_is_lost,
    a_closed_pipe_ends_with_success_though_the_daemon_is_stopped,
}

pub(crate) const TOKEN: &str = "1795-02:00:00:00:00:01-7";

/// A script that only sleeps. It ends when the test ends.
struct Script(Child);

impl Script {
    fn start() -> Self {
        let sleep = Command::new("sleep").arg("1000").spawn();
        Self(sleep.expect("a process"))
    }

    fn pid(&self) -> String {
        self.0.id().to_string()
    }

    fn kill(&mut self) {
        self.0.kill().expect("it is our child");
        self.0.wait().expect("it is our child");
    }
}

impl Drop for Script {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub(crate) fn start(fake: &FakeDaemon, arguments: &[&str]) -> Running {
    Running::start(ringctl(fake).args(arguments).stdin(Stdio::null()))
}

/// Acquires a lock that is bound to the script, with these additional options.
fn lock(fake: &FakeDaemon, script: &Script, options: &[&str]) -> Client {
    let pid = script.pid();
    let mut lock = start(fake, &[&["lock", "--pid", &pid], options].concat());
    let client = fake.accept_and_grant(ENDLESS_LEASE);
    assert_eq!(lock.rest(), format!("{TOKEN}\n"));
    assert_eq!(lock.code(), Some(0));
    client
}

fn a_lock_lasts_as_long_as_the_process_that_it_is_bound_to() {
    let fake = FakeDaemon::new();
    let mut script = Script::start();
    let mut client = lock(&fake, &script, &[]);
    let mut check = start(&fake, &["lock", "--check", "--pid", &script.pid()]);
    assert_eq!(check.line(), TOKEN);
    assert_eq!(check.code(), Some(0));
    script.kill();
    client.wait_for_unlock();
    assert_eq!(client.request(), Value::Null);
}

fn unlock_releases_a_lock_once() {
    let fake = FakeDaemon::new();
    let script = Script::start();
    let mut client = lock(&fake, &script, &[]);
    let mut unlock = start(&fake, &["unlock", "--pid", &script.pid()]);
    client.wait_for_unlock();
    assert_eq!(unlock.code(), Some(0));
    assert_eq!(client.request(), Value::Null);
    for again in [&["unlock"][..], &["lock", "--check"]] {
        let pid = script.pid();
        let mut again = start(&fake, &[again, &["--pid", &pid]].concat());
        assert_eq!(again.code(), Some(1));
    }
}

/// Connects to the keeper of this script's lock.
fn connection(fake: &FakeDaemon, script: &Script) -> UnixStream {
    UnixStream::connect(registration(fake, script).expect("it has one")).unwrap()
}

/// If a keeper holds the script's lock, returns this keeper's socket.
fn registration(fake: &FakeDaemon, script: &Script) -> Option<PathBuf> {
    let space = fs::metadata("/proc/self/ns/pid").unwrap().ino();
    let start = format!("keeper-{space}-{}-", script.pid());
    let beside = fs::read_dir(fake.path().parent().unwrap()).unwrap();
    let mut sockets = beside
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.file_type().unwrap().is_socket());
    let found = sockets.find(|entry| entry.file_name().to_str().unwrap().starts_with(&start));
    found.map(|entry| entry.path())
}

fn no_other_user_can_replace_a_keeper() {
    let fake = FakeDaemon::new();
    let script = Script::start();
    // An earlier version used a socket with this name. Any user can create such a socket.
    let space = fs::metadata("/proc/self/ns/pid").unwrap().ino();
    let daemon = xxh3_64(fake.path().as_os_str().as_encoded_bytes());
    let name = format!("ringctl/{space}/{}/{daemon:016x}", script.pid());
    let address = SocketAddr::from_abstract_name(name).unwrap();
    let _occupied = UnixListener::bind_addr(&address).unwrap();
    let _client = lock(&fake, &script, &[]);
    let registration = registration(&fake, &script).expect("it has one");
    let mode = fs::metadata(registration).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

fn the_files_of_a_killed_keeper_are_replaced_and_removed() {
    let fake = FakeDaemon::new();
    let script = Script::start();
    let client = lock(&fake, &script, &[]);
    kill(client.pid(), Signal::SIGKILL).unwrap();
    let left = registration(&fake, &script).expect("it has one");
    wait_until("its keeper is gone", || UnixStream::connect(&left).is_err());
    let mut client = lock(&fake, &script, &[]);
    let mut unlock = start(&fake, &["unlock", "--pid", &script.pid()]);
    client.wait_for_unlock();
    assert_eq!(unlock.code(), Some(0));
    assert_eq!(client.request(), Value::Null);
    wait_until("it leaves nothing behind", || {
        fs::read_dir(fake.path().parent().unwrap()).unwrap().count() == 1
    });
}

fn silent_connections_do_not_delay_the_keeper() {
    let fake = FakeDaemon::new();
    let script = Script::start();
    let _client = lock(&fake, &script, &[]);
    // If the keeper waited for each connection for a moment, the delays would add up.
    let connections: Vec<_> = (0..40).map(|_| connection(&fake, &script)).collect();
    let asked = Instant::now();
    let mut check = start(&fake, &["lock", "--check", "--pid", &script.pid()]);
    assert_eq!(check.line(), TOKEN);
    assert!(
        asked.elapsed() < Duration::from_secs(15),
        "the keeper was delayed"
    );
    drop(connections);
}

fn a_process_has_one_lock() {
    let fake = FakeDaemon::new();
    let script = Script::start();
    let _client = lock(&fake, &script, &[]);
    let mut second = start(&fake, &["lock", "--pid", &script.pid()]);
    let (status, stderr) = second.end();
    assert_eq!(status.code(), Some(1));
    assert!(stderr.contains("already has a lock"), "{stderr}");
}

fn with_kill_the_process_gets_sigterm_after_the_loss() {
    let fake = FakeDaemon::new();
    let mut script = Script::start();
    let mut client = lock(&fake, &script, &["--kill"]);
    client.lose(Duration::from_secs(60));
    client.wait_for_unlock();
    let mut ended = None;
    wait_until("it ends", || {
        ended = script.0.try_wait().unwrap();
        ended.is_some()
    });
    let signal = ended.and_then(|status| status.signal());
    assert_eq!(signal, Some(Signal::SIGTERM as i32));
}

fn after_a_loss_the_lock_is_not_held() {
    let fake = FakeDaemon::new();
    let script = Script::start();
    let mut client = lock(&fake, &script, &[]);
    client.lose(Duration::from_secs(60));
    client.wait_for_unlock();
    assert_eq!(client.request(), Value::Null);
    let mut check = start(&fake, &["lock", "--check", "--pid", &script.pid()]);
    assert_eq!(check.code(), Some(1));
}

fn an_ended_wait_gives_up_its_place() {
    let fake = FakeDaemon::new();
    let script = Script::start();
    let mut lock = start(&fake, &["lock", "-w", "60", "--pid", &script.pid()]);
    let mut client = fake.next_client();
    assert_eq!(
        client.request(),
        json!({"request": "lock", "label": "lock", "wait_ms": 60_000})
    );
    lock.signal(Signal::SIGINT);
    assert_eq!(lock.killed_by(), Some(Signal::SIGINT));
    assert_eq!(client.request(), Value::Null);
}

fn a_script_holds_a_lock_by_an_open_descriptor() {
    let fake = FakeDaemon::new();
    let fifo = fake.file("lock");
    let script = format!(
        "mkfifo {fifo}; {RINGCTL} --socket {socket} lock --pipe > {fifo} & \
         exec 9< {fifo}; rm {fifo}; read -r token <&9 || exit 9; echo $token; \
         sleep 1000 & helper=$!; exec 9<&-; read go; kill $helper; read go",
        fifo = fifo.display(),
        socket = fake.path().display()
    );
    let mut command = Command::new("sh");
    command.args(["-c", &script]).stdin(Stdio::piped());
    let mut script = Running::start(&mut command);
    let mut client = fake.accept_and_grant(ENDLESS_LEASE);
    client.renew(ENDLESS_LEASE);
    // The helper has inherited the descriptor, so the lock is released only after the end of the helper.
    script.write_input(b"go\n");
    client.wait_for_unlock();
    script.close_input();
    script.end();
}

fn a_pipe_ends_when_the_lock_is_lost() {
    let fake = FakeDaemon::new();
    let mut lock = start(&fake, &["lock", "--pipe"]);
    let mut client = fake.accept_and_grant(ENDLESS_LEASE);
    assert_eq!(lock.line(), TOKEN);
    client.lose(Duration::from_secs(60));
    assert_eq!(lock.rest(), "");
    assert_eq!(lock.code(), Some(75));
}

fn a_closed_pipe_ends_with_success_though_the_daemon_is_stopped() {
    let fake = FakeDaemon::new();
    let mut lock = start(&fake, &["lock", "--pipe"]);
    let mut client = fake.next_client();
    client.request();
    client.grant(Duration::from_secs(4));
    assert_eq!(lock.line(), TOKEN);
    lock.close_output();
    assert_eq!(client.request()["request"], "unlock");
    assert_eq!(lock.code(), Some(0));
}
