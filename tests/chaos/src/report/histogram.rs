//! Samples as bars, with the bound drawn in.

use maud::{Markup, html};

use crate::check::Sample;

const LEFT: f64 = 44.0;
const WIDTH: f64 = 510.0;
const HEIGHT: f64 = 150.0;
const TOP: f64 = 22.0;
const MOST_BINS: usize = 60;

/// A histogram.
pub struct Histogram<'a> {
    /// The samples.
    pub samples: &'a [Sample],
    /// What one unit of a value is called.
    pub unit: &'a str,
    /// The width of a bin.
    pub bin: f64,
    /// The bound.
    pub bound: Option<f64>,
}

impl Histogram<'_> {
    /// The picture.
    #[must_use]
    pub fn draw(&self) -> Markup {
        let most = self.samples.iter().map(|it| it.value).fold(0.0, f64::max);
        let reach = most.max(self.bound.unwrap_or(0.0) * 1.15);
        let count = index(reach, self.bin).min(MOST_BINS) + 1;
        let mut bins = vec![(0_u32, 0_u32); count];
        for sample in self.samples {
            let bin = &mut bins[index(sample.value, self.bin).min(count - 1)];
            let of_its_kind = if sample.disturbed {
                &mut bin.1
            } else {
                &mut bin.0
            };
            *of_its_kind += 1;
        }
        let tallest = bins.iter().map(|(judged, shown)| judged + shown).max();
        let tallest = f64::from(tallest.unwrap_or(0).max(1));
        #[expect(clippy::cast_precision_loss, reason = "there are at most 61 bins")]
        let width = WIDTH / count as f64;
        let x = |value: f64| LEFT + value / self.bin * width;
        let bottom = TOP + HEIGHT;
        let every = count.div_ceil(10);
        html! {
            svg viewBox="0 0 590 206" width="590" height="206"
                xmlns="http://www.w3.org/2000/svg" role="img" {
                text x=(LEFT - 6.0) y=(TOP + 6.0) class="name" { (tallest) }
                text x=(LEFT - 6.0) y=(bottom) class="name" { "0" }
                @for (at, (judged, disturbed)) in (0_u32..).zip(&bins) {
                    @let from = x(f64::from(at) * self.bin);
                    @let tall = f64::from(*judged) / tallest * HEIGHT;
                    @let grey = f64::from(*disturbed) / tallest * HEIGHT;
                    rect x=(from) y=(bottom - tall) width=(width - 1.0) height=(tall) class="bar" {}
                    rect x=(from) y=(bottom - tall - grey) width=(width - 1.0) height=(grey)
                        class="greybar" {}
                    @if (at as usize).is_multiple_of(every) {
                        text x=(from) y=(bottom + 14.0) class="time" {
                            (format_value(f64::from(at) * self.bin))
                        }
                    }
                }
                path d={ "M" (LEFT) " " (bottom) "H" (LEFT + WIDTH) } class="tick" {}
                text x=(LEFT + WIDTH) y=(bottom + 28.0) class="name" { (self.unit) }
                @if let Some(bound) = self.bound {
                    path d={ "M" (x(bound)) " " (TOP - 6.0) "V" (bottom) } class="bound" {}
                    text x=(x(bound)) y=(TOP - 9.0) class="boundname" {
                        "bound " (format_value(bound))
                    }
                }
            }
        }
    }
}

fn index(value: f64, bin: f64) -> usize {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "values are neither negative nor large"
    )]
    let index = (value / bin) as usize;
    index
}

fn format_value(value: f64) -> String {
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
