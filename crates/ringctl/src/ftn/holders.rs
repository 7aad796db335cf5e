//! Who keeps a client from a token, for its user.

use std::time::Duration;

use ring_client::token::{MAX_NAME, Session};
use ring_runtime::clock;
use ring_text::Names;

use super::listing::{Held, Listed, Page};
use super::name::Name;

/// Maximum time for finding out.
const PATIENCE: Duration = Duration::from_millis(400);
/// The most sessions that a server names of one token.
const NAMED: usize = 16;

/// Returns why a token was not granted in time, as a sentence.
pub(super) fn busy(session: &mut Session, name: &Name) -> String {
    match listed(session, name) {
        Some(listed) => format!(
            "the token '{name}' is not granted in time: {}",
            why(&listed, &Names::read())
        ),
        None => format!(
            "the token '{name}' is not granted in time, and its server does not say who holds it: it is busy taking over \
             from another, or gone"
        ),
    }
}

/// Asks the token's server for it.
fn listed(session: &mut Session, name: &Name) -> Option<Listed> {
    let configuration = session.configuration()?;
    let server = session.servers().responsible(name.bytes(), configuration)?;
    let by = clock::now().monotonic + PATIENCE;
    let page = session.page(server, &before(name.bytes()), by).ok()??;
    let page = Page::read(&page)?;
    page.tokens
        .iter()
        .filter_map(Listed::of)
        .find(|listed| listed.name == *name)
}

/// A name before this one, with few in between.
fn before(name: &[u8]) -> Vec<u8> {
    let mut before = name.to_vec();
    if let Some(last @ 1..) = before.pop() {
        before.extend([last - 1, u8::MAX]);
    }
    // A longer one than any that there is would not be answered.
    before.truncate(MAX_NAME);
    before
}

fn why(listed: &Listed, names: &Names) -> String {
    let holder = match (&listed.holders[..], listed.access) {
        ([], _) | (_, Held::Free) => "it is free now".to_owned(),
        ([one], Held::Exclusive) => format!("{} holds it exclusively", listed.holder(*one, names)),
        ([one], _) => format!("{} shares it", listed.holder(*one, names)),
        (many, _) if many.len() < NAMED => format!("{} sessions share it", many.len()),
        (many, _) => format!("{} sessions or more share it", many.len()),
    };
    match listed.waiting.len() {
        0 => holder,
        1 => format!("{holder}, and another one waits for it"),
        others => format!("{holder}, and {others} others wait for it"),
    }
}

#[cfg(test)]
mod tests {
    use super::{Names, before, why};
    use crate::ftn::listing::{Held, Listed};
    use crate::ftn::name::Name;

    #[test]
    fn a_page_that_begins_before_a_name_has_it() {
        for name in [&b"a"[..], b"t1", b"\0", b"a\0", &[b'x'; 1024]] {
            let before = before(name);
            assert!(*before < *name && before.len() <= 1024, "{name:?}");
        }
    }

    #[test]
    fn who_is_in_the_way_is_said_in_words() {
        let mut listed = Listed {
            name: Name::given("t".into()).expect("a name"),
            access: Held::Exclusive,
            holders: vec![7],
            waiting: vec![8, 9],
            bytes: 0,
            programs: Vec::new(),
        };
        let why = |listed: &Listed| why(listed, &Names::default());
        let said = "session 7 holds it exclusively, and 2 others wait for it";
        assert_eq!(why(&listed), said);
        listed.access = Held::Shared;
        listed.holders = vec![7, 8];
        listed.waiting.clear();
        assert_eq!(why(&listed), "2 sessions share it");
        listed.holders = (0..16).collect();
        assert_eq!(why(&listed), "16 sessions or more share it");
    }
}
