//! The page's order and words.

use std::time::Duration;

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::histogram::Histogram;
use super::lanes::{Hop, Lane, Mood, hops, lanes};
use super::timeline::{Timeline, colour, kinds};
use crate::cast::Part;
use crate::check::{Cycle, Evidence, GRAIN, Rule, Sample, Span, Verdict};

const STYLE: &str = include_str!("style.css");
/// Of a row of the overview.
const ROW: Duration = Duration::from_secs(300);
/// Around the end of the faults and around a crash.
const BEFORE: Duration = Duration::from_millis(100);
const AFTER: Duration = Duration::from_millis(1100);

/// What all pictures show.
pub(super) struct Scene<'a> {
    pub evidence: &'a Evidence,
    pub verdict: &'a Verdict,
    lanes: Vec<Lane>,
    pub hops: Vec<Hop>,
}

/// The whole page.
#[must_use]
pub fn page(evidence: &Evidence, verdict: &Verdict) -> Markup {
    let scene = Scene {
        evidence,
        verdict,
        lanes: lanes(evidence),
        hops: hops(evidence),
    };
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                title { "ringd: a ring that is broken on purpose" }
                style { (PreEscaped(STYLE)) }
            }
            body {
                (scene.head())
                (scene.overview())
                (scene.bounds())
                (scene.findings())
                (scene.tables())
                (scene.cycles())
            }
        }
    }
}

impl Scene<'_> {
    fn head(&self) -> Markup {
        let (evidence, found) = (self.evidence, self.verdict.findings.len());
        let daemons = evidence.cast.places(Part::Daemon).count();
        let members = evidence.cast.places(Part::Member).count();
        let timing = &evidence.timing;
        html! {
            h1 { "A ring that is broken on purpose" }
            p {
                (daemons) " real " code { "ringd" } " daemons and " (members) " members by a second, "
                "independent implementation, each in a network namespace of its own on a switch that "
                "loses, doubles, delays and keeps apart. For " (minutes(evidence.end)) " the seed "
                b { (evidence.seed) } " broke them, cycle after cycle: some seconds of faults, then a "
                "calm in which the protocol's bounds were checked and owners were killed to see how "
                "soon they are replaced."
            }
            div class={ "verdict " (if found == 0 { "good" } else { "bad" }) } {
                @if found == 0 {
                    b { "No violation." } " Every invariant held wherever it was checked."
                } @else {
                    b { (found) " findings." } " They are listed below."
                }
                @if !evidence.complete { " The run was broken off before its end." }
            }
            p {
                "HEART_BEAT_PERIOD " (ms(timing.heartbeat)) ", TAKE_TIMEOUT " (ms(timing.take_timeout))
                ", IDLE_HOLD " (ms(timing.idle_hold)) ". "
                @if evidence.clocks_differ {
                    "Each daemon ran in a time namespace of its own: their monotonic clocks differ by "
                    "more than a day. "
                } @else {
                    "The kernel gave the daemons no time namespaces: they shared one monotonic clock. "
                }
                "Steps of the wall clock were not tried: it is not namespaced, and the machine's "
                "clock is not the run's to set."
            }
        }
    }

    fn timeline(&self, span: Span, overview: bool) -> Markup {
        Timeline {
            span,
            evidence: self.evidence,
            lanes: &self.lanes,
            hops: &self.hops,
            findings: &self.verdict.findings,
            overview,
        }
        .draw()
    }

    fn overview(&self) -> Markup {
        let rows = (0_u32..).map(|row| ROW * row);
        let rows = rows.take_while(|from| *from < self.evidence.end);
        // A run that fits into one row fills it.
        let length = if self.evidence.end < ROW {
            self.evidence.end
        } else {
            ROW
        };
        html! {
            h2 { "The whole run" }
            p {
                "Above, a row for each kind of fault; below, a lane for each station, coloured by "
                "the state that its own log tells. The fainter the blue, the smaller the part of that "
                "time in which it was OWNER. On a blue ground the ring was left alone; on a red one "
                "only CPU was short. Times are minutes and seconds."
            }
            (legend())
            @for from in rows {
                (self.timeline(Span { from, to: from + length }, true))
            }
            p {
                "Cycles: "
                @for cycle in &self.evidence.cycles {
                    a href={ "#cycle" (cycle.number) } { (cycle.number) } " "
                }
            }
        }
    }

    fn bounds(&self) -> Markup {
        let (timing, verdict) = (&self.evidence.timing, self.verdict);
        let members = self.evidence.cast.ring().len();
        #[expect(clippy::cast_precision_loss, reason = "there are few members")]
        let tenures = members as f64 + 2.0;
        html! {
            h2 { "What was measured, beside its bound" }
            p {
                "Blue: measured while the machine itself was in time, and judged. Grey: some process "
                "had to wait for the CPU meanwhile for longer than the protocol's patience with one, "
                "which is TAKE_TIMEOUT; such a sample is shown and not judged."
            }
            div class="pair" {
                div {
                    h3 { "Fail-over: from the kill of an owner to its successor's first TOKEN_IS_HERE" }
                    (summary(&verdict.fail_overs, "s"))
                    (Histogram {
                        samples: &verdict.fail_overs, unit: "seconds", bin: 0.05,
                        bound: Some(timing.new_owner_bound().as_secs_f64()),
                    }.draw())
                    p {
                        "The bound is a sum of time-outs; " (ms(GRAIN)) " are granted for timers to "
                        "fire and frames to travel."
                    }
                    p { "From the victim's last frame instead: " (summary(&verdict.silences, "s")) }
                }
                div {
                    h3 { "One owner: from the end of the faults until there was one, and no second" }
                    (summary(&verdict.settling, "s"))
                    (Histogram {
                        samples: &verdict.settling, unit: "seconds", bin: 0.1,
                        bound: Some(timing.one_owner_bound().as_secs_f64()),
                    }.draw())
                }
                div {
                    h3 { "Service: tenures of others until a wanting member had the token" }
                    (summary(&verdict.services, "tenures"))
                    (Histogram {
                        samples: &verdict.services, unit: "tenures", bin: 1.0,
                        bound: Some(tenures),
                    }.draw())
                }
                div {
                    h3 { "Equal tables: from the end of the faults to the last differing digest" }
                    (summary(&verdict.tables, "s"))
                    (Histogram {
                        samples: &verdict.tables, unit: "seconds", bin: 0.1, bound: None,
                    }.draw())
                }
            }
        }
    }

    fn findings(&self) -> Markup {
        let all = &self.verdict.findings;
        html! {
            h2 { "Findings" }
            table {
                tr { th { "what must hold" } th class="n" { "found broken" } }
                @for rule in Rule::ALL {
                    tr {
                        td { (rule.words()) }
                        td class="n" { (all.iter().filter(|it| it.rule == rule).count()) }
                    }
                }
            }
            @for finding in all.iter().take(100) {
                p class="find" {
                    b { (clock(finding.at)) } " cycle " (self.cycle_at(finding.at)) " — "
                    (finding.rule.words()) "\n" (finding.text)
                }
            }
            @if all.len() > 100 { p { "… and " (all.len() - 100) " more." } }
        }
    }

    fn cycle_at(&self, at: Duration) -> u32 {
        let before = self.evidence.cycles.iter().rev().find(|it| it.begins <= at);
        before.map_or(0, |cycle| cycle.number)
    }

    fn cycles(&self) -> Markup {
        html! {
            h2 { "Cycle by cycle" }
            p {
                "Each fault with its words, the stations below. Where the token moves too often to "
                "be drawn only elections (red) and tokens minted after a failed hand-over (orange) are "
                "marked; the close-ups show every hand-over as a line from lane to lane."
            }
            (legend())
            @for cycle in &self.evidence.cycles { (self.cycle(cycle)) }
        }
    }

    fn cycle(&self, cycle: &Cycle) -> Markup {
        let whole = Span {
            from: cycle.begins,
            to: cycle.ends.max(cycle.begins + AFTER),
        };
        let all = self.verdict.findings.iter();
        let found = all.filter(|it| whole.holds(it.at)).count();
        let around = |at: Duration| Span {
            from: at.saturating_sub(BEFORE),
            to: at + AFTER,
        };
        html! {
            details open[found > 0 || cycle.number == 1] id={ "cycle" (cycle.number) } {
                summary {
                    b { "Cycle " (cycle.number) } " at " (clock(cycle.begins))
                    @if cycle.starved { ", its calm starved of CPU" }
                    @if found > 0 { b { ", " (found) " findings" } }
                }
                (self.timeline(whole, false))
                @if let Some(calm) = cycle.calm {
                    h3 { "Close-up: the faults end" }
                    (self.timeline(around(calm), false))
                }
                @for crash in &cycle.crashes {
                    h3 { "Close-up: " (self.evidence.cast.name(crash.station)) " is killed as OWNER" }
                    (self.timeline(around(crash.span.from), false))
                }
            }
        }
    }
}

fn legend() -> Markup {
    html! {
        p class="legend" {
            @for mood in Mood::ALL {
                span { i style={ "background:" (mood.look().1) } {} (mood.look().0) }
            }
            span { i style="background:#d7263d" {} "elected" }
            span { i style="background:#f07f13;border-radius:7px" {} "minted" }
        }
        p class="legend" {
            "Faults: "
            @for kind in kinds() { span { i style={ "background:" (colour(kind)) } {} (kind) } }
        }
    }
}

fn summary(samples: &[Sample], unit: &str) -> Markup {
    let mut judged: Vec<f64> = samples
        .iter()
        .filter(|it| !it.disturbed)
        .map(|it| it.value)
        .collect();
    judged.sort_by(f64::total_cmp);
    let grey = samples.len() - judged.len();
    html! {
        @if let (Some(least), Some(most)) = (judged.first(), judged.last()) {
            (judged.len()) " judged: least " (format!("{least:.2}")) ", median "
            (format!("{:.2}", judged[judged.len() / 2])) ", most " (format!("{most:.2}")) " " (unit)
        } @else { "none judged" }
        @if grey > 0 { "; " (grey) " not judged" }
    }
}

fn ms(time: Duration) -> String {
    format!("{} ms", time.as_secs_f64() * 1000.0)
}

fn minutes(time: Duration) -> String {
    format!("{:.1} minutes", time.as_secs_f64() / 60.0)
}

fn clock(at: Duration) -> String {
    let seconds = at.as_secs_f64();
    format!("{:.0}:{:06.3}", (seconds / 60.0).floor(), seconds % 60.0)
}
