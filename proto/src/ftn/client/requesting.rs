//! Asking for a token, getting it, and giving up (`docs/ftn.md`, section 6).

use std::str;

use super::holding::{Held, Hold, Token, Update, Want};
use super::outbox::Context;
use super::tokens::{LeavingAs, Tokens};
use super::{Event, Reason, Refusal};
use crate::ftn::MAX_DATA;

impl Tokens {
    /// The program requests a token.
    pub(super) fn request(
        &mut self,
        context: &mut Context<'_>,
        name: &[u8],
        want: Want,
    ) -> Result<(), Refusal> {
        match self.known.get_mut(name) {
            None => {
                let request = self.start_request(context, name, want);
                self.known.insert(name.into(), Token::Awaited(request));
            }
            Some(Token::Awaited(request)) => {
                if request.want.access == want.access {
                    return Err(Refusal::AlreadyDone);
                }
                let old = Some(request.number);
                self.outstanding_ends(old);
                let request = self.start_request(context, name, want);
                self.known.insert(name.into(), Token::Awaited(request));
            }
            Some(Token::Held(held)) => {
                let asked = held.request.map(|request| request.want.access);
                let is_as_wanted = [Some(held.hold.access), asked].contains(&Some(want.access));
                if is_as_wanted && !held.is_to_leave() {
                    return Err(Refusal::AlreadyDone);
                }
                if let Some(update) = held
                    .update
                    .as_mut()
                    .filter(|update| update.number.is_some())
                {
                    // At most one is outstanding; and the update's number would be below the grant's.
                    update.then_request = Some(want);
                    return Ok(());
                }
                let old = held.request.map(|request| request.number);
                self.outstanding_ends(old);
                let request = self.start_request(context, name, want);
                if let Some(Token::Held(held)) = self.known.get_mut(name) {
                    held.ask(request);
                    if held.awaits_upgrade() {
                        self.start_update(context, name);
                    }
                }
            }
            // Not before that is confirmed.
            Some(Token::Leaving(leaving)) => leaving.then_request = Some(want),
        }
        Ok(())
    }

    /// The program gives up whatever there is of a token.
    pub(super) fn cancel(&mut self, context: &mut Context<'_>, name: &[u8]) -> Result<(), Refusal> {
        let leaving = match self.known.get_mut(name) {
            None => return Err(Refusal::NotHeld),
            Some(Token::Leaving(leaving)) => {
                leaving.then_request = None;
                leaving.asked = true;
                return Ok(());
            }
            Some(Token::Awaited(_)) => LeavingAs::not_held(true),
            Some(Token::Held(held)) => LeavingAs {
                held: Some(held.hold.clone()),
                ..LeavingAs::not_held(true)
            },
        };
        self.leave(context, name, leaving);
        Ok(())
    }

    /// GRANT(m) from a server, which is responsible for the token or not.
    pub(super) fn granted(
        &mut self,
        context: &mut Context<'_>,
        is_responsible: bool,
        msgnum: i64,
        name: &[u8],
        data: &[u8],
    ) -> Result<(), Reason> {
        let Some(token) = self.known.get_mut(name) else {
            context.tell(Event::Declined { name: name.into() });
            self.leave(context, name, LeavingAs::not_held(false));
            return Ok(());
        };
        let request = match token {
            Token::Awaited(request) => *request,
            Token::Held(held) => held.request.ok_or(Reason::Late)?,
            Token::Leaving(_) => return Err(Reason::Outstanding),
        };
        if !is_responsible {
            return Err(Reason::NotResponsible);
        }
        if request.number != msgnum {
            return Err(Reason::Late);
        }
        let (fence, data) = if request.want.fence {
            fenced(data).ok_or(Reason::Illegal)?
        } else {
            (None, data)
        };
        if data.len() > MAX_DATA {
            return Err(Reason::TooLong);
        }
        let granted = Hold {
            access: request.want.access,
            fence,
            data: data.into(),
            updated: false,
        };
        let update = match token {
            Token::Held(held) => held.update.take(),
            Token::Awaited(_) | Token::Leaving(_) => None,
        };
        let held = Held {
            update,
            ..Held::new(granted)
        };
        if !held.is_to_leave() {
            context.tell(Event::Granted {
                name: name.into(),
                access: request.want.access,
                fence,
                data: data.into(),
            });
        }
        *token = Token::Held(held);
        self.outstanding.end(msgnum);
        self.start_update(context, name);
        Ok(())
    }

    /// REVOKE from the server that is responsible for the token.
    pub(super) fn revoked(&mut self, context: &mut Context<'_>, name: &[u8]) -> Result<(), Reason> {
        let held = match self.known.get_mut(name) {
            None => {
                context.tell(Event::Declined { name: name.into() });
                self.leave(context, name, LeavingAs::not_held(false));
                return Ok(());
            }
            // The GRANT may be on its way, or it was the answer that this REVOKE asks for.
            Some(Token::Awaited(_) | Token::Leaving(_)) => return Err(Reason::Outstanding),
            Some(Token::Held(held)) => held,
        };
        if held.awaits_upgrade() {
            let leaving = returned_for_upgrade(held);
            if !leaving.asked {
                context.tell(Event::UpgradeRevoked { name: name.into() });
            }
            self.leave(context, name, leaving);
            return Ok(());
        }
        if held.request.is_some() || held.update.is_some() {
            return Err(Reason::Outstanding);
        }
        if !held.revoked {
            held.revoked = true;
            context.tell(Event::Revoked { name: name.into() });
        }
        Ok(())
    }
}

/// How a sharer gives the token back that waits for an upgrade: with its last update, and to be asked for anew.
fn returned_for_upgrade(held: &Held) -> LeavingAs {
    let update = held.update.as_ref();
    let last = |update: &Update| {
        update
            .then_data
            .clone()
            .unwrap_or_else(|| update.data.clone())
    };
    let is_to_leave = held.is_to_leave();
    let then = if is_to_leave {
        update.and_then(|update| update.then_request)
    } else {
        held.request.map(|request| request.want)
    };
    LeavingAs {
        held: Some(held.hold.clone()),
        update: update.map(last),
        asked: is_to_leave,
        then_request: then,
    }
}

/// The fencing number and the data of a GRANT that was asked for with `fence`.
fn fenced(data: &[u8]) -> Option<(Option<u128>, &[u8])> {
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
    use super::fenced;

    #[test]
    fn a_fence_is_decimal_digits_before_the_first_space() {
        assert_eq!(fenced(b"12 "), Some((Some(12), &b""[..])));
        assert_eq!(fenced(b"0 a b"), Some((Some(0), &b"a b"[..])));
        assert_eq!(
            fenced(b"99999999999999999999 x"),
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
            assert_eq!(fenced(wrong), None);
        }
    }
}
