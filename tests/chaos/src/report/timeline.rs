//! A stretch of time as a picture: a lane a station, the token's way and the faults.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

use maud::{Markup, html};

use super::lanes::{Hop, Lane, Mood, Way};
use crate::check::{Evidence, Finding, Span};
use crate::fault::Fault;

/// Where time begins, in pixels.
const LEFT: f64 = 92.0;
/// How many pixels time has.
const WIDTH: f64 = 1108.0;
const LANE: f64 = 15.0;
const GAP: f64 = 4.0;
const FAULT_ROW: f64 = 13.0;
/// Of a row of the overview, which has no words in it.
const THIN_ROW: f64 = 10.0;
const AXIS: f64 = 18.0;
/// More hops than this a pixel are a bar of their number.
const DENSEST: f64 = 0.12;

/// What a timeline shows.
pub struct Timeline<'a> {
    /// The time.
    pub span: Span,
    /// What the run left.
    pub evidence: &'a Evidence,
    /// The stations.
    pub lanes: &'a [Lane],
    /// The token's way.
    pub hops: &'a [Hop],
    /// What was found.
    pub findings: &'a [Finding],
    /// One row a kind of fault and no words, or rows with words.
    pub overview: bool,
}

impl Timeline<'_> {
    /// The picture.
    #[must_use]
    pub fn draw(&self) -> Markup {
        let rows = self.fault_rows();
        let row_height = if self.overview { THIN_ROW } else { FAULT_ROW };
        let top = rows.iter().map(|(row, ..)| row + 1).max().unwrap_or(0);
        #[expect(
            clippy::cast_precision_loss,
            reason = "a picture has few rows and lanes"
        )]
        let (lanes_top, count) = (top as f64 * row_height + 6.0, self.lanes.len() as f64);
        let lanes_bottom = lanes_top + count * (LANE + GAP);
        let height = lanes_bottom + AXIS;
        html! {
            svg viewBox={ "0 0 1208 " (height) } width="1208" height=(height)
                xmlns="http://www.w3.org/2000/svg" role="img" {
                (self.draw_calm(lanes_bottom))
                @for (row, kind, label, span) in &rows {
                    (self.draw_fault(*row, row_height, kind, label, *span))
                }
                @for (lane, y) in self.lanes.iter().zip(lane_tops(lanes_top)) {
                    text x=(LEFT - 6.0) y=(y + LANE - 4.0) class="name" { (lane.name) }
                    (self.draw_lane(lane, y))
                }
                (self.draw_hops(lanes_top))
                (self.draw_findings(lanes_bottom))
                (self.draw_axis(lanes_bottom))
            }
        }
    }

    fn x(&self, at: Duration) -> f64 {
        let length = self.span.length().as_secs_f64();
        let since = at.as_secs_f64() - self.span.from.as_secs_f64();
        LEFT + (since / length).clamp(0.0, 1.0) * WIDTH
    }

    fn per_pixel(&self) -> Duration {
        self.span.length().div_f64(WIDTH)
    }

    fn overlaps(&self, span: Span) -> bool {
        span.from < self.span.to && span.to > self.span.from
    }

    /// A row, the kind, the words and the time of each fault in view.
    fn fault_rows(&self) -> Vec<(usize, &str, String, Span)> {
        let mut ends: Vec<Duration> = Vec::new();
        let seen = self.evidence.faults.iter();
        let mut rows: Vec<_> = seen
            .filter(|done| self.overlaps(done.span))
            .map(|done| {
                let names = done.stations.iter().map(|it| self.evidence.cast.name(*it));
                let label = [vec![&*done.kind], names.collect(), vec![&*done.detail]].concat();
                (&*done.kind, label.join(" · "), done.span)
            })
            .collect();
        let crashes = self.evidence.cycles.iter().flat_map(|cycle| &cycle.crashes);
        rows.extend(crashes.filter(|it| self.overlaps(it.span)).map(|crash| {
            let name = self.evidence.cast.name(crash.station);
            ("crash", format!("owner killed · {name}"), crash.span)
        }));
        rows.sort_by_key(|(.., span)| span.from);
        let rows = rows.into_iter().map(|(kind, label, span)| {
            let row = if self.overview {
                kinds().position(|it| it == kind).unwrap_or(0)
            } else {
                // Words need room: a row is free a while after its last fault.
                let room = self.per_pixel() * 240;
                let free = ends.iter().position(|end| *end <= span.from);
                let row = free.unwrap_or(ends.len());
                ends.resize(ends.len().max(row + 1), Duration::ZERO);
                ends[row] = span.to.max(span.from.max(self.span.from) + room);
                row
            };
            (row, kind, label, span)
        });
        rows.collect()
    }

    fn draw_fault(&self, row: usize, height: f64, kind: &str, label: &str, span: Span) -> Markup {
        let (from, to) = (self.x(span.from), self.x(span.to));
        #[expect(clippy::cast_precision_loss, reason = "there are few rows")]
        let y = row as f64 * height;
        html! {
            @if self.overview && span.from == self.first_of(kind) {
                text x=(LEFT - 6.0) y=(y + height - 1.0) class="kind" { (kind) }
            }
            rect x=(px(from)) y=(y) width=(px((to - from).max(1.0))) height=(height - 1.0)
                fill=(colour(kind)) rx="1" { title { (label) } }
            @if !self.overview {
                text x=(px(from + 3.0)) y=(y + height - 3.5) class="label" { (label) }
            }
        }
    }

    fn first_of(&self, kind: &str) -> Duration {
        let faults = self.evidence.faults.iter().filter(|done| done.kind == kind);
        let crashes = self.evidence.cycles.iter().flat_map(|cycle| &cycle.crashes);
        let crashes = crashes.map(|crash| crash.span).filter(|_| kind == "crash");
        let spans = faults.map(|done| done.span).chain(crashes);
        let seen = spans.filter(|span| self.overlaps(*span));
        seen.map(|span| span.from).min().unwrap_or_default()
    }

    /// The times in which bounds are checked.
    fn draw_calm(&self, bottom: f64) -> Markup {
        let cycles = self.evidence.cycles.iter();
        let calms = cycles.filter_map(|cycle| {
            let span = cycle.calm_span()?;
            Some((span, cycle.starved)).filter(|_| self.overlaps(span))
        });
        html! {
            @for (span, starved) in calms {
                rect x=(px(self.x(span.from))) y="0" height=(bottom)
                    width=(px(self.x(span.to) - self.x(span.from)))
                    class=(if starved { "starved" } else { "calm" }) {}
            }
        }
    }

    fn draw_lane(&self, lane: &Lane, y: f64) -> Markup {
        // Equal colours of a lane are one path of strokes: small, and quick to draw.
        let mut paths: BTreeMap<(Mood, u8), String> = BTreeMap::new();
        let middle = y + LANE / 2.0;
        for (from, to, mood, level) in columns(lane, self.span, self.per_pixel()) {
            let path = paths.entry((mood, level)).or_default();
            // Writing to a String cannot fail.
            let _ = write!(path, "M{} {middle}h{}", px(LEFT + from), px(to - from));
        }
        html! {
            @for ((mood, level), path) in &paths {
                path d=(path) stroke=(mood.look().1) stroke-width=(LANE)
                    stroke-opacity=(f64::from(*level) / 10.0) {}
            }
        }
    }

    fn draw_hops(&self, lanes_top: f64) -> Markup {
        let tops: Vec<f64> = lane_tops(lanes_top).take(self.lanes.len()).collect();
        let middle = |lane: usize| tops.get(lane).map(|y| y + LANE / 2.0);
        let from = self.hops.partition_point(|hop| hop.at < self.span.from);
        let to = self.hops.partition_point(|hop| hop.at < self.span.to);
        let seen = &self.hops[from..to];
        #[expect(clippy::cast_precision_loss, reason = "fewer hops than that")]
        let sparse = (seen.len() as f64) < DENSEST * WIDTH;
        let mut path = String::new();
        let mut marks = Vec::new();
        for hop in seen {
            let x = self.x(hop.at);
            let (Some(before), Some(after)) = (middle(hop.from), middle(hop.to)) else {
                continue;
            };
            if sparse {
                let _ = write!(path, "M{} {before}V{after}", px(x));
            }
            if hop.way != Way::Handed {
                marks.push((x, after, hop.way));
            }
        }
        html! {
            path d=(path) class="hop" {}
            @for (x, y, way) in marks {
                @if way == Way::Elected {
                    path d={ "M" (px(x)) " " (y - 7.0) "l5 12h-10z" } class="elected" {
                        title { "elected" }
                    }
                } @else if !self.overview {
                    circle cx=(px(x)) cy=(y) r="2.5" class="minted" { title { "minted anew" } }
                }
            }
        }
    }

    fn draw_findings(&self, bottom: f64) -> Markup {
        let seen = self.findings.iter().filter(|it| self.span.holds(it.at));
        html! {
            @for finding in seen {
                path d={ "M" (px(self.x(finding.at))) " 0V" (bottom) } class="finding" {
                    title { (finding.rule.words()) ": " (finding.text) }
                }
            }
        }
    }

    fn draw_axis(&self, bottom: f64) -> Markup {
        let length = self.span.length().as_secs_f64();
        let steps = [0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0];
        let step = steps.into_iter().find(|step| length / step <= 16.0);
        let step = step.unwrap_or(600.0);
        let first = (self.span.from.as_secs_f64() / step).ceil();
        let ticks = (0..40).map(|n| (first + f64::from(n)) * step);
        let ticks = ticks.take_while(|at| *at <= self.span.to.as_secs_f64());
        html! {
            @for at in ticks {
                @let x = px(self.x(Duration::from_secs_f64(at)));
                path d={ "M" (x) " " (bottom) "v4" } class="tick" {}
                text x=(x) y=(bottom + 14.0) class="time" { (clock(at, step)) }
            }
        }
    }
}

/// The kinds of faults in the order of the overview's rows.
pub fn kinds() -> impl Iterator<Item = &'static str> {
    Fault::KINDS.into_iter().chain(["crash"])
}

/// The colour of a kind of fault.
#[must_use]
pub fn colour(kind: &str) -> &'static str {
    match kind {
        "kill" | "amnesia" | "crash" => "#b9bfc6",
        "stop" => "#d5d9de",
        "carrier" | "cut" => "#f3c6a5",
        "islands" => "#f6d98b",
        "one-way" | "deaf" | "unicast" | "broadcast" => "#f4e3b8",
        "narrow" | "disk" => "#cfe3c1",
        "weather" => "#b9d7ee",
        "garbage" => "#d9c3e6",
        _ => "#e8b4b8",
    }
}

fn lane_tops(top: f64) -> impl Iterator<Item = f64> {
    (0..).map(move |lane| top + f64::from(lane) * (LANE + GAP))
}

/// A tenth of a pixel is fine enough.
fn px(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

fn clock(at: f64, step: f64) -> String {
    let minutes = (at / 60.0).floor();
    let seconds = at - minutes * 60.0;
    if step < 1.0 {
        format!("{minutes:.0}:{seconds:04.1}")
    } else {
        format!("{minutes:.0}:{seconds:02.0}")
    }
}

/// Columns of one colour, from and to in pixels, with the mood and the tenths of it. Where a mood
/// is shorter than a pixel the most notable one counts; that a station was OWNER for a part of a
/// pixel is shown by a fainter colour.
fn columns(lane: &Lane, span: Span, pixel: Duration) -> Vec<(f64, f64, Mood, u8)> {
    let mut columns: Vec<(f64, f64, Mood, u8)> = Vec::new();
    let mut next = 0;
    let mut x = 0.0;
    while x < WIDTH {
        let from = span.from + pixel.mul_f64(x);
        let to = from + pixel;
        while lane
            .moods
            .get(next)
            .is_some_and(|(span, _)| span.to <= from)
        {
            next += 1;
        }
        let mut shares: BTreeMap<Mood, Duration> = BTreeMap::new();
        let here = lane.moods[next.min(lane.moods.len())..].iter();
        for (span, mood) in here.take_while(|(span, _)| span.from < to) {
            let share = span.to.min(to).saturating_sub(span.from.max(from));
            *shares.entry(*mood).or_default() += share;
        }
        for (mood, level) in shown(&shares, pixel) {
            match columns
                .iter_mut()
                .rev()
                .take(2)
                .find(|it| it.2 == mood && it.3 == level)
            {
                Some(last) if (last.1 - x).abs() < 0.01 => last.1 = x + 1.0,
                _ => columns.push((x, x + 1.0, mood, level)),
            }
        }
        x += 1.0;
    }
    columns
}

/// What one column shows: a ground, and OWNER laid over it by its share.
fn shown(shares: &BTreeMap<Mood, Duration>, pixel: Duration) -> Vec<(Mood, u8)> {
    let notable = [Mood::Dead, Mood::Stopped, Mood::Generating, Mood::Looser];
    let share = |mood| {
        shares
            .get(&mood)
            .copied()
            .unwrap_or_default()
            .div_duration_f64(pixel)
    };
    let ground = notable.into_iter().find(|mood| share(*mood) > 0.25);
    let mut shown = vec![(ground.unwrap_or(Mood::Waiter), 10)];
    if shares.is_empty() {
        return Vec::new();
    }
    if ground.is_none() {
        // Steps that the eye can tell apart.
        let level = match share(Mood::Owner) {
            owner if owner > 0.6 => 10,
            owner if owner > 0.3 => 7,
            owner if owner > 0.1 => 4,
            owner if owner > 0.02 => 2,
            _ => 0,
        };
        shown.extend((level > 0).then_some((Mood::Owner, level)));
    }
    shown
}
