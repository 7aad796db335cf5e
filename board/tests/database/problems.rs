//! Databases with problems. While a database has a problem, each job fails within the job's time limit. After the end
//! of the problem, jobs succeed again.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use ring_board::database::{
    CurrentFault, Fault, ListedNodes, TransactionKind, Url, Worker, WorkerOptions, run,
};
use ring_board::list::ListedNode;
use ring_board::posts::PendingRequests;
use ring_host::Task;
use ring_proto::andrews::{Command, Job, Outcome, Request, Work, Write};
use ring_runtime::worker::WakeUp;
use ring_segment::PostgreSql;

use crate::pooler::Pooler;
use crate::test_database::{NoListeners, TIMEOUT, TestDatabase, lines, look, query, work};
use crate::{Test, test_list};

pub(crate) fn tests() -> Vec<(&'static str, Test)> {
    test_list![
        a_file_that_is_moved_or_replaced_is_refused_until_it_is_back,
        a_server_that_hangs_is_given_up,
        a_database_that_can_only_be_read_fails_what_writes,
        a_lock_of_another_process_fails_what_writes,
        a_pooler_may_give_each_transaction_another_session,
        tls_is_what_sslmode_says,
        another_ring_s_database_is_refused,
        lists_of_one_ring_may_differ_by_nodes,
        a_drop_makes_the_rows_those_of_the_list,
    ]
}

/// A worker and its current fault.
struct TestWorker {
    worker: Worker,
    current_fault: Arc<CurrentFault>,
    jobs: u64,
}

impl TestWorker {
    fn new(url: Url, timeout: Duration) -> Self {
        let current_fault = Arc::new(CurrentFault::default());
        let worker = Worker::new(WorkerOptions {
            url,
            timeout,
            own: 1,
            lines: lines(),
            pending: Arc::new(PendingRequests::default()),
            feed: Arc::new(NoListeners),
            current_fault: Arc::clone(&current_fault),
        });
        let jobs = 0;
        Self {
            worker,
            current_fault,
            jobs,
        }
    }

    fn run(&mut self, work: Work) -> Result<Outcome> {
        self.jobs += 1;
        let job = Job {
            id: self.jobs,
            work,
        };
        let Command::Done { outcome, .. } = self.worker.run_job(job, &WakeUp::new()?) else {
            anyhow::bail!("no outcome");
        };
        Ok(outcome)
    }

    fn open_prepared(url: Url, timeout: Duration) -> Result<Self> {
        let mut worker = Self::new(url, timeout);
        let done = worker.run(PREPARE)?;
        ensure!(done == Outcome::Done, "{:?}", worker.current_fault.text());
        Ok(worker)
    }

    fn expect_fault(&self, words: &str) -> Result<()> {
        let text = self.current_fault.text();
        let has = text.as_ref().is_some_and(|text| text.contains(words));
        ensure!(has, "{text:?} is not about {words}");
        Ok(())
    }
}

const PREPARE: Work = Work::Prepare { drop: false };
const TRY: Work = Work::Write(Write::Test);

fn serve(sequence: u64) -> Work {
    let post = Request {
        id: sequence,
        is_post: true,
    };
    Work::Serve {
        sequence,
        requests: vec![post],
        feed: false,
    }
}

fn a_file_that_is_moved_or_replaced_is_refused_until_it_is_back(
    database: &TestDatabase,
) -> Result<()> {
    let Url::Sqlite(path) = &database.url else {
        return Ok(());
    };
    let mut worker = TestWorker::open_prepared(database.url.clone(), TIMEOUT)?;
    ensure!(worker.run(serve(1))? == Outcome::Done);
    let away = path.with_extension("away");
    fs::rename(path, &away)?;
    for work in [serve(2), TRY, Work::ReadRing] {
        ensure!(worker.run(work)? == Outcome::Failed);
    }
    worker.expect_fault("moved or removed")?;
    ensure!(!path.exists(), "it has made another");
    // A copy takes the place of the file.
    fs::copy(&away, path)?;
    ensure!(worker.run(serve(3))? == Outcome::Failed);
    worker.expect_fault("another file")?;
    fs::rename(&away, path)?;
    ensure!(worker.run(serve(4))? == Outcome::Done);
    ensure!(worker.current_fault.text().is_none());
    ensure!(look(database.open()?.as_mut())?.sequence == 4);
    Ok(())
}

/// Returns the id of the server's process that serves the worker's session.
fn backend(database: &TestDatabase) -> Result<Option<Pid>> {
    let mut session = database.open()?;
    let rows = query(
        session.as_mut(),
        "SELECT max(pid)::bigint FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()",
    )?;
    let pid = rows.first().context("a row")?.number_if_any(0)?;
    Ok(pid.map(|pid| Pid::from_raw(i32::try_from(pid).expect("it is one"))))
}

fn a_server_that_hangs_is_given_up(database: &TestDatabase) -> Result<()> {
    if let Url::Sqlite(_) = database.url {
        return Ok(());
    }
    let timeout = Duration::from_millis(300);
    // The start uses a longer timeout, because it may take longer on a busy machine.
    let mut worker = TestWorker::open_prepared(database.url.clone(), timeout)?;
    let process = backend(database)?.context("the worker has a session")?;
    kill(process, Signal::SIGSTOP)?;
    let start = Instant::now();
    let outcome = worker.run(Work::ReadRing);
    let took = start.elapsed();
    kill(process, Signal::SIGCONT)?;
    ensure!(
        outcome? == Outcome::Failed && took >= 4 * timeout,
        "{took:?}"
    );
    worker.expect_fault("gave up the session")?;
    let give_up = Instant::now() + TIMEOUT;
    while !matches!(worker.run(Work::ReadRing)?, Outcome::Rows(_)) {
        ensure!(
            Instant::now() < give_up,
            "{:?}",
            worker.current_fault.text()
        );
    }
    Ok(())
}

fn a_database_that_can_only_be_read_fails_what_writes(database: &TestDatabase) -> Result<()> {
    if let Url::Sqlite(_) = database.url {
        return Ok(());
    }
    drop(database.open_prepared()?);
    let read_only = |is: &str| {
        let mut session = database.open()?;
        let name = database.url_text().rsplit('/').next().context("a name")?;
        session.define("SET default_transaction_read_only = off")?;
        session.define(&format!(
            "ALTER DATABASE {name} SET default_transaction_read_only = {is}"
        ))?;
        anyhow::Ok(())
    };
    read_only("on")?;
    let mut worker = TestWorker::new(database.url.clone(), TIMEOUT);
    ensure!(matches!(worker.run(Work::ReadRing)?, Outcome::Rows(_)));
    ensure!(worker.run(TRY)? == Outcome::Failed);
    ensure!(matches!(worker.run(Work::ReadRing)?, Outcome::Rows(_)));
    worker.expect_fault("read-only")?;
    read_only("off")?;
    // A session keeps the setting that was valid at its start.
    let mut worker = TestWorker::new(database.url.clone(), TIMEOUT);
    ensure!(worker.run(TRY)? == Outcome::Done);
    Ok(())
}

fn a_lock_of_another_process_fails_what_writes(database: &TestDatabase) -> Result<()> {
    drop(database.open_prepared()?);
    let mut other = database.open()?;
    let lock = match database.url {
        Url::Sqlite(_) => "SELECT 1",
        Url::PostgreSql(_) => "LOCK TABLE nodes IN EXCLUSIVE MODE",
    };
    other.begin(TransactionKind::Write)?;
    other.define(lock)?;
    let mut worker = TestWorker::new(database.url.clone(), Duration::from_millis(100));
    ensure!(worker.run(TRY)? == Outcome::Failed);
    ensure!(matches!(worker.run(Work::ReadRing)?, Outcome::Rows(_)));
    ensure!(
        worker.current_fault.text().is_some(),
        "reading has ended what a write has met"
    );
    other.rollback()?;
    let mut worker = TestWorker::new(database.url.clone(), TIMEOUT);
    ensure!(worker.run(TRY)? == Outcome::Done);
    Ok(())
}

fn a_pooler_may_give_each_transaction_another_session(database: &TestDatabase) -> Result<()> {
    if let Url::Sqlite(_) = database.url {
        return Ok(());
    }
    let pooler = Pooler::in_front_of(database.url_text())?;
    let url: Url = pooler.url().parse()?;
    let mut worker = TestWorker::open_prepared(url.clone(), TIMEOUT)?;
    for sequence in 1..=5 {
        ensure!(worker.run(serve(sequence))? == Outcome::Done);
        ensure!(worker.run(TRY)? == Outcome::Done);
        ensure!(matches!(worker.run(Work::ReadRing)?, Outcome::Rows(_)));
    }
    ensure!(pooler.changes() > 10, "{} changes", pooler.changes());
    // Settings of one client must not reach another.
    let mut session = url.open(TIMEOUT)?;
    for _ in 0..2 {
        let rows = session.query("SELECT current_setting('statement_timeout')", &[])?;
        ensure!(rows[0].text(0)? == "0", "{rows:?}");
    }
    Ok(())
}

/// Creates a self-signed certificate for `localhost`. Returns the path and the text of the certificate, and its key.
fn certificate(folder: &Path) -> Result<(PathBuf, String, String)> {
    let (certificate, key) = (folder.join("cert.pem"), folder.join("key.pem"));
    let made = std::process::Command::new("openssl")
        .args([
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:P-256",
            "-nodes",
        ])
        .args([
            "-subj",
            "/CN=localhost",
            "-addext",
            "subjectAltName=DNS:localhost",
        ])
        .arg("-keyout")
        .arg(&key)
        .arg("-out")
        .arg(&certificate)
        .output()
        .context("openssl is needed: apt-get install openssl")?;
    ensure!(made.status.success(), "{made:?}");
    let texts = (fs::read_to_string(&certificate)?, fs::read_to_string(key)?);
    Ok((certificate, texts.0, texts.1))
}

fn tls_is_what_sslmode_says(database: &TestDatabase) -> Result<()> {
    if let Url::Sqlite(_) = database.url {
        return Ok(());
    }
    let folder = tempfile::tempdir()?;
    let (roots, text, key) = certificate(folder.path())?;
    let foreign = tempfile::tempdir()?;
    let (foreign, ..) = certificate(foreign.path())?;
    let mut server = PostgreSql::start(tempfile::tempdir()?)?;
    let port = TcpListener::bind(("localhost", 0))?.local_addr()?.port();
    server.launch_with_tls(port, &text, &key)?;
    let open = |host: &str, mode: &str, roots: Option<&Path>| {
        let roots = roots.map(|it| format!("&sslrootcert={}", it.display()));
        let roots = roots.unwrap_or_default();
        let url = format!("postgres://postgres@{host}:{port}/postgres?sslmode={mode}{roots}");
        anyhow::Ok(url.parse::<Url>()?.open(TIMEOUT))
    };
    let (roots, foreign) = (Some(&*roots), Some(&*foreign));
    for (host, mode, roots, is_protected) in [
        ("localhost", "disable", None, false),
        ("localhost", "prefer", None, true),
        ("localhost", "require", None, true),
        ("127.0.0.1", "verify-ca", roots, true),
        ("localhost", "verify-full", roots, true),
    ] {
        let mut session = open(host, mode, roots)??;
        let rows = session.query(
            "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()",
            &[],
        )?;
        ensure!(
            (rows[0].number(0)? == 1) == is_protected,
            "{mode}: {rows:?}"
        );
    }
    for (host, mode, roots) in [
        ("127.0.0.1", "verify-full", roots),
        ("localhost", "verify-full", foreign),
        ("localhost", "verify-ca", foreign),
        ("localhost", "require", foreign),
        ("localhost", "verify-full", None),
    ] {
        let refused = open(host, mode, roots)?.err();
        let why = refused.map(|fault| fault.to_string());
        let is_refused = why.as_ref().is_some_and(|why| why.contains("certificate"));
        ensure!(is_refused, "{host} {mode} {roots:?}: {why:?}");
    }
    Ok(())
}

fn prepare(
    database: &TestDatabase,
    own: u32,
    list: &[ListedNode],
) -> Result<Result<Outcome, Fault>> {
    let mut session = database.open()?;
    let pending = PendingRequests::default();
    let context = ring_board::database::VisitContext {
        pending: &pending,
        feed: &NoListeners,
    };
    let nodes = ListedNodes { own, lines: list };
    Ok(run(session.as_mut(), &nodes, context, &PREPARE))
}

fn another_ring_s_database_is_refused(database: &TestDatabase) -> Result<()> {
    drop(database.with_ring(&[1, 2, 3])?);
    let at = |ids: &[u32], add: u32, port: u16| {
        let mut list = lines();
        list.truncate(ids.len());
        for (line, id) in list.iter_mut().zip(ids) {
            line.id = id + add;
            line.ring.set_port(port);
        }
        list
    };
    for (own, list, words) in [
        (
            1,
            at(&[1, 2, 3], 0, 7500),
            "node 2 is at 192.0.2.2 port 7400",
        ),
        (11, at(&[1, 2, 3], 10, 7400), "node 11 is at this address"),
        (
            11,
            at(&[1, 2, 3], 10, 7500),
            "none of them at the same address",
        ),
    ] {
        let Err(Fault::Failed(why)) = prepare(database, own, &list)? else {
            anyhow::bail!("node {own} was let in: {words}");
        };
        ensure!(why.contains(words) && why.contains("--drop"), "{why}");
    }
    let nodes = query(database.open()?.as_mut(), "SELECT id FROM nodes")?;
    ensure!(nodes.len() == lines().len(), "it has left rows");
    Ok(())
}

fn lists_of_one_ring_may_differ_by_nodes(database: &TestDatabase) -> Result<()> {
    let few = &lines()[..3];
    ensure!(prepare(database, 1, few)?? == Outcome::Done);
    ensure!(prepare(database, 4, &lines())?? == Outcome::Done);
    ensure!(prepare(database, 2, few)?? == Outcome::Done);
    let rows = look(database.open()?.as_mut())?;
    ensure!(rows.nodes == [1, 2, 3, 4, 5], "{rows:?}");
    Ok(())
}

fn a_drop_makes_the_rows_those_of_the_list(database: &TestDatabase) -> Result<()> {
    let mut session = database.with_ring(&[1, 2])?;
    session.define("UPDATE nodes SET id = 77, port = 1 WHERE id = 5")?;
    ensure!(work(session.as_mut(), 2, &Work::Prepare { drop: true })? == Outcome::Done);
    let rows = look(session.as_mut())?;
    ensure!(
        rows.nodes == [1, 2, 3, 4, 5] && rows.members.is_empty(),
        "{rows:?}"
    );
    Ok(())
}
