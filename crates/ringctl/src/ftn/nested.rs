//! Tokens that this program runs under. If the program waited for such a token, it would wait for its own end.

use std::env;

use ring_client::token::{Access, Servers};

use super::super::Error;
use super::name::TokenName;

/// The environment variable of programs that run under tokens: one `SIGNATURE:NAME:HOW` for each token, separated by
/// spaces. NAME is in hexadecimal digits, and HOW is `s` (shared) or `x` (exclusive).
pub(super) const TOKENS_VARIABLE: &str = "RINGD_TOKENS";

/// Refuses a token that this program runs under. But if the program shares this token, it may request the token as
/// shared once more.
pub(super) fn refuse_nested(
    servers: &Servers,
    name: &TokenName,
    access: Access,
) -> Result<(), Error> {
    let held = env::var(TOKENS_VARIABLE).unwrap_or_default();
    if waits_for_itself(&held, servers.signature(), name, access) {
        let text = format!(
            "cannot acquire the token '{name}': this program already runs under it (ringctl token run) and would wait \
             for its own end"
        );
        return Err(Error::NotAcquired { text, code: 1 });
    }
    Ok(())
}

/// Returns the value of [`TOKENS_VARIABLE`] for a command that runs under an additional token.
pub(super) fn with_token(servers: &Servers, name: &TokenName, access: Access) -> String {
    let held = env::var(TOKENS_VARIABLE).unwrap_or_default();
    let one_more = entry(servers.signature(), name, access);
    let held = held.split_whitespace().chain([one_more.as_str()]);
    held.collect::<Vec<_>>().join(" ")
}

fn waits_for_itself(held: &str, signature: i32, name: &TokenName, access: Access) -> bool {
    held.split_whitespace().any(|held| {
        let shared = entry(signature, name, Access::Shared);
        let is_shared = held == shared && access == Access::Shared;
        let is_it = held == shared || held == entry(signature, name, Access::Exclusive);
        is_it && !is_shared
    })
}

fn entry(signature: i32, name: &TokenName, access: Access) -> String {
    let how = match access {
        Access::Shared => 's',
        Access::Exclusive => 'x',
    };
    format!("{signature}:{}:{how}", name.to_hex())
}

#[cfg(test)]
mod tests {
    use super::{entry, waits_for_itself};
    use crate::ftn::name::TokenName;
    use ring_client::token::Access::{Exclusive, Shared};

    #[test]
    fn only_shared_tokens_are_not_refused() {
        let name = TokenName::from_user("t".into()).expect("a name");
        let other = TokenName::from_user("u".into()).expect("a name");
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
