//! What clients and servers say of tokens that this server did not know, and what follows
//! (`docs/ftn.md`, section 4, "Result").

use ring_codec::ftn::Access;

use crate::ftn::catalog::Holding;

/// What is known of a token that the server did not know.
#[derive(Debug, Clone, Hash, Default)]
pub(crate) struct Gained {
    claims: Vec<Claim>,
    /// Where its data is from; `None`: nobody has said.
    source: Option<Source>,
    conflicting_data: bool,
    /// Who held it at the server that has handed it over; `None`: it does not say all.
    held: Option<Vec<i32>>,
}

/// Who says that it holds a token, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Claim {
    session: i32,
    holding: Holding,
}

/// Where data is from, the best first: of clients the first in this order, among equals the lowest session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Source {
    Transfer,
    /// The server had it when another took the token over, which has come to nothing, or served it until the leader doubted that it
    /// may.
    Retained,
    Client(u8, i32),
}

/// A claim's rank among those that have data.
const fn rank(holding: Holding) -> u8 {
    match holding {
        Holding::Exclusive => 0,
        Holding::ReturningExclusive => 1,
        Holding::Updated => 2,
        Holding::ReturningShared => 3,
        Holding::Shared => 4,
        Holding::Unknown => 5,
    }
}

/// Who holds a token after a survey.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Verdict {
    pub(crate) access: Access,
    pub(crate) holders: Vec<i32>,
    pub(crate) is_conflict: bool,
}

impl Source {
    /// A session that holds the token so.
    pub(crate) const fn client(holding: Holding, session: i32) -> Self {
        Self::Client(rank(holding), session)
    }

    const fn is_client(self) -> bool {
        matches!(self, Self::Client(..))
    }
}

impl Gained {
    /// A token that the server has already, and who held it as far as that is known.
    pub(crate) fn retained(held: Option<Vec<i32>>) -> Self {
        Self {
            source: Some(Source::Retained),
            held,
            ..Self::default()
        }
    }

    /// A session says that it holds the token.
    pub(crate) fn claim(&mut self, session: i32, holding: Holding) {
        self.claims.push(Claim { session, holding });
    }

    /// The server that hands the token over says who held it.
    pub(crate) fn set_held(&mut self, held: Option<Vec<i32>>) {
        self.held = held;
    }

    /// Data of the token, which differ from what it has or not. Returns whether they become its own: their source is better
    /// than that of what it has.
    pub(crate) fn offer(&mut self, source: Source, differs: bool) -> bool {
        if differs && source.is_client() && self.source.is_some_and(Source::is_client) {
            self.conflicting_data = true;
        }
        let is_better = self.source.is_none_or(|known| source < known);
        if is_better {
            self.source = Some(source);
        }
        is_better
    }

    /// Whether clients have different data, and no server has said which. What clients know is of no interest then.
    pub(crate) const fn has_conflicting_data(&self) -> bool {
        self.conflicting_data && !self.has_data_of_servers()
    }

    /// Whether a server has said what its data are.
    pub(crate) const fn has_data_of_servers(&self) -> bool {
        matches!(self.source, Some(Source::Transfer | Source::Retained))
    }

    /// A session is no more.
    pub(crate) fn remove(&mut self, session: i32) {
        self.claims.retain(|claim| claim.session != session);
    }

    /// Who holds it; `None`: nobody does.
    pub(crate) fn verdict(&self) -> Option<Verdict> {
        let those = |kinds: &[Holding]| -> Vec<i32> {
            let claims = self.claims.iter();
            let claims = claims.filter(|claim| kinds.contains(&claim.holding));
            claims.map(|claim| claim.session).collect()
        };
        let exclusive = those(&[Holding::Exclusive]);
        let sharing = those(&[Holding::Shared, Holding::Updated]);
        let unknown = those(&[Holding::Unknown]);
        // Whom the former server does not name has had its RETURN applied there, and waits for the CONFIRM alone.
        let named = |mut sessions: Vec<i32>| {
            sessions.retain(|id| self.held.as_ref().is_none_or(|held| held.contains(id)));
            sessions
        };
        let returning = named(those(&[Holding::ReturningExclusive]));
        let returning_shared = named(those(&[Holding::ReturningShared]));
        let verdict = |access, holders, is_conflict| {
            Some(Verdict {
                access,
                holders,
                is_conflict,
            })
        };
        if !exclusive.is_empty() {
            if exclusive.len() == 1 && sharing.is_empty() && unknown.is_empty() {
                return verdict(Access::Exclusive, exclusive, false);
            }
            let all = [exclusive, sharing, unknown].concat();
            return verdict(Access::Shared, all, true);
        }
        if !sharing.is_empty() || unknown.len() > 1 {
            let all = [sharing, unknown, returning_shared].concat();
            return verdict(Access::Shared, all, false);
        }
        if !unknown.is_empty() {
            return verdict(Access::Exclusive, unknown, false);
        }
        match returning.len() {
            0 if returning_shared.is_empty() => None,
            0 => verdict(Access::Shared, returning_shared, false),
            1 if returning_shared.is_empty() => verdict(Access::Exclusive, returning, false),
            // One has returned it without being told, and another was granted it since.
            _ => verdict(
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

    fn verdict(claims: &[(i32, Holding)]) -> Option<(Access, Vec<i32>, bool)> {
        let claims = claims.iter();
        let claims = claims.map(|&(session, holding)| Claim { session, holding });
        let gained = Gained {
            claims: claims.collect(),
            ..Gained::default()
        };
        let verdict = gained.verdict()?;
        Some((verdict.access, verdict.holders, verdict.is_conflict))
    }

    #[test]
    fn who_is_returning_holds_what_the_former_server_says() {
        use Holding::{Exclusive, ReturningExclusive, ReturningShared};
        let verdict = |held: &[i32], claims: &[(i32, Holding)]| {
            let claims = claims.iter();
            let claims = claims.map(|&(session, holding)| Claim { session, holding });
            let gained = Gained {
                claims: claims.collect(),
                held: Some(held.to_vec()),
                ..Gained::default()
            };
            let verdict = gained.verdict()?;
            Some((verdict.access, verdict.holders))
        };
        let claims = [(1, ReturningExclusive), (2, ReturningShared)];
        assert_eq!(verdict(&[2], &claims), Some((Access::Shared, vec![2])));
        assert_eq!(verdict(&[1], &claims), Some((Access::Exclusive, vec![1])));
        // Who uses it holds it, named or not.
        let using = [(1, Exclusive), (2, ReturningExclusive)];
        assert_eq!(verdict(&[2], &using), Some((Access::Exclusive, vec![1])));
    }

    #[test]
    fn the_result_follows_the_page_claim_by_claim() {
        use Access::{Exclusive as X, Shared as S};
        use Holding::{Exclusive, ReturningExclusive, ReturningShared, Shared, Unknown, Updated};
        assert_eq!(verdict(&[]), None);
        // Any x: exclusive, rs and rx are dropped.
        let claims = [
            (1, Exclusive),
            (2, ReturningShared),
            (3, ReturningExclusive),
        ];
        assert_eq!(verdict(&claims), Some((X, vec![1], false)));
        // Any of s, u, or two ?: shared among these and rs.
        let claims = [(1, Shared), (2, ReturningShared), (3, ReturningExclusive)];
        assert_eq!(verdict(&claims), Some((S, vec![1, 2], false)));
        assert_eq!(verdict(&[(1, Updated)]), Some((S, vec![1], false)));
        let claims = [(1, Unknown), (2, Unknown), (3, ReturningShared)];
        assert_eq!(verdict(&claims), Some((S, vec![1, 2, 3], false)));
        let claims = [(1, Unknown), (2, Shared)];
        assert_eq!(verdict(&claims), Some((S, vec![2, 1], false)));
        // One ?: exclusive.
        assert_eq!(verdict(&[(1, Unknown)]), Some((X, vec![1], false)));
        // Else rx or rs; several of which one is rx: nobody knows whose RETURN was applied.
        assert_eq!(
            verdict(&[(1, ReturningExclusive)]),
            Some((X, vec![1], false))
        );
        let claims = [(1, ReturningExclusive), (2, ReturningShared)];
        assert_eq!(verdict(&claims), Some((S, vec![1, 2], false)));
        let claims = [(1, ReturningShared), (2, ReturningShared)];
        assert_eq!(verdict(&claims), Some((S, vec![1, 2], false)));
        // Two exclusive claims are a conflict: all are kept as shared.
        let claims = [(1, Exclusive), (2, Exclusive)];
        assert_eq!(verdict(&claims), Some((S, vec![1, 2], true)));
        let claims = [(1, Exclusive), (2, Shared)];
        assert_eq!(verdict(&claims), Some((S, vec![1, 2], true)));
    }
}
