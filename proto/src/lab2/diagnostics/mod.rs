//! What people are told: assumptions of `docs/guarantees.md` that do not hold, as far as a node can tell, and what
//! members say of themselves. The machine feeds it. Nothing is decided here.

mod apart;
mod cards;
mod clock;
mod missing;
mod reach;
mod shared;
pub(super) mod silent_members;
mod trouble;
mod unheard;

use std::time::Duration;

use ring_codec::MacAddr;

use super::machine::{Context, Output};
use super::{Event, Trouble};
use crate::time::Instant;
use cards::Cards;
use missing::Missing;
use reach::Reach;
use shared::Shared;
use trouble::Troubles;
use unheard::Unheard;

/// For so many WAITER_TIMEOUTs what was noticed once is a trouble, and the same is not told again.
const RECENT: u32 = 128;

/// What was noticed, and told.
#[derive(Debug, Clone, Default)]
pub(crate) struct Diagnostics {
    troubles: Troubles,
    /// What gets through between this node and others.
    reach: Reach,
    /// Members that are silent.
    missing: Missing,
    /// Members that do not hear this node.
    unheard: Unheard,
    /// Addresses that two stations have.
    shared: Shared,
    /// Members whose times are too far from the ring's, in order.
    apart: Vec<MacAddr>,
    /// The strongest token is so far ahead of the wall clock that it was said.
    token_ahead: bool,
    cards: Cards,
}

/// Tells people of a trouble, or that it is over.
fn tell(out: &mut Output, trouble: Trouble, over: bool) {
    out.event(Event::Trouble { trouble, over });
}

/// Tells people of a trouble that has begun or ended.
fn tell_change(out: &mut Output, before: Option<Trouble>, trouble: Option<Trouble>) {
    match (before, trouble) {
        (None, Some(trouble)) => tell(out, trouble, false),
        (Some(trouble), None) => tell(out, trouble, true),
        _ => {}
    }
}

fn is_recent(context: &Context, at: Instant) -> bool {
    context.now().since(at) < context.waiter_timeout() * RECENT
}

/// Something that a member says of itself.
#[derive(Debug, Clone, Copy)]
struct Said {
    mac: MacAddr,
    since: Instant,
    told: bool,
}

/// A member says of itself that something is so, or that it is not. Returns whether people are to be told, once it has
/// said so for so long.
fn note_said(
    all: &mut Vec<Said>,
    mac: MacAddr,
    is_so: bool,
    (now, lasts): (Instant, Duration),
) -> bool {
    let place = all.iter().position(|said| said.mac == mac);
    if !is_so {
        return place.is_some_and(|at| all.swap_remove(at).told);
    }
    let at = place.unwrap_or_else(|| {
        let (since, told) = (now, false);
        all.push(Said { mac, since, told });
        all.len() - 1
    });
    let goes_on = now.since(all[at].since) >= lasts;
    goes_on && !std::mem::replace(&mut all[at].told, goes_on)
}

/// Members are gone. Returns those of which people were told that they said so, in order.
fn end_said(all: &mut Vec<Said>, gone: &[MacAddr]) -> Vec<MacAddr> {
    let ended = all.extract_if(.., |said| gone.contains(&said.mac));
    ended
        .filter(|said| said.told)
        .map(|said| said.mac)
        .collect()
}
