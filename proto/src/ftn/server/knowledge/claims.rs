//! Computes the result of a survey, for tokens that this server did not know (`docs/token-service/protocol/surveys.md`
//! V10 to V14). The inputs are the claims of clients, and the data from clients and servers.

use ring_codec::ftn::Access;

use crate::ftn::catalog::HoldKind;

/// Results of a survey for one token.
#[derive(Debug, Clone, Hash, Default)]
pub(crate) struct SurveyedToken {
    claims: Vec<Claim>,
    /// Source of the data; `None` if there are no data.
    source: Option<Source>,
    has_data_conflict: bool,
    /// Holders that the former server named in TRANSFER; `None` if TRANSFER did not name all holders.
    held: Option<Vec<i32>>,
}

/// A session's claim to hold a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Claim {
    session: i32,
    holding: HoldKind,
}

/// Source of a token's data. In comparisons, a better source is less than a worse source. If two sources are clients,
/// their kinds of hold decide the order, and then their session ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Source {
    Transfer,
    /// This server kept the data. This server's handover of the token failed, or this server served the token until a
    /// leader was in doubt.
    Retained,
    Client(u8, i32),
}

/// Returns a claim's rank as a source of data.
const fn rank(holding: HoldKind) -> u8 {
    match holding {
        HoldKind::Exclusive => 0,
        HoldKind::ReturningExclusive => 1,
        // This session's update was confirmed, while other sharers still have the data of their grants.
        HoldKind::Updated => 2,
        // A session of the kind `rs` may have updated the data, unlike a session of the kind `s`.
        HoldKind::ReturningShared => 3,
        HoldKind::Shared => 4,
        HoldKind::Unknown => 5,
    }
}

/// Holders of a token after a survey.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Ownership {
    pub(crate) access: Access,
    pub(crate) holders: Vec<i32>,
    pub(crate) is_conflict: bool,
}

impl Source {
    pub(crate) const fn from_client(holding: HoldKind, session: i32) -> Self {
        Self::Client(rank(holding), session)
    }

    const fn is_client(self) -> bool {
        matches!(self, Self::Client(..))
    }
}

impl SurveyedToken {
    /// Returns the state of a token that the server kept. `held` are the token's holders, or `None` if some of them are
    /// unknown.
    pub(crate) fn with_kept_data(held: Option<Vec<i32>>) -> Self {
        Self {
            source: Some(Source::Retained),
            held,
            ..Self::default()
        }
    }

    pub(crate) fn add_claim(&mut self, session: i32, holding: HoldKind) {
        self.claims.push(Claim { session, holding });
    }

    /// Sets the holders that the former server named.
    pub(crate) fn set_held(&mut self, held: Option<Vec<i32>>) {
        self.held = held;
    }

    /// Offers data for the token. Returns whether the source of the offered data is better than the source of the
    /// present data. `differs` states whether the offered data differ from the present data.
    pub(crate) fn offer(&mut self, source: Source, differs: bool) -> bool {
        if differs && source.is_client() && self.source.is_some_and(Source::is_client) {
            self.has_data_conflict = true;
        }
        let is_better = self.source.is_none_or(|known| source < known);
        if is_better {
            self.source = Some(source);
        }
        is_better
    }

    /// Whether clients claim different data of the token. If a server has data of the token, the claims of clients do
    /// not matter, and the result is `false`.
    pub(crate) const fn has_conflicting_data(&self) -> bool {
        self.has_data_conflict && !self.has_data_of_servers()
    }

    /// Whether the data come from a server.
    pub(crate) const fn has_data_of_servers(&self) -> bool {
        matches!(self.source, Some(Source::Transfer | Source::Retained))
    }

    pub(crate) fn remove(&mut self, session: i32) {
        self.claims.retain(|claim| claim.session != session);
    }

    /// Returns the holders, or `None` if the token has no holders.
    pub(crate) fn ownership(&self) -> Option<Ownership> {
        let those = |kinds: &[HoldKind]| -> Vec<i32> {
            let claims = self.claims.iter();
            let claims = claims.filter(|claim| kinds.contains(&claim.holding));
            claims.map(|claim| claim.session).collect()
        };
        let exclusive = those(&[HoldKind::Exclusive]);
        let sharing = those(&[HoldKind::Shared, HoldKind::Updated]);
        let unknown = those(&[HoldKind::Unknown]);
        // If the former server does not name a session, it has applied that session's RETURN. Only the CONFIRM is
        // missing.
        let named = |mut sessions: Vec<i32>| {
            sessions.retain(|id| self.held.as_ref().is_none_or(|held| held.contains(id)));
            sessions
        };
        let returning = named(those(&[HoldKind::ReturningExclusive]));
        let returning_shared = named(those(&[HoldKind::ReturningShared]));
        let ownership = |access, holders, is_conflict| {
            Some(Ownership {
                access,
                holders,
                is_conflict,
            })
        };
        if !exclusive.is_empty() {
            // Sessions that are returning the token do not count: their RETURN was applied before this grant.
            if exclusive.len() == 1 && sharing.is_empty() && unknown.is_empty() {
                return ownership(Access::Exclusive, exclusive, false);
            }
            // The server cannot know which claim is wrong, so no session loses the token.
            let all = [exclusive, sharing, unknown].concat();
            return ownership(Access::Shared, all, true);
        }
        if !sharing.is_empty() || unknown.len() > 1 {
            let all = [sharing, unknown, returning_shared].concat();
            return ownership(Access::Shared, all, false);
        }
        if !unknown.is_empty() {
            // The session may hold the token exclusively, so no other session may join.
            return ownership(Access::Exclusive, unknown, false);
        }
        match returning.len() {
            0 if returning_shared.is_empty() => None,
            0 => ownership(Access::Shared, returning_shared, false),
            1 if returning_shared.is_empty() => ownership(Access::Exclusive, returning, false),
            // One RETURN was applied without a CONFIRM, and the token was then granted to another session.
            _ => ownership(
                Access::Shared,
                [returning, returning_shared].concat(),
                false,
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Access::{Exclusive as X, Shared as S};
    use HoldKind::{Exclusive, ReturningExclusive, ReturningShared, Shared, Unknown, Updated};

    type Outcome = Option<(Access, Vec<i32>, bool)>;

    /// Returns access, holders and whether there is a conflict. `held`: holders that the former server names.
    fn result(held: Option<&[i32]>, claims: &[(i32, HoldKind)]) -> Outcome {
        let claims = claims.iter();
        let claims = claims.map(|&(session, holding)| Claim { session, holding });
        let token = SurveyedToken {
            claims: claims.collect(),
            held: held.map(<[i32]>::to_vec),
            ..SurveyedToken::default()
        };
        let ownership = token.ownership()?;
        Some((ownership.access, ownership.holders, ownership.is_conflict))
    }

    #[test]
    fn a_returning_session_holds_the_token_if_the_former_server_names_it() {
        let returning = [(1, ReturningExclusive), (2, ReturningShared)];
        // A session that still uses the token holds it, whether the former server named it or not.
        let using = [(1, Exclusive), (2, ReturningExclusive)];
        for (held, claims, access, holder) in
            [(2, returning, S, 2), (1, returning, X, 1), (2, using, X, 1)]
        {
            let expected = Some((access, vec![holder], false));
            assert_eq!(result(Some(&[held]), &claims), expected, "{claims:?}");
        }
    }

    /// The cases have the same order as the table in V10.
    #[test]
    fn claims_determine_access_holders_and_conflicts() {
        let cases: [(&[(i32, HoldKind)], Outcome); 13] = [
            (&[], None),
            (
                &[
                    (1, Exclusive),
                    (2, ReturningShared),
                    (3, ReturningExclusive),
                ],
                Some((X, vec![1], false)),
            ),
            (
                &[(1, Exclusive), (2, Exclusive)],
                Some((S, vec![1, 2], true)),
            ),
            (&[(1, Exclusive), (2, Shared)], Some((S, vec![1, 2], true))),
            (
                &[(1, Shared), (2, ReturningShared), (3, ReturningExclusive)],
                Some((S, vec![1, 2], false)),
            ),
            (&[(1, Updated)], Some((S, vec![1], false))),
            (
                &[(1, Unknown), (2, Unknown), (3, ReturningShared)],
                Some((S, vec![1, 2, 3], false)),
            ),
            (&[(1, Unknown), (2, Shared)], Some((S, vec![2, 1], false))),
            (&[(1, Unknown)], Some((X, vec![1], false))),
            (&[(1, ReturningExclusive)], Some((X, vec![1], false))),
            (
                &[(1, ReturningExclusive), (2, ReturningShared)],
                Some((S, vec![1, 2], false)),
            ),
            (
                &[(1, ReturningShared), (2, ReturningShared)],
                Some((S, vec![1, 2], false)),
            ),
            (&[(1, ReturningShared)], Some((S, vec![1], false))),
        ];
        for (claims, expected) in cases {
            assert_eq!(result(None, claims), expected, "{claims:?}");
        }
    }
}
