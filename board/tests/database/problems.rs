//! Databases that do not do as they should: each trouble fails a job in time, and is over when it is over.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use ring_board::database::{Complaint, Fault, Kind, Nodes, Setting, Url, Worker, run};
use ring_board::list::Line;
use ring_board::posts::Desk;
use ring_host::Task;
use ring_proto::andrews::{Command, Job, Outcome, Request, Work, Write};
use ring_runtime::worker::Bell;
use ring_segment::PostgreSql;

use crate::place::{Nobody, Place, TIMEOUT, lines, look, query, work};
use crate::pooler::Pooler;
use crate::{Test, named};

pub(crate) fn tests() -> Vec<(&'static str, Test)> {
    named![
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

/// A node's worker, and what it complains of.
struct Bench {
    worker: Worker,
    complaint: Arc<Complaint>,
    jobs: u64,
}

impl Bench {
    fn new(url: Url, timeout: Duration) -> Self {
        let complaint = Arc::new(Complaint::default());
        let worker = Worker::new(Setting {
            url,
            timeout,
            own: 1,
            lines: lines(),
            desk: Arc::new(Desk::default()),
            feed: Arc::new(Nobody),
            complaint: Arc::clone(&complaint),
        });
        let jobs = 0;
        Self {
            worker,
            complaint,
            jobs,
        }
    }

    fn give(&mut self, work: Work) -> Result<Outcome> {
        self.jobs += 1;
        let job = Job {
            id: self.jobs,
            work,
        };
        let Command::Done { outcome, .. } = self.worker.carry_out(job, &Bell::new()?) else {
            anyhow::bail!("no outcome");
        };
        Ok(outcome)
    }

    fn prepared(url: Url, timeout: Duration) -> Result<Self> {
        let mut bench = Self::new(url, timeout);
        let done = bench.give(PREPARE)?;
        ensure!(done == Outcome::Done, "{:?}", bench.complaint.text());
        Ok(bench)
    }

    fn said(&self, words: &str) -> Result<()> {
        let said = self.complaint.text();
        let has = said.as_ref().is_some_and(|text| text.contains(words));
        ensure!(has, "{said:?} is not about {words}");
        Ok(())
    }
}

const PREPARE: Work = Work::Prepare { drop: false };
const TRY: Work = Work::Write(Write::Try);

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

fn a_file_that_is_moved_or_replaced_is_refused_until_it_is_back(place: &Place) -> Result<()> {
    let Url::Sqlite(path) = &place.url else {
        return Ok(());
    };
    let mut bench = Bench::prepared(place.url.clone(), TIMEOUT)?;
    ensure!(bench.give(serve(1))? == Outcome::Done);
    let away = path.with_extension("away");
    fs::rename(path, &away)?;
    for work in [serve(2), TRY, Work::Look] {
        ensure!(bench.give(work)? == Outcome::Failed);
    }
    bench.said("moved or removed")?;
    ensure!(!path.exists(), "it has made another");
    // Somebody puts a copy in its place.
    fs::copy(&away, path)?;
    ensure!(bench.give(serve(3))? == Outcome::Failed);
    bench.said("another file")?;
    fs::rename(&away, path)?;
    ensure!(bench.give(serve(4))? == Outcome::Done);
    ensure!(bench.complaint.text().is_none());
    ensure!(look(place.open()?.as_mut())?.sequence == 4);
    Ok(())
}

/// The process of the server that a worker's session has.
fn backend(place: &Place) -> Result<Option<Pid>> {
    let mut session = place.open()?;
    let rows = query(
        session.as_mut(),
        "SELECT max(pid)::bigint FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()",
    )?;
    let pid = rows.first().context("a row")?.number_if_any(0)?;
    Ok(pid.map(|pid| Pid::from_raw(i32::try_from(pid).expect("it is one"))))
}

fn a_server_that_hangs_is_given_up(place: &Place) -> Result<()> {
    if let Url::Sqlite(_) = place.url {
        return Ok(());
    }
    let timeout = Duration::from_millis(300);
    // On a busy machine a start takes longer than the time that is under test.
    let mut bench = Bench::prepared(place.url.clone(), timeout)?;
    let process = backend(place)?.context("the worker has a session")?;
    kill(process, Signal::SIGSTOP)?;
    let start = Instant::now();
    let outcome = bench.give(Work::Look);
    let took = start.elapsed();
    kill(process, Signal::SIGCONT)?;
    ensure!(
        outcome? == Outcome::Failed && took >= 4 * timeout,
        "{took:?}"
    );
    bench.said("the session is given up")?;
    let give_up = Instant::now() + TIMEOUT;
    while !matches!(bench.give(Work::Look)?, Outcome::Rows(_)) {
        ensure!(Instant::now() < give_up, "{:?}", bench.complaint.text());
    }
    Ok(())
}

fn a_database_that_can_only_be_read_fails_what_writes(place: &Place) -> Result<()> {
    if let Url::Sqlite(_) = place.url {
        return Ok(());
    }
    drop(place.prepared()?);
    let read_only = |is: &str| {
        let mut session = place.open()?;
        let name = place.text().rsplit('/').next().context("a name")?;
        session.define("SET default_transaction_read_only = off")?;
        session.define(&format!(
            "ALTER DATABASE {name} SET default_transaction_read_only = {is}"
        ))?;
        anyhow::Ok(())
    };
    read_only("on")?;
    let mut bench = Bench::new(place.url.clone(), TIMEOUT);
    ensure!(matches!(bench.give(Work::Look)?, Outcome::Rows(_)));
    ensure!(bench.give(TRY)? == Outcome::Failed);
    ensure!(matches!(bench.give(Work::Look)?, Outcome::Rows(_)));
    bench.said("read-only")?;
    read_only("off")?;
    // A session keeps what it was opened with.
    let mut bench = Bench::new(place.url.clone(), TIMEOUT);
    ensure!(bench.give(TRY)? == Outcome::Done);
    Ok(())
}

fn a_lock_of_another_process_fails_what_writes(place: &Place) -> Result<()> {
    drop(place.prepared()?);
    let mut other = place.open()?;
    let lock = match place.url {
        Url::Sqlite(_) => "SELECT 1",
        Url::PostgreSql(_) => "LOCK TABLE nodes IN EXCLUSIVE MODE",
    };
    other.begin(Kind::Write)?;
    other.define(lock)?;
    let mut bench = Bench::new(place.url.clone(), Duration::from_millis(100));
    ensure!(bench.give(TRY)? == Outcome::Failed);
    ensure!(matches!(bench.give(Work::Look)?, Outcome::Rows(_)));
    ensure!(
        bench.complaint.text().is_some(),
        "reading has ended what a write has met"
    );
    other.rollback()?;
    let mut bench = Bench::new(place.url.clone(), TIMEOUT);
    ensure!(bench.give(TRY)? == Outcome::Done);
    Ok(())
}

fn a_pooler_may_give_each_transaction_another_session(place: &Place) -> Result<()> {
    if let Url::Sqlite(_) = place.url {
        return Ok(());
    }
    let pooler = Pooler::before(place.text())?;
    let url: Url = pooler.url().parse()?;
    let mut bench = Bench::prepared(url.clone(), TIMEOUT)?;
    for sequence in 1..=5 {
        ensure!(bench.give(serve(sequence))? == Outcome::Done);
        ensure!(bench.give(TRY)? == Outcome::Done);
        ensure!(matches!(bench.give(Work::Look)?, Outcome::Rows(_)));
    }
    ensure!(pooler.changes() > 10, "{} changes", pooler.changes());
    // What a session was told is no other client's.
    let mut session = url.open(TIMEOUT)?;
    for _ in 0..2 {
        let rows = session.query("SELECT current_setting('statement_timeout')", &[])?;
        ensure!(rows[0].text(0)? == "0", "{rows:?}");
    }
    Ok(())
}

/// A certificate that has signed itself, for `localhost`, and its key.
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

fn tls_is_what_sslmode_says(place: &Place) -> Result<()> {
    if let Url::Sqlite(_) = place.url {
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

/// Prepares the database for a node with a list.
fn prepare(place: &Place, own: u32, list: &[Line]) -> Result<Result<Outcome, Fault>> {
    let mut session = place.open()?;
    let desk = Desk::default();
    let around = ring_board::database::Around {
        desk: &desk,
        feed: &Nobody,
    };
    let nodes = Nodes { own, lines: list };
    Ok(run(session.as_mut(), &nodes, around, &PREPARE))
}

fn another_ring_s_database_is_refused(place: &Place) -> Result<()> {
    drop(place.with_ring(&[1, 2, 3])?);
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
        (1, at(&[1, 2, 3], 0, 7500), "node 2 at 192.0.2.2 port 7400"),
        (11, at(&[1, 2, 3], 10, 7400), "and node 11 in the list"),
        (11, at(&[1, 2, 3], 10, 7500), "none of them"),
    ] {
        let Err(Fault::Failed(why)) = prepare(place, own, &list)? else {
            anyhow::bail!("node {own} was let in: {words}");
        };
        ensure!(why.contains(words) && why.contains("--drop"), "{why}");
    }
    let nodes = query(place.open()?.as_mut(), "SELECT id FROM nodes")?;
    ensure!(nodes.len() == lines().len(), "it has left rows");
    Ok(())
}

fn lists_of_one_ring_may_differ_by_nodes(place: &Place) -> Result<()> {
    let few = &lines()[..3];
    ensure!(prepare(place, 1, few)?? == Outcome::Done);
    ensure!(prepare(place, 4, &lines())?? == Outcome::Done);
    ensure!(prepare(place, 2, few)?? == Outcome::Done);
    let rows = look(place.open()?.as_mut())?;
    ensure!(rows.nodes == [1, 2, 3, 4, 5], "{rows:?}");
    Ok(())
}

fn a_drop_makes_the_rows_those_of_the_list(place: &Place) -> Result<()> {
    let mut session = place.with_ring(&[1, 2])?;
    session.define("UPDATE nodes SET id = 77, port = 1 WHERE id = 5")?;
    ensure!(work(session.as_mut(), 2, &Work::Prepare { drop: true })? == Outcome::Done);
    let rows = look(session.as_mut())?;
    ensure!(
        rows.nodes == [1, 2, 3, 4, 5] && rows.members.is_empty(),
        "{rows:?}"
    );
    Ok(())
}
