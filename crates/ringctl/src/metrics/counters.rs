//! The counters of systems other than the ring. The status has a name for each counter.

use std::fmt;

use ring_control::{NodeStatus, RawJson};

use super::metric::{Source, Writer, metrics};

metrics! {
    METRICS:
    EVENTS Counter "ringd_events" ["event"]
        "The counters of the status. If a counter is in a group, the label is GROUP.NAME.";
}

/// The counters of a status, with their names.
#[derive(Debug)]
pub(super) struct CountersByName(Vec<(String, u64)>);

impl CountersByName {
    pub(super) fn new(status: &NodeStatus) -> Self {
        let keys = status.json().fields().unwrap_or_default();
        let counters = keys.into_iter().find(|(key, _)| key == "counters");
        let mut found = Vec::new();
        if let Some((_, counters)) = counters {
            add_counters("", &counters, &mut found);
        }
        Self(found)
    }
}

fn add_counters(group: &str, counters: &RawJson, found: &mut Vec<(String, u64)>) {
    for (name, value) in counters.fields().unwrap_or_default() {
        match value.decode() {
            Ok(count) => found.push((format!("{group}{name}"), count)),
            Err(_) => add_counters(&format!("{group}{name}."), &value, found),
        }
    }
}

impl Source for CountersByName {
    fn write(&self, to: &mut Writer<'_>) -> fmt::Result {
        let samples = self.0.iter();
        to.write(
            &EVENTS,
            samples.map(|(name, count)| ([name.as_str()], *count)),
        )
    }
}
