//! Tables of a PostgreSQL server that compare fencing tokens. The test starts the server.

use std::cell::Cell;
use std::process::{Command, Output};

use anyhow::{Result, ensure};
use ring_segment::PostgreSql;

use crate::fencing::machines::{Machines, check_late_writer, check_order, script};
use crate::recipes::pages::{FENCE_POSTGRESQL, block};

/// Exit code of psql after a failed statement.
const FAILED_CODE: i32 = 3;

/// Two machines, and a server that both machines can reach.
struct Database {
    server: PostgreSql,
    machines: Machines,
}

impl Database {
    fn new() -> Result<Self> {
        let server = PostgreSql::start(tempfile::tempdir_in("/run")?)?;
        let machines = Machines::with_tools(server.programs().to_owned())?;
        Ok(Self { server, machines })
    }

    /// Runs a command line with the given token. If no token is given, runs the command line under a new lock of the
    /// machine.
    fn run(&self, machine: usize, token: Option<&str>, line: &[&str]) -> Result<Output> {
        let mut line = line.to_vec();
        if token.is_none() {
            line.splice(0..0, ["ringctl", "run", "--"]);
        }
        let mut command = self.machines.command(machine, &line)?;
        command.envs(token.map(|token| ("RINGD_TOKEN", token)));
        self.machines.run(machine, self.ask(&mut command))
    }

    fn ask<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command.envs(self.server.environment())
    }

    /// Runs statements that need no token, and returns their output.
    fn sql(&self, statements: &str) -> Result<Output> {
        let line = ["psql", "-XqAt", "-v", "ON_ERROR_STOP=1", "-c", statements];
        let mut command = self.machines.command(0, &line)?;
        self.machines.run(0, self.ask(&mut command))
    }

    fn run_sql(&self, statements: &str) -> Result<String> {
        let output = self.sql(statements)?;
        ensure!(output.status.success(), "{statements}: {output:?}");
        Ok(String::from_utf8(output.stdout)?.trim().to_owned())
    }
}

fn is_stale(output: &Output) -> bool {
    let errors = String::from_utf8_lossy(&output.stderr);
    output.status.code() == Some(FAILED_CODE)
        && errors.contains("FE076")
        && errors.contains("is stale")
}

pub(super) fn a_postgresql_trigger_refuses_a_late_writer_and_a_writer_without_a_token() -> Result<()>
{
    let database = Database::new()?;
    database.run_sql(block(FENCE_POSTGRESQL, "CREATE TABLE report")?)?;
    let program = database.machines.path("write-report");
    script(&program, block(FENCE_POSTGRESQL, "#!/bin/sh")?)?;
    let program = program.to_string_lossy();
    let write =
        |machine, token: Option<&str>, text: &str| database.run(machine, token, &[&program, text]);
    let read = || database.run_sql("SELECT text FROM report WHERE line = 1");
    check_late_writer(&database.machines, write, read, is_stale)?;
    let last = Cell::new(usize::MAX);
    check_order(|object, token| {
        if last.replace(object) != object {
            database.run_sql("DELETE FROM fence")?;
        }
        let output = write(0, Some(token), "text")?;
        ensure!(output.status.success() || is_stale(&output), "{output:?}");
        Ok(output.status.success())
    })?;
    for statement in [
        "INSERT INTO report VALUES (2, 'none')",
        "UPDATE report SET text = 'none'",
        "DELETE FROM report",
        "TRUNCATE report",
    ] {
        let output = database.sql(statement)?;
        let errors = String::from_utf8_lossy(&output.stderr);
        ensure!(
            !output.status.success() && errors.contains("ringd.token"),
            "{output:?}"
        );
    }
    ensure!(read()? == "text");
    Ok(())
}

pub(super) fn an_update_of_a_postgresql_row_refuses_a_late_writer() -> Result<()> {
    let database = Database::new()?;
    database.run_sql(
        "CREATE TABLE document (id int PRIMARY KEY, text text,
            progress bigint NOT NULL, author macaddr NOT NULL, number bigint NOT NULL);
         INSERT INTO document VALUES (1, '', 0, 'ff:ff:ff:ff:ff:ff', 4294967295)",
    )?;
    // A client splits the token into these parts.
    let program = database.machines.path("update");
    let client = format!(
        "#!/bin/sh\nIFS=-\nset -- \"$1\" $RINGD_TOKEN\n\
         said=$(psql -XqAt -v text=\"$1\" -v progress=\"$2\" -v author=\"$3\" -v number=\"$4\" <<'END'\n\
         {}END\n)\n[ \"$said\" = written ] || exit 76\n",
        block(FENCE_POSTGRESQL, "UPDATE document")?
    );
    script(&program, &client)?;
    let program = program.to_string_lossy();
    let write =
        |machine, token: Option<&str>, text: &str| database.run(machine, token, &[&program, text]);
    let read = || database.run_sql("SELECT text FROM document");
    check_late_writer(
        &database.machines,
        write,
        read,
        crate::fencing::machines::is_stale,
    )?;
    let last = Cell::new(usize::MAX);
    check_order(|object, token| {
        if last.replace(object) != object {
            let reset = "progress = 0, author = 'ff:ff:ff:ff:ff:ff', number = 4294967295";
            database.run_sql(&format!("UPDATE document SET {reset}"))?;
        }
        Ok(write(0, Some(token), "text")?.status.success())
    })
}
