//! Descriptions of metrics, and a writer for their values.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::{Registry, Unit};

/// The type and the unit of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A number that only grows. The names of its samples end with `_total`.
    Counter,
    /// A number without a unit.
    Gauge,
    /// A time. The name ends with `_seconds`.
    Seconds,
    /// A time that only grows. The names of its samples end with `_seconds_total`.
    SecondsTotal,
    /// A number of bytes. The name ends with `_bytes`.
    Bytes,
}

impl Kind {
    const fn metric_type(self) -> MetricType {
        match self {
            Self::Counter | Self::SecondsTotal => MetricType::Counter,
            Self::Gauge | Self::Seconds | Self::Bytes => MetricType::Gauge,
        }
    }

    const fn unit(self) -> Option<Unit> {
        match self {
            Self::Counter | Self::Gauge => None,
            Self::Seconds | Self::SecondsTotal => Some(Unit::Seconds),
            Self::Bytes => Some(Unit::Bytes),
        }
    }

    /// Returns the name of the type for the reference page.
    pub(super) const fn type_name(self) -> &'static str {
        match self {
            Self::Counter | Self::SecondsTotal => "counter",
            Self::Gauge | Self::Seconds | Self::Bytes => "gauge",
        }
    }

    /// Returns the suffix of the samples' names, which depends on the type and the unit.
    const fn suffix(self) -> &'static str {
        match self {
            Self::Counter => "_total",
            Self::Gauge => "",
            Self::Seconds => "_seconds",
            Self::SecondsTotal => "_seconds_total",
            Self::Bytes => "_bytes",
        }
    }
}

/// The description of a metric. The output and the reference page are made from this description.
#[derive(Debug)]
pub(super) struct Metric {
    /// The name without the suffix of the kind.
    pub name: &'static str,
    pub kind: Kind,
    /// The keys of the labels. Each key has a bounded number of values.
    pub labels: &'static [&'static str],
    /// The text after `# HELP`, which is also the text of the reference page.
    pub help: &'static str,
}

impl Metric {
    /// Returns the name of the metric's samples.
    pub(super) fn sample_name(&self) -> String {
        format!("{}{}", self.name, self.kind.suffix())
    }
}

/// Declares a table of metrics, and a constant for each of them.
macro_rules! metrics {
    ($table:ident: $(
        $constant:ident $kind:ident $name:literal [$($label:literal),*] $help:literal;
    )+) => {
        $(
            const $constant: $crate::metrics::metric::Metric = $crate::metrics::metric::Metric {
                name: $name,
                kind: $crate::metrics::metric::Kind::$kind,
                labels: &[$($label),*],
                help: $help,
            };
        )+

        /// All metrics of this file.
        pub(super) const $table: &[&$crate::metrics::metric::Metric] = &[$(&$constant),+];
    };
}

pub(super) use metrics;

/// The value of a sample.
#[derive(Debug, Clone, Copy)]
pub(super) enum Value {
    Count(u64),
    Number(f64),
}

impl From<u64> for Value {
    fn from(value: u64) -> Self {
        Self::Count(value)
    }
}

impl From<usize> for Value {
    fn from(value: usize) -> Self {
        Self::Count(value.try_into().unwrap_or(u64::MAX))
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Count(value.into())
    }
}

impl From<Duration> for Value {
    fn from(value: Duration) -> Self {
        Self::Number(value.as_secs_f64())
    }
}

/// Writes metrics as OpenMetrics text.
pub(super) struct Writer<'a>(DescriptorEncoder<'a>);

impl Writer<'_> {
    /// Writes a metric without labels.
    pub(super) fn write_one(&mut self, metric: &Metric, value: impl Into<Value>) -> fmt::Result {
        self.write(metric, [([], value)])
    }

    /// Writes a metric with a sample for each combination of label values. If there are no samples, does not write the
    /// metric.
    pub(super) fn write<'a, const N: usize, V: Into<Value>>(
        &mut self,
        metric: &Metric,
        samples: impl IntoIterator<Item = ([&'a str; N], V)>,
    ) -> fmt::Result {
        let mut samples = samples.into_iter().peekable();
        if samples.peek().is_none() {
            return Ok(());
        }
        debug_assert_eq!(metric.labels.len(), N, "{}", metric.name);
        let unit = metric.kind.unit();
        let kind = metric.kind.metric_type();
        let mut encoder =
            self.0
                .encode_descriptor(metric.name, metric.help, unit.as_ref(), kind)?;
        for (values, value) in samples {
            let labels: Vec<_> = metric.labels.iter().copied().zip(values).collect();
            write_sample(metric.kind, encoder.encode_family(&labels)?, value.into())?;
        }
        Ok(())
    }

    /// Writes a metric with a sample for each entry of a map. The keys of the map are the values of the label.
    pub(super) fn write_counts(
        &mut self,
        metric: &Metric,
        counts: &BTreeMap<String, u64>,
    ) -> fmt::Result {
        let samples = counts.iter();
        self.write(metric, samples.map(|(key, count)| ([key.as_str()], *count)))
    }
}

fn write_sample(kind: Kind, mut encoder: MetricEncoder<'_>, value: Value) -> fmt::Result {
    match (kind, value) {
        (Kind::Counter | Kind::SecondsTotal, Value::Count(value)) => {
            encoder.encode_counter::<NoLabelSet, _, u64>(&value, None)
        }
        (Kind::Counter | Kind::SecondsTotal, Value::Number(value)) => {
            encoder.encode_counter::<NoLabelSet, _, u64>(&value, None)
        }
        (_, Value::Count(value)) => encoder.encode_gauge(&value),
        (_, Value::Number(value)) => encoder.encode_gauge(&value),
    }
}

/// The origin of metrics, such as the status of a node.
pub(super) trait Source: fmt::Debug + Send + Sync + 'static {
    fn write(&self, to: &mut Writer<'_>) -> fmt::Result;
}

/// The connection between a source and the crate that encodes metrics.
#[derive(Debug)]
struct Collected(Box<dyn Source>);

impl Collector for Collected {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        self.0.write(&mut Writer(encoder))
    }
}

/// Returns the metrics of all sources as OpenMetrics text. Each sample has the label `daemon`, unless the name of the
/// daemon is unknown.
pub(super) fn encode(daemon: Option<&str>, sources: Vec<Box<dyn Source>>) -> String {
    let label = daemon.map(|name| (Cow::Borrowed("daemon"), Cow::Owned(name.to_owned())));
    let mut registry = Registry::with_labels(label.into_iter());
    for source in sources {
        registry.register_collector(Box::new(Collected(source)));
    }
    let mut text = String::new();
    // Writing to a string never fails.
    let _ = prometheus_client::encoding::text::encode(&mut text, &registry);
    text
}
