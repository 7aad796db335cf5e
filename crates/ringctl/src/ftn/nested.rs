//! Tokens that this program runs under: to wait for one of them is to wait for its own end.

use std::env;

use ring_client::token::{Access, Servers};

use super::super::Error;
use super::name::Name;

/// The variable of programs that run under tokens: one `SIGNATURE:NAME:HOW` for each, the name in hexadecimal digits,
/// HOW `s` or `x`, with spaces between them.
pub(super) const TOKENS: &str = "RINGD_TOKENS";

/// Checks that a token is not one that this program runs under, unless it is shared by both.
pub(super) fn check(servers: &Servers, name: &Name, access: Access) -> Result<(), Error> {
    let held = env::var(TOKENS).unwrap_or_default();
    if waits_for_itself(&held, servers.signature(), name, access) {
        let text = format!(
            "this runs under the token '{name}' already, in a ringctl token run, and would wait for its own end"
        );
        return Err(Error::NotAcquired { text, code: 1 });
    }
    Ok(())
}

/// The value of the variable for a command that runs under one more token.
pub(super) fn with(servers: &Servers, name: &Name, access: Access) -> String {
    let held = env::var(TOKENS).unwrap_or_default();
    let one_more = entry(servers.signature(), name, access);
    let held = held.split_whitespace().chain([one_more.as_str()]);
    held.collect::<Vec<_>>().join(" ")
}

fn waits_for_itself(held: &str, signature: i32, name: &Name, access: Access) -> bool {
    held.split_whitespace().any(|held| {
        let shared = entry(signature, name, Access::Shared);
        let is_shared = held == shared && access == Access::Shared;
        let is_it = held == shared || held == entry(signature, name, Access::Exclusive);
        is_it && !is_shared
    })
}

fn entry(signature: i32, name: &Name, access: Access) -> String {
    let how = match access {
        Access::Shared => 's',
        Access::Exclusive => 'x',
    };
    format!("{signature}:{}:{how}", name.digits())
}

#[cfg(test)]
mod tests {
    use super::{entry, waits_for_itself};
    use crate::ftn::name::Name;
    use ring_client::token::Access::{Exclusive, Shared};

    #[test]
    fn only_two_who_share_do_not_wait_for_one_another() {
        let name = Name::given("t".into()).expect("a name");
        let other = Name::given("u".into()).expect("a name");
        for (held, wanted, waits) in [
            (Shared, Shared, false),
            (Shared, Exclusive, true),
            (Exclusive, Shared, true),
            (Exclusive, Exclusive, true),
        ] {
            let under = format!("{} {}", entry(7, &other, Exclusive), entry(7, &name, held));
            assert_eq!(waits_for_itself(&under, 7, &name, wanted), waits);
            assert!(!waits_for_itself(&under, 8, &name, wanted), "another list");
        }
        assert!(!waits_for_itself("", 7, &name, Exclusive));
    }
}
