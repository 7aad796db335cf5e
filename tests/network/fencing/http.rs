//! An HTTP service that compares fencing tokens.

use std::fs;
use std::io::{Read, Write};
use std::process::{Child, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use ring_segment::WAIT_LIMIT;

use crate::fencing::machines::{Machines, check_late_writer, check_order, is_stale};
use crate::recipes::pages::{FENCE_HTTP, block};

const PORT: &str = "8000";
const ACCEPTED_STATUS: u16 = 204;
const STALE_STATUS: u16 = 409;
const INSTALL_HINT: &str =
    "cannot start python3: install it, for example with apt-get install python3";

/// HTTP service on the first machine.
struct Service(Child);

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Sends a PUT from the second machine. Returns the HTTP status.
fn send(machines: &Machines, path: &str, token: &str) -> Result<u16> {
    let mut stream = machines.connect(1, &format!("{}:{PORT}", machines.address(0)?))?;
    stream.set_read_timeout(Some(WAIT_LIMIT))?;
    let head =
        format!("PUT {path} HTTP/1.0\r\nFencing-Token: {token}\r\nContent-Length: 4\r\n\r\n");
    stream.write_all(format!("{head}text").as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let status = answer.split(' ').nth(1);
    Ok(status.context(answer.clone())?.parse()?)
}

pub(super) fn an_http_service_refuses_a_late_writer() -> Result<()> {
    let machines = Machines::new()?;
    let there = machines.run(0, &mut machines.command(0, &["python3", "--version"])?)?;
    ensure!(there.status.success(), INSTALL_HINT);
    let (store, put) = (machines.path("store.py"), machines.path("put.py"));
    fs::write(&store, block(FENCE_HTTP, "import re, sys")?)?;
    fs::write(&put, block(FENCE_HTTP, "import os, sys, urllib")?)?;
    let (store, put) = (store.to_string_lossy(), put.to_string_lossy());
    let mut serve = machines.command(0, &["python3", &store, PORT])?;
    serve.stderr(Stdio::null());
    let _service = Service(machines.spawn(0, &mut serve)?);

    let root = format!("http://{}:{PORT}", machines.address(0)?);
    let write = |machine, token: Option<&str>, object: &str, text: &str| -> Result<Output> {
        let url = format!("{root}/{object}");
        let mut line = vec!["python3", &put, &url, text];
        if token.is_none() {
            line.splice(0..0, ["ringctl", "run", "--"]);
        }
        let mut command = machines.command(machine, &line)?;
        machines.run(
            machine,
            command.envs(token.map(|token| ("RINGD_TOKEN", token))),
        )
    };
    let get =
        "import sys, urllib.request as r; print(r.urlopen(sys.argv[1]).read().decode(), end='')";
    let url = format!("{root}/report");
    let read = || -> Result<String> {
        let output = machines.run(1, &mut machines.command(1, &["python3", "-c", get, &url])?)?;
        ensure!(output.status.success(), "{output:?}");
        Ok(String::from_utf8(output.stdout)?)
    };
    let deadline = Instant::now() + WAIT_LIMIT;
    while !write(1, None, "first", "try")?.status.success() {
        ensure!(Instant::now() < deadline, "the service does not listen");
        thread::sleep(Duration::from_millis(20));
    }
    check_late_writer(
        &machines,
        |machine, token, text| write(machine, token, "report", text),
        read,
        is_stale,
    )?;
    // The test sends these requests itself. The page's client was tested above, and fifty clients would take a long
    // time to start.
    check_order(
        |object, token| match send(&machines, &format!("/object{object}"), token)? {
            ACCEPTED_STATUS => Ok(true),
            STALE_STATUS => Ok(false),
            status => bail!("{token}: {status}"),
        },
    )?;
    let without = "import sys, urllib.request as r; \
         r.urlopen(r.Request(sys.argv[1], b'none', method='PUT'))";
    let output = machines.run(
        1,
        &mut machines.command(1, &["python3", "-c", without, &url])?,
    )?;
    let errors = String::from_utf8(output.stderr)?;
    errors.contains("428").then_some(()).context(errors)
}
