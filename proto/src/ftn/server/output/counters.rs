//! Counters of datagrams, tokens and sessions (`docs/token-service/status.md`).

use ring_codec::ftn::Kind;

use crate::counter_macros::counters;
use crate::ftn::server::DropReason;

counters! {
    /// Counters since the start of a server.
    pub struct Counters;
    arrays {
        received: Kind::ALL.len(),
        sent: Kind::ALL.len(),
        dropped: DropReason::ALL.len(),
    }

    /// Granted tokens, without duplicates.
    grants,
    /// Updates of data by holders.
    updates,
    /// UPDATEs of sessions that did not hold the token.
    updates_refused,
    /// REQUESTs and RETURNs that the server had already processed.
    duplicates,
    /// Messages of sessions that a different server must answer. This server answered the clients with CONFIG.
    redirected,
    /// Sessions that began with a login.
    sessions_begun,
    /// Sessions that ended because of silence.
    sessions_expired,
    /// Sessions that ended by LOGOUT.
    sessions_logout,
    /// Sessions of an earlier run that a leader adopted in its grace.
    adopted,
    /// Held tokens that surveys found.
    reclaimed,
    /// Tokens that this server handed over to another server.
    transferred,
    /// Number of times that the server forgot its tokens.
    resets,
    /// Total number of tokens that the server forgot.
    tokens_forgotten,
    /// Tokens that were neither held nor awaited, and that the server dropped because memory was full.
    unassigned_dropped,
    /// REQUESTs and UPDATEs that were dropped because memory was full.
    refused_memory,
    /// Tokens that several clients claimed. At least one claim was for exclusive access.
    conflicts,
    /// Tokens for which clients had different data.
    conflicting_data,
    /// REVOKEs that were sent.
    revokes,
    /// Datagrams that the link refused.
    unsent,
}

impl Counters {
    /// Returns the number of received datagrams of a type: `received.TYPE`.
    pub fn receive_count(&self, kind: Kind) -> u64 {
        self.received[kind_index(kind)]
    }

    /// Returns the number of sent datagrams of a type: `sent.TYPE`.
    pub fn sent(&self, kind: Kind) -> u64 {
        self.sent[kind_index(kind)]
    }

    /// Returns the number of datagrams that were dropped for a reason: `dropped.REASON`.
    pub fn drop_count(&self, reason: DropReason) -> u64 {
        self.dropped[reason as usize]
    }

    /// Returns all counters that are not 0, with their names in the flat list of `status`.
    pub fn entries(&self) -> Vec<(String, u64)> {
        let kinds = Kind::ALL.into_iter();
        let received = kinds
            .clone()
            .map(|kind| (format!("received.{kind}"), self.receive_count(kind)));
        let sent = kinds.map(|kind| (format!("sent.{kind}"), self.sent(kind)));
        let dropped = DropReason::ALL.into_iter();
        let dropped = dropped.map(|reason| {
            let name = format!("dropped.{}", reason.key());
            (name, self.drop_count(reason))
        });
        let plain = self.plain().map(|(name, value)| (name.to_owned(), value));
        received
            .chain(sent)
            .chain(dropped)
            .chain(plain)
            // A server has dozens of counters, and most of them are 0.
            .filter(|(_, value)| *value > 0)
            .collect()
    }

    pub(crate) fn note_received(&mut self, kind: Kind) {
        self.received[kind_index(kind)] += 1;
    }

    pub(crate) fn note_sent(&mut self, kind: Kind) {
        self.sent[kind_index(kind)] += 1;
    }

    pub(crate) fn note_dropped(&mut self, reason: DropReason) {
        self.dropped[reason as usize] += 1;
    }
}

/// Returns a type's place in [`Kind::ALL`].
const fn kind_index(kind: Kind) -> usize {
    // Types have the numbers 11 to 15, 21 to 25 and 31 to 35.
    let number = kind as usize;
    (number / 10 - 1) * 5 + number % 10 - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_has_a_counter_of_its_own() {
        for (index, kind) in Kind::ALL.into_iter().enumerate() {
            assert_eq!(kind_index(kind), index);
        }
    }

    #[test]
    fn the_flat_list_names_what_is_not_zero() {
        let mut counters = Counters::new();
        counters.note_received(Kind::Login);
        counters.note_sent(Kind::Config);
        counters.note_dropped(DropReason::Signature);
        counters.grants = 7;
        let expected = [
            ("received.LOGIN", 1),
            ("sent.CONFIG", 1),
            ("dropped.ssig", 1),
            ("grants", 7),
        ];
        let expected = expected.map(|(name, value)| (name.to_owned(), value));
        assert_eq!(counters.entries(), expected);
    }
}
