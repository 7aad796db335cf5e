//! The latest events, numbered, for watchers.

use ring_proto::time::Now;
use serde::Serialize;

use crate::host::{self, Priority};
use crate::observe::ftn::Told;

/// Retains events.
pub type History = host::History<Keys>;

/// The keys of an event that are this system's own.
#[derive(Debug, Default, Serialize)]
pub struct Keys {
    #[serde(skip_serializing_if = "Option::is_none")]
    configuration: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    server: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    address: Option<String>,
}

/// Something happened with the servers, sessions or tokens.
pub fn remember(history: &mut History, now: Now, told: Told, priority: Priority) {
    let keys = Keys {
        configuration: told.configuration,
        server: told.server,
        session: told.session,
        address: told.address.map(|address| address.to_string()),
    };
    history.remember(now, (told.event, told.text), keys, priority);
}

#[cfg(test)]
mod tests {
    use ring_proto::time::{Instant, Now};

    use super::{History, remember};
    use crate::host::Priority;
    use crate::observe::ftn::Told;

    #[test]
    fn an_event_has_its_sentence_and_the_keys_that_it_is_about() {
        let now = Now {
            monotonic: Instant::default(),
            wall: 5_000_000,
        };
        let mut history = History::new(now);
        let told = Told {
            event: "session_begun",
            level: tracing::Level::DEBUG,
            text: "session 7 has begun".to_owned(),
            configuration: None,
            server: None,
            session: Some(7),
            address: Some(([192, 0, 2, 1], 7).into()),
        };
        remember(&mut history, now, told, Priority::Passing);
        let number = history.recent().latest();
        let entry = history.recent().get(number).unwrap();
        let text = format!(
            r#"{{"number":{number},"time_ms":5,"event":"session_begun","text":"session 7 has begun","session":7,"address":"192.0.2.1:7"}}"#
        );
        assert_eq!(entry.message(number).json().text(), text);
    }
}
