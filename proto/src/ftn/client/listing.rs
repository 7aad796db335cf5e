//! Pages of the tokens of a server (`docs/ftn.md`, sections 2 and 6).

use super::outbox::Context;
use super::outstanding::Which;
use super::tokens::Tokens;
use super::{Event, Reason};
use crate::ftn::Configuration;

impl Tokens {
    /// The program asks a server for the page after a name.
    pub(super) fn list(
        &mut self,
        context: &mut Context<'_>,
        configuration: &Configuration,
        server: usize,
        after: &[u8],
    ) {
        if configuration.is_down(server) {
            context.tell(Event::ListingFailed { server });
            return;
        }
        let number = self.start(context, after, Which::List(server));
        if let Some(earlier) = self.listings.insert(server, number) {
            self.outstanding.end(earlier);
        }
    }

    /// GRANT("", page).
    pub(super) fn listed(
        &mut self,
        context: &mut Context<'_>,
        server: usize,
        msgnum: i64,
        page: &[u8],
    ) -> Result<(), Reason> {
        if self.listings.get(&server) != Some(&msgnum) {
            return Err(Reason::Late);
        }
        self.listings.remove(&server);
        self.outstanding.end(msgnum);
        context.tell(Event::Listed {
            server,
            page: page.into(),
        });
        Ok(())
    }

    /// Gives up asking servers that are DOWN now.
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
                context.tell(Event::ListingFailed { server });
            }
            !is_down
        });
    }
}
