//! The systemd unit of the exporter, under a live systemd.

use std::io::{Read, Write};
use std::net::TcpStream;

use anyhow::{Result, ensure};
use ring_segment::{Container, Segment, Test, WAIT_LIMIT, binaries, tests};

use super::openmetrics::Metrics;

const UNIT: &str = "ringd-exporter@eth0";
const DAEMON: &str = "ringd@eth0";

pub(super) fn tests() -> Vec<Test> {
    tests![the_unit_serves_metrics_without_rights_while_the_daemon_runs_and_after_its_end]
}

fn scrape(container: &Container) -> Result<Metrics> {
    let read = || -> Result<String> {
        let mut stream = TcpStream::connect("127.0.0.1:9464")?;
        stream.set_read_timeout(Some(WAIT_LIMIT))?;
        stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    };
    let answer = container.node().ns().run(read)??;
    Metrics::parse(answer.split_once("\r\n\r\n").map_or("", |it| it.1))
}

fn the_unit_serves_metrics_without_rights_while_the_daemon_runs_and_after_its_end() -> Result<()> {
    let segment = Segment::bridge(1)?;
    let container = Container::boot(segment.node(0), binaries())?;
    container.install_service()?;
    container.sh("install -m 644 systemd/ringd-exporter@.service /etc/systemd/system/")?;
    container.run(&["systemctl", "start", DAEMON])?;
    container.wait_for(DAEMON, "StatusText", WAIT_LIMIT, |text| {
        text == "the only member of its ring"
    })?;
    container.run(&["systemctl", "start", UNIT])?;
    container.wait_for_line(WAIT_LIMIT, |line| {
        line.contains("serving http://127.0.0.1:9464/metrics")
    })?;
    let metrics = scrape(&container)?;
    ensure!(
        metrics.count("ringd_up", &["daemon=\"eth0\""])? == 1,
        "{metrics:?}"
    );
    ensure!(
        metrics.count("ringd_members_present", &[])? == 1,
        "{metrics:?}"
    );

    let pid = container.show(UNIT, "MainPID")?;
    let status = container.run(&["cat", &format!("/proc/{pid}/status")])?;
    for (field, value) in [
        ("CapEff:", "0000000000000000"),
        ("CapBnd:", "0000000000000000"),
        ("NoNewPrivs:", "1"),
        ("Seccomp:", "2"),
    ] {
        let line = status.lines().find_map(|line| line.strip_prefix(field));
        ensure!(line.map(str::trim) == Some(value), "{field} {status}");
    }
    let user = status.lines().find(|line| line.starts_with("Uid:"));
    ensure!(
        user.is_some_and(|it| !it.split_whitespace().any(|it| it == "0")),
        "{status}"
    );

    container.run(&["systemctl", "stop", DAEMON])?;
    ensure!(scrape(&container)?.count("ringd_up", &["daemon=\"eth0\""])? == 0);
    container.run(&["systemctl", "start", DAEMON])?;
    ensure!(scrape(&container)?.count("ringd_up", &[])? == 1);
    ensure!(container.show(UNIT, "NRestarts")? == "0");
    let complaints = container.journal().into_iter().filter(|line| {
        let is_of_unit = line.contains("ringd-exporter@");
        is_of_unit
            && ["Unknown key", "ignoring", "Failed to"]
                .iter()
                .any(|word| line.contains(word))
    });
    let complaints: Vec<_> = complaints.collect();
    ensure!(complaints.is_empty(), "{complaints:?}");
    Ok(())
}
