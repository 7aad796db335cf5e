//! Listings of a server's tokens, page by page (`docs/token-service/protocol/tokens.md` I5).

use super::outbox::Context;
use super::outstanding_messages::MessageKind;
use super::tokens::Tokens;
use super::{DropReason, Event};
use crate::ftn::Configuration;

impl Tokens {
    /// Asks a server for the page of its listing that begins after a name.
    pub(super) fn list(
        &mut self,
        context: &mut Context<'_>,
        configuration: &Configuration,
        server: usize,
        after: &[u8],
    ) {
        // The server would not answer, and the program would wait indefinitely.
        if configuration.is_down(server) {
            context.report(Event::ListingFailed { server });
            return;
        }
        let number = self.start_message(context, after, MessageKind::List(server));
        if let Some(earlier) = self.listings.insert(server, number) {
            self.outstanding.end(earlier);
        }
    }

    /// Handles GRANT("", page).
    pub(super) fn on_page(
        &mut self,
        context: &mut Context<'_>,
        server: usize,
        msgnum: i64,
        page: &[u8],
    ) -> Result<(), DropReason> {
        // A late page is dropped, not given back like a late GRANT: RETURN of the empty name would be a renewal.
        if self.listings.get(&server) != Some(&msgnum) {
            return Err(DropReason::Late);
        }
        self.listings.remove(&server);
        self.outstanding.end(msgnum);
        context.report(Event::Listed {
            server,
            page: page.into(),
        });
        Ok(())
    }

    /// Gives up the questions to servers that are DOWN.
    pub(super) fn drop_listings(
        &mut self,
        context: &mut Context<'_>,
        configuration: &Configuration,
    ) {
        let outstanding = &mut self.outstanding;
        self.listings.retain(|&server, &mut number| {
            let is_down = configuration.is_down(server);
            if is_down {
                outstanding.end(number);
                context.report(Event::ListingFailed { server });
            }
            !is_down
        });
    }
}
