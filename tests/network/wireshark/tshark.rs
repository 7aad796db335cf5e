//! Runs tshark with the dissectors of the repository.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::fs;
use std::net::Ipv6Addr;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use ring_text::hex;
use tempfile::TempDir;

use crate::recipes::pages::{WIRESHARK, block};

/// The filters of the protocols and the types of their fields, as tshark lists them.
pub(super) struct FieldList(Vec<Field>);

#[derive(Debug, Clone)]
pub(super) struct Field {
    pub filter: String,
    pub kind: String,
    pub meaning: String,
}

/// A packet as the dissectors see it.
#[derive(Debug, Default)]
pub(super) struct Packet {
    pub fields: Fields,
    /// Expert infos.
    pub notes: Vec<String>,
    /// Source and stream of the packet.
    pub sender: String,
    pub info: String,
}

/// The values of a message by filter, in the order of the message.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Fields(BTreeMap<String, Vec<String>>);

/// A user of Wireshark who has installed the dissectors, as the page shows.
pub(super) struct Tshark {
    home: TempDir,
}

/// Separates the values of one field.
const SEPARATOR: char = '\x1f';
/// Columns before the fields of the protocol.
const COLUMNS: [&str; 4] = ["_ws.expert.message", "_ws.col.Info", "ip.src", "tcp.stream"];
/// The user who runs tshark.
const NOBODY: u32 = 65_534;
/// A value that tshark does not print as it is.
const NOT_COMPARED: &str = "\u{fffd}";

impl Tshark {
    /// Installs the dissectors with the commands of the page.
    pub(super) fn new() -> Result<Self> {
        let home = tempfile::tempdir()?;
        fs::set_permissions(home.path(), fs::Permissions::from_mode(0o755))?;
        let install = block(WIRESHARK, "mkdir -p ~/.local/lib/wireshark/plugins\ncp -r")?;
        let installed = Command::new("sh")
            .args(["-ec", install])
            .env("HOME", home.path())
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .status()?;
        ensure!(installed.success(), "{install}: {installed}");
        Ok(Self { home })
    }

    /// Returns the path of a new file that tshark can read.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    /// Runs tshark with these arguments. Returns its output.
    pub(super) fn run(&self, arguments: &[&str]) -> Result<String> {
        let mut command = Command::new("tshark");
        command.args(arguments).env("HOME", self.home.path());
        // Wireshark 4.4 loads no scripts if root runs it.
        if has_user(NOBODY)? {
            command.uid(NOBODY).gid(NOBODY);
        }
        let output = command
            .output()
            .context("this test needs tshark: apt-get install --no-install-recommends tshark")?;
        let errors = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "tshark {arguments:?}: {errors}");
        ensure!(!errors.contains("Lua"), "tshark {arguments:?}: {errors}");
        // tshark prints the bytes of illegal texts as they are.
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Lists the fields of a protocol.
    pub(super) fn fields(&self, protocol: &str) -> Result<FieldList> {
        let prefix = format!("{protocol}.");
        let list = self.run(&["-G", "fields"])?;
        let fields = list.lines().filter_map(|line| {
            let columns: Vec<_> = line.split('\t').collect();
            let [_, name, filter, kind, .., meaning] = columns[..] else {
                return None;
            };
            // An expert info has only a name.
            let meaning = if meaning.is_empty() { name } else { meaning };
            filter.starts_with(&prefix).then(|| Field {
                filter: filter.to_owned(),
                kind: kind.to_owned(),
                meaning: meaning.to_owned(),
            })
        });
        let mut fields: Vec<_> = fields.collect();
        // tshark lists expert infos in any order.
        let (is_note, by_name) = (
            |it: &Field| it.kind == "FT_NONE",
            |it: &Field| it.filter.clone(),
        );
        fields.sort_by_key(|it| is_note(it).then(|| by_name(it)));
        Ok(FieldList(fields))
    }

    /// Dissects a capture.
    pub(super) fn dissect(
        &self,
        file: &Path,
        list: &FieldList,
        options: &[&str],
    ) -> Result<Vec<Packet>> {
        let separator = format!("aggregator={SEPARATOR}");
        let file = file.to_str().context("a plain path")?;
        let mut arguments = vec!["-r", file, "-n", "-T", "fields", "-E", &separator];
        let columns = COLUMNS
            .into_iter()
            .chain(list.0.iter().map(|field| &*field.filter));
        for column in columns {
            arguments.extend(["-e", column]);
        }
        arguments.extend(options);
        let output = self.run(&arguments)?;
        output.lines().map(|line| list.packet(line)).collect()
    }
}

impl FieldList {
    pub(super) fn iter(&self) -> impl Iterator<Item = &Field> {
        self.0.iter()
    }

    fn packet(&self, line: &str) -> Result<Packet> {
        let columns: Vec<_> = line.split('\t').collect();
        ensure!(
            columns.len() == COLUMNS.len() + self.0.len(),
            "a tab in {line:?}"
        );
        let (first, rest) = columns.split_at(COLUMNS.len());
        let mut packet = Packet {
            notes: values(first[0]).map(str::to_owned).collect(),
            info: first[1].to_owned(),
            sender: format!("{} {}", first[2], first[3]),
            ..Packet::default()
        };
        for (field, column) in self.0.iter().zip(rest) {
            // An expert info has no value.
            if field.kind == "FT_NONE" {
                continue;
            }
            for value in values(column) {
                packet.fields.push(&field.filter, field.plain(value));
            }
        }
        Ok(packet)
    }
}

/// Whether this process may run programs as a user. An unprivileged user has only its own id in its namespace.
fn has_user(user: u32) -> Result<bool> {
    let map = fs::read_to_string("/proc/self/uid_map")?;
    Ok(map.lines().any(|line| {
        let mut numbers = line.split_whitespace().map(str::parse::<u32>);
        let (Some(Ok(first)), Some(Ok(count))) = (numbers.next(), numbers.nth(1)) else {
            return false;
        };
        (first..first.saturating_add(count)).contains(&user)
    }))
}

fn values(column: &str) -> impl Iterator<Item = &str> {
    column.split(SEPARATOR).filter(|value| !value.is_empty())
}

impl Field {
    /// Returns a value in the form of the tests: decimal numbers, and bytes without colons.
    fn plain(&self, value: &str) -> String {
        let hex = value.strip_prefix("0x");
        let number = hex.and_then(|digits| u64::from_str_radix(digits, 16).ok());
        match (&*self.kind, number) {
            ("FT_BOOLEAN", _) => u8::from(matches!(value, "1" | "True")).to_string(),
            ("FT_BYTES", _) => value.replace(':', ""),
            ("FT_IPv6", _) => {
                let address = value.parse::<Ipv6Addr>();
                address.map_or_else(|_| value.to_owned(), |it| it.to_string())
            }
            ("FT_STRING", _) | (_, None) => value.to_owned(),
            (_, Some(number)) => number.to_string(),
        }
    }
}

impl Fields {
    fn push(&mut self, filter: &str, value: String) {
        self.0.entry(filter.to_owned()).or_default().push(value);
    }

    /// Adds a value of the protocol. tshark prints no empty values.
    pub(super) fn put(&mut self, filter: &str, value: impl Display) {
        let value = value.to_string();
        if !value.is_empty() {
            self.push(filter, value);
        }
    }

    /// Adds bytes.
    pub(super) fn put_bytes(&mut self, filter: &str, bytes: &[u8]) {
        self.put(filter, hex::encode(bytes));
    }

    /// Adds a text. If tshark does not print the text as it is, the filter is not compared.
    pub(super) fn put_text(&mut self, filter: &str, text: &[u8]) {
        let is_plain = |byte: &u8| matches!(byte, b' '..=b'~') && *byte != b'\\' && *byte != b'"';
        let text = std::str::from_utf8(text).ok();
        let plain = text.filter(|text| text.bytes().all(|byte| is_plain(&byte)));
        self.put(filter, plain.unwrap_or(NOT_COMPARED));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn append(&mut self, other: &Self) {
        for (filter, values) in &other.0 {
            let known = self.0.entry(filter.clone()).or_default();
            known.extend_from_slice(values);
        }
    }

    pub(super) fn values(&self, filter: &str) -> &[String] {
        self.0.get(filter).map_or(&[], Vec::as_slice)
    }

    /// Checks that tshark shows exactly these values. `labels` are fields that only group other fields.
    pub(super) fn check(&self, shown: &Self, labels: &[&str]) -> Result<()> {
        for (filter, values) in &self.0 {
            if values.iter().any(|value| value == NOT_COMPARED) {
                continue;
            }
            let found = shown.0.get(filter);
            ensure!(
                found == Some(values),
                "{filter}: the codec reads {values:?}, tshark shows {found:?}"
            );
        }
        for filter in shown.0.keys() {
            ensure!(
                self.0.contains_key(filter) || labels.contains(&&**filter),
                "{filter}: only tshark shows it: {:?}",
                shown.0[filter]
            );
        }
        Ok(())
    }
}
