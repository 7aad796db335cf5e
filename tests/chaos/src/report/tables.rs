//! The page's tables: how often what happened.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use maud::{Markup, html};
use ring_segment::Message;

use super::lanes::Way;
use super::page::Scene;
use crate::cast::Part;

impl Scene<'_> {
    pub(super) fn tables(&self) -> Markup {
        html! {
            h2 { "Counters" }
            div class="pair" {
                table {
                    tr { th { "what was looked at" } th class="n" { "how often" } }
                    @for (what, count) in &self.verdict.counts {
                        tr { td { (what) } td class="n" { (count) } }
                    }
                }
                (self.fault_table())
                (self.token_table())
            }
            (self.daemon_table())
        }
    }

    fn fault_table(&self) -> Markup {
        let mut kinds: BTreeMap<&str, (u32, Duration)> = BTreeMap::new();
        for done in &self.evidence.faults {
            let entry = kinds.entry(&done.kind).or_default();
            *entry = (entry.0 + 1, entry.1 + done.span.length());
        }
        html! {
            table {
                tr { th { "fault" } th class="n" { "times" } th class="n" { "seconds in all" } }
                @for (kind, (times, lasted)) in kinds {
                    tr {
                        td { (kind) }
                        td class="n" { (times) }
                        td class="n" { (lasted.as_secs()) }
                    }
                }
            }
        }
    }

    fn token_table(&self) -> Markup {
        let ways = |way| self.hops.iter().filter(|hop| hop.way == way).count();
        let mut kinds: BTreeMap<&str, u64> = BTreeMap::new();
        for seen in &self.evidence.sent {
            *kinds.entry(kind_of(&seen.message)).or_default() += 1;
        }
        html! {
            table {
                tr { th { "the token" } th class="n" { "times" } }
                tr { td { "handed over" } td class="n" { (ways(Way::Handed)) } }
                tr { td { "minted anew after a failed hand-over" } td class="n" { (ways(Way::Minted)) } }
                tr { td { "elected anew" } td class="n" { (ways(Way::Elected)) } }
                tr { th { "frames sent" } th {} }
                @for (kind, count) in kinds { tr { td { (kind) } td class="n" { (count) } } }
            }
        }
    }

    /// The reasons for changes of state, from the daemons' logs: counters end with a process.
    fn daemon_table(&self) -> Markup {
        let mut counts: HashMap<(&str, usize), u64> = HashMap::new();
        let mut reasons: Vec<&str> = Vec::new();
        for (place, log) in self.evidence.logs.iter().enumerate() {
            for change in log {
                let key = change.reason.as_deref().unwrap_or(&change.event);
                if key == "state_changed" {
                    continue;
                }
                if !reasons.contains(&key) {
                    reasons.push(key);
                }
                *counts.entry((key, place)).or_default() += 1;
            }
        }
        reasons.sort_unstable();
        let places: Vec<usize> = self.evidence.cast.places(Part::Daemon).collect();
        html! {
            h3 { "What the daemons' logs tell" }
            table {
                tr {
                    th { "event or reason" }
                    @for place in &places { th class="n" { (self.evidence.cast.name(*place)) } }
                }
                @for reason in reasons {
                    tr {
                        td { (reason) }
                        @for place in &places {
                            td class="n" { (counts.get(&(reason, *place)).unwrap_or(&0)) }
                        }
                    }
                }
            }
        }
    }
}

fn kind_of(message: &Message) -> &'static str {
    match message {
        Message::TakeToken { .. } => "TAKE_TOKEN",
        Message::TokenIsHere { .. } => "TOKEN_IS_HERE",
        Message::Ping { .. } => "PING",
        Message::TokenWasHereRecently { .. } => "TOKEN_WAS_HERE_RECENTLY",
        Message::WhereIsToken => "WHERE_IS_TOKEN",
        Message::GeneratingToken { .. } => "GENERATING_TOKEN",
        Message::RingMembers { .. } => "RING_MEMBERS",
        Message::WantToken => "WANT_TOKEN",
        Message::Leaving => "LEAVING",
        Message::Stamps { .. } => "STAMPS",
        Message::Forget { .. } => "FORGET",
        Message::Invalid(_) => "invalid",
    }
}
