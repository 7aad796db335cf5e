//! Selects the log events from which `ringctl history` reads, and writes them as lines of JSON.

use std::fmt;
use std::io::Write;
use std::time::{SystemTime, UNIX_EPOCH};

use ring_control::hold_history::HOLD_EVENTS;
use serde_json::{Map, Value};
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_appender::non_blocking::NonBlocking;
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;

/// A layer that passes the events of the history to a thread, which writes them to a file.
pub(super) struct HoldLayer(NonBlocking);

impl HoldLayer {
    pub(super) const fn new(output: NonBlocking) -> Self {
        Self(output)
    }
}

impl<S: Subscriber> Layer<S> for HoldLayer {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        if *event.metadata().level() > Level::INFO {
            return;
        }
        let mut selection = Selection(false);
        event.record(&mut selection);
        if !selection.0 {
            return;
        }
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH);
        let time_ms = u64::try_from(since_1970.unwrap_or_default().as_millis());
        let mut fields = Fields(Map::new());
        fields
            .0
            .insert("time_ms".to_owned(), time_ms.unwrap_or(u64::MAX).into());
        event.record(&mut fields);
        let line = format!("{}\n", Value::Object(fields.0));
        // A write to the queue never fails: if the queue is full, it drops the line.
        let _ = self.0.clone().write_all(line.as_bytes());
    }
}

/// Whether an event belongs to the history.
struct Selection(bool);

impl Visit for Selection {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0 |= field.name() == "event" && HOLD_EVENTS.contains(&value);
    }

    fn record_debug(&mut self, _: &Field, _: &dyn fmt::Debug) {}
}

/// The fields of an event, without the sentence. The sentence contains no other facts.
struct Fields(Map<String, Value>);

impl Fields {
    fn add(&mut self, field: &Field, value: Value) {
        if field.name() != "message" {
            self.0.insert(field.name().to_owned(), value);
        }
    }
}

impl Visit for Fields {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.add(field, value.into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.add(field, value.into());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.add(field, value.into());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.add(field, format!("{value:?}").into());
    }
}
