//! Requests for tokens, their grants and their cancellation (`docs/token-service/protocol/tokens.md` T9 to T13).

use std::str;

use super::holding::{HeldToken, Hold, TokenState, Update, Want};
use super::outbox::Context;
use super::tokens::{ReturnPlan, Tokens};
use super::{DropReason, Event, Refusal};
use crate::ftn::DATA_BYTES_MAX;

impl Tokens {
    /// Applies the program's request.
    pub(super) fn request(
        &mut self,
        context: &mut Context<'_>,
        name: &[u8],
        want: Want,
    ) -> Result<(), Refusal> {
        match self.by_name.get_mut(name) {
            None => {
                let request = self.start_request(context, name, want);
                self.by_name
                    .insert(name.into(), TokenState::Awaited(request));
            }
            Some(TokenState::Awaited(request)) => {
                if request.want.access == want.access {
                    return Err(Refusal::AlreadyDone);
                }
                // The new REQUEST replaces the old REQUEST, here and at the server.
                let old = Some(request.number);
                self.end_outstanding(old);
                let request = self.start_request(context, name, want);
                self.by_name
                    .insert(name.into(), TokenState::Awaited(request));
            }
            Some(TokenState::Held(held)) => {
                let requested = held.request.map(|request| request.want.access);
                let is_as_wanted = [Some(held.hold.access), requested].contains(&Some(want.access));
                if is_as_wanted && !held.is_to_return() {
                    return Err(Refusal::AlreadyDone);
                }
                if let Some(update) = held
                    .update
                    .as_mut()
                    .filter(|update| update.number.is_some())
                {
                    // The request waits, because the number of the outstanding update would be below the number of the
                    // grant.
                    update.then_request = Some(want);
                    return Ok(());
                }
                let old = held.request.map(|request| request.number);
                self.end_outstanding(old);
                let request = self.start_request(context, name, want);
                if let Some(TokenState::Held(held)) = self.by_name.get_mut(name) {
                    held.add_request(request);
                    // An update that waited for a GRANT may now be sent, because its number is above the number of the
                    // upgrade.
                    if held.is_awaiting_upgrade() {
                        self.start_update(context, name);
                    }
                }
            }
            // The token is requested once its return is confirmed.
            Some(TokenState::Returning(returning)) => returning.then_request = Some(want),
        }
        Ok(())
    }

    /// Executes the program's command to cancel a request or to give up a held token.
    pub(super) fn cancel(&mut self, context: &mut Context<'_>, name: &[u8]) -> Result<(), Refusal> {
        let returning = match self.by_name.get_mut(name) {
            None => return Err(Refusal::NotHeld),
            Some(TokenState::Returning(returning)) => {
                // The token is already being returned, so only the queued request is dropped.
                returning.then_request = None;
                returning.is_requested = true;
                return Ok(());
            }
            Some(TokenState::Awaited(_)) => ReturnPlan::not_held(true),
            Some(TokenState::Held(held)) => ReturnPlan {
                held: Some(held.hold.clone()),
                ..ReturnPlan::not_held(true)
            },
        };
        self.start_return(context, name, returning);
        Ok(())
    }

    /// Handles GRANT(m).
    pub(super) fn on_grant(
        &mut self,
        context: &mut Context<'_>,
        is_responsible: bool,
        msgnum: i64,
        name: &[u8],
        data: &[u8],
    ) -> Result<(), DropReason> {
        let Some(token) = self.by_name.get_mut(name) else {
            context.report(Event::Declined { name: name.into() });
            self.start_return(context, name, ReturnPlan::not_held(false));
            return Ok(());
        };
        let request = match token {
            TokenState::Awaited(request) => *request,
            TokenState::Held(held) => held.request.ok_or(DropReason::Late)?,
            // The outstanding RETURN also ends this grant.
            TokenState::Returning(_) => return Err(DropReason::Outstanding),
        };
        // The token's state is checked first: a token that the client does not hold is given back, whichever server
        // granted it.
        if !is_responsible {
            return Err(DropReason::NotResponsible);
        }
        if request.number != msgnum {
            return Err(DropReason::Late);
        }
        let (fence, data) = if request.want.fence {
            split_fence(data).ok_or(DropReason::Illegal)?
        } else {
            (None, data)
        };
        // The limit for datagrams includes a fencing number, which this grant may lack.
        if data.len() > DATA_BYTES_MAX {
            return Err(DropReason::TooLong);
        }
        let granted = Hold {
            access: request.want.access,
            fence,
            data: data.into(),
            is_updated: false,
        };
        let update = match token {
            TokenState::Held(held) => held.update.take(),
            TokenState::Awaited(_) | TokenState::Returning(_) => None,
        };
        let held = HeldToken {
            update,
            ..HeldToken::new(granted)
        };
        // A program that has already given the token back no longer needs the grant.
        if !held.is_to_return() {
            context.report(Event::Granted {
                name: name.into(),
                access: request.want.access,
                fence,
                data: data.into(),
            });
        }
        *token = TokenState::Held(held);
        // An update that waited for this GRANT now gets a number above the number of the GRANT. The server would ignore
        // a smaller number.
        self.outstanding.end(msgnum);
        self.start_update(context, name);
        Ok(())
    }

    /// Handles REVOKE from the responsible server.
    pub(super) fn on_revoke(
        &mut self,
        context: &mut Context<'_>,
        name: &[u8],
    ) -> Result<(), DropReason> {
        let held = match self.by_name.get_mut(name) {
            None => {
                context.report(Event::Declined { name: name.into() });
                self.start_return(context, name, ReturnPlan::not_held(false));
                return Ok(());
            }
            // The GRANT may be on its way, or this REVOKE asks for the RETURN that is outstanding.
            Some(TokenState::Awaited(_) | TokenState::Returning(_)) => {
                return Err(DropReason::Outstanding);
            }
            Some(TokenState::Held(held)) => held,
        };
        if held.is_awaiting_upgrade() {
            let returning = plan_upgrade_return(held);
            if !returning.is_requested {
                context.report(Event::UpgradeRevoked { name: name.into() });
            }
            self.start_return(context, name, returning);
            return Ok(());
        }
        if held.request.is_some() || held.update.is_some() {
            return Err(DropReason::Outstanding);
        }
        // Servers repeat REVOKE, but the program needs the event only once.
        if !held.is_revoked {
            held.is_revoked = true;
            context.report(Event::Revoked { name: name.into() });
        }
        Ok(())
    }
}

/// Plans the return of a shared token whose upgrade is still outstanding. The RETURN carries the last update. After the
/// return, the client requests the token again.
fn plan_upgrade_return(held: &HeldToken) -> ReturnPlan {
    let update = held.update.as_ref();
    let last = |update: &Update| {
        update
            .then_data
            .clone()
            .unwrap_or_else(|| update.data.clone())
    };
    let is_to_return = held.is_to_return();
    let then = if is_to_return {
        update.and_then(|update| update.then_request)
    } else {
        held.request.map(|request| request.want)
    };
    ReturnPlan {
        held: Some(held.hold.clone()),
        update: update.map(last),
        is_requested: is_to_return,
        then_request: then,
    }
}

/// Splits the data of a GRANT with a fencing number into that number and the token's data.
fn split_fence(data: &[u8]) -> Option<(Option<u128>, &[u8])> {
    let space = data.iter().position(|&byte| byte == b' ')?;
    let (digits, rest) = data.split_at_checked(space)?;
    let is_decimal = digits.iter().all(u8::is_ascii_digit);
    let fence = str::from_utf8(digits)
        .ok()
        .filter(|_| is_decimal)?
        .parse()
        .ok()?;
    Some((Some(fence), rest.get(1..)?))
}

#[cfg(test)]
mod tests {
    use super::split_fence;

    #[test]
    fn a_fence_is_decimal_digits_before_the_first_space() {
        assert_eq!(split_fence(b"12 "), Some((Some(12), &b""[..])));
        assert_eq!(split_fence(b"0 a b"), Some((Some(0), &b"a b"[..])));
        assert_eq!(
            split_fence(b"99999999999999999999 x"),
            Some((Some(99_999_999_999_999_999_999), &b"x"[..]))
        );
        for wrong in [
            &b""[..],
            b" ",
            b" 12",
            b"12",
            b"+1 x",
            b"1x y",
            b"999999999999999999999999999999999999999 x",
        ] {
            assert_eq!(split_fence(wrong), None);
        }
    }
}
