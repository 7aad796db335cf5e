//! `ringctl exporter` as a process, and its answers to clients.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStderr, Stdio};
use std::thread;

use anyhow::{Context, Result, ensure};
use nix::sys::signal::Signal;
use ring_segment::limit::TextReader;
use ring_segment::{Daemon, Layout, Ring, Test, WAIT_LIMIT, binaries, tests};

use super::openmetrics::Metrics;
use super::wait_until;
use crate::locks::{ringctl, shared_ring, timing};

pub(super) fn tests() -> Vec<Test> {
    tests![
        the_exporter_serves_the_metrics_of_a_live_and_a_dead_daemon,
        the_exporter_answers_only_requests_for_metrics,
        clients_that_send_nothing_do_not_delay_a_scrape,
        the_exporter_reports_an_address_that_it_cannot_use,
    ]
}

/// A running exporter at a free port. It is killed on drop.
struct Exporter {
    process: Child,
    log: TextReader<ChildStderr>,
    address: String,
}

impl Drop for Exporter {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Exporter {
    fn start(daemon: &Daemon) -> Result<Self> {
        let mut command = ringctl(daemon, &["exporter", "--listen", "127.0.0.1:0"]);
        let mut process = command.stderr(Stdio::piped()).spawn()?;
        let stderr = process.stderr.take().context("the stream is piped")?;
        let mut log = TextReader::new(stderr);
        let line = log.take_to("\n").trim_end().to_owned();
        let address = line.strip_prefix("ringctl: serving http://");
        let address = address.and_then(|it| it.strip_suffix("/metrics"));
        let address = address.with_context(|| line.clone())?.to_owned();
        Ok(Self {
            process,
            log,
            address,
        })
    }

    /// Waits for the next line of the log.
    fn log_line(&mut self) -> String {
        self.log.take_to("\n").trim_end().to_owned()
    }

    fn connect(&self) -> Result<TcpStream> {
        let stream = TcpStream::connect(&self.address)?;
        stream.set_read_timeout(Some(WAIT_LIMIT))?;
        Ok(stream)
    }

    /// Sends a request, and returns the head and the body of the answer.
    fn ask(&self, line: &str) -> Result<(String, String)> {
        let mut stream = self.connect()?;
        write!(stream, "{line} HTTP/1.1\r\nHost: localhost\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        let (head, body) = answer.split_once("\r\n\r\n").context("no head")?;
        Ok((head.to_owned(), body.to_owned()))
    }

    fn scrape(&self) -> Result<Metrics> {
        let (head, body) = self.ask("GET /metrics")?;
        ensure!(head.starts_with("HTTP/1.1 200 "), "{head}");
        Metrics::parse(&body)
    }
}

fn the_exporter_serves_the_metrics_of_a_live_and_a_dead_daemon() -> Result<()> {
    let segment = Layout::new(1).bridge()?;
    let mut ring = Ring::start(segment, 1, timing(), binaries())?;
    ring.wait_until_formed()?;
    let daemon = &mut ring.daemons[0];
    let mut exporter = Exporter::start(daemon)?;
    let (head, _) = exporter.ask("GET /metrics")?;
    let format = "content-type: application/openmetrics-text; version=1.0.0; charset=utf-8";
    ensure!(head.contains(format), "{head}");
    let metrics = exporter.scrape()?;
    ensure!(
        metrics.count("ringd_up", &[])? == 1 && metrics.count("ringd_members_present", &[])? == 1
    );
    daemon.signal(Signal::SIGSTOP)?;
    // Many scrapes at a time do not wait for each other.
    thread::scope(|scope| {
        let scrapes = [(); 12].map(|()| scope.spawn(|| exporter.ask("GET /metrics")));
        scrapes.into_iter().try_for_each(|scrape| {
            let (_, body) = scrape.join().expect("the thread does not panic")?;
            ensure!(
                body.contains("\nringd_up{daemon=\"control\"} 0\n"),
                "{body}"
            );
            Ok(())
        })
    })?;
    ensure!(exporter.log_line().contains("sent nothing for 2 s"));
    daemon.signal(Signal::SIGCONT)?;
    ensure!(exporter.scrape()?.count("ringd_up", &[])? == 1);
    ensure!(exporter.log_line() == "ringctl: the daemon answers again");
    daemon.kill()?;
    ensure!(exporter.scrape()?.count("ringd_up", &[])? == 0);
    ensure!(exporter.log_line().contains("cannot reach ringd"));
    daemon.start()?;
    wait_until(|| exporter.scrape()?.count("ringd_up", &[]), |up| *up == 1)?;
    Ok(())
}

fn the_exporter_answers_only_requests_for_metrics() -> Result<()> {
    let ring = shared_ring(3)?;
    let exporter = Exporter::start(&ring.daemons[0])?;
    let (head, body) = exporter.ask("GET /")?;
    ensure!(
        head.starts_with("HTTP/1.1 404 ") && body.contains("/metrics"),
        "{head} {body}"
    );
    let (head, _) = exporter.ask("POST /metrics")?;
    ensure!(
        head.starts_with("HTTP/1.1 405 ") && head.contains("allow: GET, HEAD"),
        "{head}"
    );
    let (head, body) = exporter.ask("HEAD /metrics")?;
    ensure!(
        head.starts_with("HTTP/1.1 200 ") && body.is_empty(),
        "{head} {body}"
    );
    Ok(())
}

fn clients_that_send_nothing_do_not_delay_a_scrape() -> Result<()> {
    let ring = shared_ring(3)?;
    let exporter = Exporter::start(&ring.daemons[0])?;
    let mut silent = Vec::new();
    for _ in 0..32 {
        silent.push(exporter.connect()?);
    }
    ensure!(exporter.scrape()?.count("ringd_up", &[])? == 1);
    // The scrape did not wait for the end of these connections.
    let mut first = silent.swap_remove(0);
    first.set_nonblocking(true)?;
    let is_open = first.read(&mut [0]);
    let is_open = is_open.is_err_and(|error| error.kind() == ErrorKind::WouldBlock);
    ensure!(is_open, "the scrape came after the end of the connections");
    // The exporter closes the connection of a client that completes no request.
    first.set_nonblocking(false)?;
    ensure!(
        first.read(&mut [0])? == 0,
        "the exporter sent an answer without a request"
    );
    Ok(())
}

fn the_exporter_reports_an_address_that_it_cannot_use() -> Result<()> {
    let ring = shared_ring(3)?;
    let exporter = Exporter::start(&ring.daemons[0])?;
    let output = ringctl(
        &ring.daemons[0],
        &["exporter", "--listen", &exporter.address],
    )
    .output()?;
    let errors = String::from_utf8(output.stderr)?;
    ensure!(output.status.code() == Some(1), "{errors}");
    ensure!(
        errors.contains("cannot listen at") && errors.contains("--listen ADDRESS"),
        "{errors}"
    );
    Ok(())
}
