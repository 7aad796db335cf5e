//! The grammar of the OpenMetrics text format, version 1.0.0, as far as `ringctl metrics` uses it.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, ensure};
use regex::Regex;

/// A descriptor: its keyword, the name of its family, and its text.
const DESCRIPTOR: &str = r"^# (TYPE|HELP|UNIT) ([a-zA-Z_:][a-zA-Z0-9_:]*) ([^\n]+)$";
/// A sample: its name, its labels and its value.
const SAMPLE: &str = concat!(
    r"^([a-zA-Z_:][a-zA-Z0-9_:]*)",
    r#"(\{[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*"(?:,[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*")*\})?"#,
    r" ([+-]?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)$"
);
const END: &str = "# EOF\n";

/// The samples of a text, by name and labels as in `ringd_up{daemon="eth0"}`.
#[derive(Debug)]
pub(super) struct Metrics(BTreeMap<String, f64>);

/// The family whose samples follow.
#[derive(Default)]
struct Family {
    name: String,
    kind: String,
    unit: String,
}

impl Metrics {
    /// Reads a text.
    ///
    /// # Errors
    /// Fails if the text breaks a rule of the format.
    pub(super) fn parse(text: &str) -> Result<Self> {
        let (descriptor, sample) = (Regex::new(DESCRIPTOR)?, Regex::new(SAMPLE)?);
        let lines = text.strip_suffix(END).context("the end is missing")?;
        let (mut samples, mut families) = (BTreeMap::new(), BTreeSet::new());
        let mut family = Family::default();
        for line in lines.lines() {
            if let Some(found) = descriptor.captures(line) {
                if found[2] != family.name {
                    ensure!(
                        families.insert(found[2].to_owned()),
                        "{line}: it is the second family of this name"
                    );
                    family = Family {
                        name: found[2].to_owned(),
                        ..Family::default()
                    };
                }
                match &found[1] {
                    "TYPE" => found[3].clone_into(&mut family.kind),
                    "UNIT" => found[3].clone_into(&mut family.unit),
                    _ => continue,
                }
                let suffix = format!("_{}", family.unit);
                ensure!(
                    family.unit.is_empty() || family.name.ends_with(&suffix),
                    "{line}"
                );
                continue;
            }
            let found = sample
                .captures(line)
                .with_context(|| format!("no sample: {line}"))?;
            let suffix = match family.kind.as_str() {
                "counter" => "_total",
                "gauge" => "",
                other => anyhow::bail!("{line}: the type is {other}"),
            };
            ensure!(
                found[1] == format!("{}{suffix}", family.name),
                "{line}: it is in {}",
                family.name
            );
            let labels = found.get(2).map_or("", |it| it.as_str());
            let value: f64 = found[3].parse()?;
            ensure!(family.kind != "counter" || value >= 0.0, "{line}");
            let previous = samples.insert(format!("{}{labels}", &found[1]), value);
            ensure!(previous.is_none(), "{line}: the sample is there twice");
        }
        Ok(Self(samples))
    }

    /// Returns the names of all samples, without labels.
    pub(super) fn names(&self) -> BTreeSet<&str> {
        let names = self
            .0
            .keys()
            .map(|key| key.split('{').next().unwrap_or(key));
        names.collect()
    }

    /// Returns the value of the only sample with this name and these labels, such as `state="OWNER"`.
    pub(super) fn value(&self, name: &str, labels: &[&str]) -> Result<f64> {
        let found = self.samples(name);
        let found = found.filter(|(key, _)| labels.iter().all(|it| key.contains(it)));
        let found: Vec<_> = found.collect();
        match found[..] {
            [(_, value)] => Ok(value),
            _ => anyhow::bail!("{name} with {labels:?} has these samples: {found:?}"),
        }
    }

    /// Returns the value of a sample like [`Metrics::value`]. The value must be a whole number.
    pub(super) fn count(&self, name: &str, labels: &[&str]) -> Result<u64> {
        let value = self.value(name, labels)?;
        value
            .to_string()
            .parse()
            .with_context(|| format!("{name} is {value}"))
    }

    /// Returns all samples with this name.
    pub(super) fn samples<'a>(&'a self, name: &'a str) -> impl Iterator<Item = (&'a str, f64)> {
        let samples = self.0.iter().map(|(key, value)| (key.as_str(), *value));
        samples.filter(move |(key, _)| key.split('{').next() == Some(name))
    }
}
