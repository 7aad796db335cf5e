//! The error text for a token that was not granted in time. The text describes the holders of the token and the waiting
//! clients.

use std::time::Duration;

use ring_client::token::{NAME_BYTES_MAX, Session};
use ring_runtime::clock;
use ring_text::Names;

use super::name::TokenName;
use super::page::{HoldMode, ListedToken, Page};

const LIST_TIMEOUT: Duration = Duration::from_millis(400);
/// Maximum number of sessions that a server lists per token.
const LISTED_SESSIONS_MAX: usize = 16;

/// Returns the reason why a token was not granted in time, as a sentence.
pub(super) fn busy_text(session: &mut Session, name: &TokenName) -> String {
    match fetch_token(session, name) {
        Some(listed) => format!(
            "the token '{name}' is not granted in time: {}",
            holders_text(&listed, &Names::read())
        ),
        None => format!(
            "the token '{name}' is not granted in time, and its holders are unknown: its server takes over tokens of \
             another server, or is down"
        ),
    }
}

fn fetch_token(session: &mut Session, name: &TokenName) -> Option<ListedToken> {
    let configuration = session.configuration()?;
    let server = session.servers().responsible(name.bytes(), configuration)?;
    let by = clock::now().monotonic + LIST_TIMEOUT;
    let page = session
        .page(server, &name_before(name.bytes()), by)
        .ok()??;
    let page = Page::parse(&page)?;
    page.tokens
        .iter()
        .filter_map(ListedToken::parse)
        .find(|listed| listed.name == *name)
}

/// Returns a name that is shortly before `name` in the order of names. So the page that begins after the returned name
/// contains `name`.
fn name_before(name: &[u8]) -> Vec<u8> {
    let mut before = name.to_vec();
    if let Some(last @ 1..) = before.pop() {
        before.extend([last - 1, u8::MAX]);
    }
    // A server does not answer a request whose name is longer.
    before.truncate(NAME_BYTES_MAX);
    before
}

fn holders_text(listed: &ListedToken, names: &Names) -> String {
    let holder = match (&listed.holders[..], listed.access) {
        ([], _) | (_, HoldMode::Free) => "it is free now".to_owned(),
        ([one], HoldMode::Exclusive) => {
            format!("{} holds it exclusively", listed.holder_text(*one, names))
        }
        ([one], _) => format!("{} shares it", listed.holder_text(*one, names)),
        (many, _) if many.len() < LISTED_SESSIONS_MAX => {
            format!("{} sessions share it", many.len())
        }
        (many, _) => format!("{} sessions or more share it", many.len()),
    };
    match listed.waiting.len() {
        0 => holder,
        1 => format!("{holder}, and another client waits for the token"),
        others => format!("{holder}, and {others} other clients wait for the token"),
    }
}

#[cfg(test)]
mod tests {
    use super::{Names, holders_text, name_before};
    use crate::ftn::name::TokenName;
    use crate::ftn::page::{HoldMode, ListedToken};

    #[test]
    fn a_page_after_the_name_before_contains_the_name() {
        for name in [&b"a"[..], b"t1", b"\0", b"a\0", &[b'x'; 1024]] {
            let before = name_before(name);
            assert!(*before < *name && before.len() <= 1024, "{name:?}");
        }
    }

    #[test]
    fn holders_and_waiting_clients_are_described() {
        let mut listed = ListedToken {
            name: TokenName::from_user("t".into()).expect("a name"),
            access: HoldMode::Exclusive,
            holders: vec![7],
            waiting: vec![8, 9],
            bytes: 0,
            programs: Vec::new(),
        };
        let text = |listed: &ListedToken| holders_text(listed, &Names::default());
        let expected = "session 7 holds it exclusively, and 2 other clients wait for the token";
        assert_eq!(text(&listed), expected);
        listed.access = HoldMode::Shared;
        listed.holders = vec![7, 8];
        listed.waiting.clear();
        assert_eq!(text(&listed), "2 sessions share it");
        listed.holders = (0..16).collect();
        assert_eq!(text(&listed), "16 sessions or more share it");
    }
}
