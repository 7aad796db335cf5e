//! The pages that are generated from the tables.

use std::env;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use ring_control::hold_history::HOLD_EVENTS;
use ring_control::{Trouble, message_id};
use ring_host::observe::Level;

use super::tables::TABLES;

/// Environment variable. If the variable is set, the tests write the pages instead of checking them.
const WRITE_VARIABLE: &str = "RINGD_WRITE_DOCS";

const LOG_EVENTS_HEAD: &str = "\
# Log events

This page lists all log lines of the daemons, for operators who search the log and for programs that read it. The
program that writes the page is `RINGD_WRITE_DOCS=1 cargo test --test catalog`.

Each line has a level and the field `event`, the name of the event. In the journal, the fields have capitals and the
prefix `RINGD_`:

```text
journalctl -u ringd@eth0 RINGD_EVENT=member_silent
```

In the journal, each line also has the field `RINGD_INSTANCE`, the name of the node for `ringctl -i`. Lines of level
WARN or ERROR have a `MESSAGE_ID`, and the lines for [`ringctl
history`](../operations/monitor.md#the-holders-of-the-past) too.
An id never changes. `journalctl -x` explains these lines if the file `ringd.catalog` is
[installed](files.md#configuration).

With `--log-format json`, each line is a JSON object with the same fields. A line may lack a field whose value is
unknown. Lines of level DEBUG appear only with `-v`. An event with several levels has the lowest of them when it is
routine.

If a line repeats, the log has it 20 times, and then once per minute. The line then ends with the number of similar
lines that the daemon left out. This limit does not apply to lines of level DEBUG.

[Troubleshooting](../operations/troubleshoot.md) explains each event of level WARN or ERROR, and its remedy.
";

const TROUBLES_HEAD: &str = "\
# Troubles

This page lists the problems that `ringctl status` prints after `Warning:`, for operators. In `ringctl status --json`,
the list `troubles` has them. The program that writes the page is `RINGD_WRITE_DOCS=1 cargo test --test catalog`.

Each problem is a sentence that names the problem and its remedy. The sentence contains the words of the second column.
The name in the first column appears only in the documents. The worst problem determines the health of the node.

[Troubleshooting](../operations/troubleshoot.md) explains each trouble and its remedy.
";

pub(super) fn log_events() -> String {
    let mut page = LOG_EVENTS_HEAD.to_owned();
    for table in TABLES {
        write(&mut page, format_args!("\n## {}\n\n", table.title));
        page.push_str("| event | level | fields | meaning | MESSAGE_ID |\n|---|---|---|---|---|\n");
        for event in table.events {
            let levels: Vec<_> = event.levels.iter().map(ToString::to_string).collect();
            let fields: Vec<_> = event.fields.iter().map(|it| format!("`{it}`")).collect();
            let (name, levels, fields) = (event.name, levels.join(", "), fields.join(", "));
            let meaning = event.meaning;
            let has_id = event.levels.iter().any(|&level| level <= Level::WARN)
                || HOLD_EVENTS.contains(&name);
            let id = message_id(name).filter(|_| has_id);
            let id = id.map_or_else(String::new, |id| format!("`{id}`"));
            write(
                &mut page,
                format_args!("| `{name}` | {levels} | {fields} | {meaning} | {id} |\n"),
            );
        }
    }
    page
}

pub(super) fn troubles() -> String {
    let mut page = TROUBLES_HEAD.to_owned();
    let add = |page: &mut String, title: &str, troubles: &[Trouble]| {
        write(page, format_args!("\n## {title}\n\n"));
        page.push_str(
            "| trouble | its sentence contains | health | meaning |\n|---|---|---|---|\n",
        );
        for it in troubles {
            let (name, phrase, health) = (it.name, it.phrase, it.health.name());
            let meaning = it.meaning;
            write(
                page,
                format_args!("| `{name}` | `{phrase}` | {health} | {meaning} |\n"),
            );
        }
    };
    for table in TABLES {
        add(&mut page, table.title, table.troubles);
    }
    add(&mut page, "ringctl", ring_control::troubles::TROUBLES);
    page
}

fn write(page: &mut String, text: std::fmt::Arguments<'_>) {
    page.write_fmt(text).expect("a string takes all");
}

/// Compares a page with the file at `path`. If [`WRITE_VARIABLE`] is set, writes the file instead.
///
/// # Panics
/// The file differs from the page.
pub(super) fn check(path: &str, page: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    if env::var_os(WRITE_VARIABLE).is_some() {
        fs::write(&file, page).expect("a page can be written");
    }
    let written = fs::read_to_string(&file).unwrap_or_default();
    assert!(
        written == page,
        "{path} differs from the tables; run {WRITE_VARIABLE}=1 cargo test --test catalog"
    );
}
