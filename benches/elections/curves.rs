//! Curves of the elections, with lines for the textbooks' counts and points for the measured values.

use std::path::Path;

use anyhow::Result;
use ring_codec::andrews::Method;

use super::chart::{self, Curve, Marks};
use super::measure::{Measured, Spread, Start};
use super::textbook;

const METHODS: [(Method, &str); 3] = [
    (Method::RingBased, "ring"),
    (Method::ChangRoberts, "Chang-Roberts"),
    (Method::Bully, "bully"),
];

pub(crate) fn draw(all: &[Measured], folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder)?;
    let draw =
        |file, what, curves: Vec<Curve>| chart::draw(&folder.join(file), ["nodes", what], &curves);
    let messages = |start| curves(all, start, |it| it.messages, true);
    draw(
        "elections-one.svg",
        "messages, one starts",
        messages(Start::One),
    )?;
    draw(
        "elections-all.svg",
        "messages, all start",
        messages(Start::All),
    )?;
    let hops = curves(all, Start::One, |it| it.time, false);
    draw("elections-time.svg", "hops, one starts", hops)
}

/// Returns the best, mean and worst curve of each method. Equal curves are drawn only once. `textbook` adds the curve
/// of the textbook.
#[expect(clippy::cast_precision_loss, reason = "rings of less than 2^52 nodes")]
fn curves(
    all: &[Measured],
    start: Start,
    of: fn(&Measured) -> Spread,
    with_textbook: bool,
) -> Vec<Curve> {
    let mut curves = Vec::new();
    for (color, (method, name)) in METHODS.into_iter().enumerate() {
        let those = || {
            let of_method = all.iter().filter(move |it| it.method == method);
            of_method.filter(move |it| it.start == start)
        };
        let points = |value: &dyn Fn(&Measured) -> f64| -> Vec<(f64, f64)> {
            those().map(|it| (it.nodes as f64, value(it))).collect()
        };
        let measured: Vec<_> = (0..3).map(|at| points(&|it| of(it).0[at])).collect();
        let is_one = measured[0] == measured[2];
        for at in if is_one { 0..1 } else { 0..3 } {
            let name = if is_one {
                name.to_owned()
            } else {
                format!("{name}, {}", Spread::NAMES[at])
            };
            let expected = points(&|it| textbook::messages(method, start, it.nodes).0[at]);
            let differs = expected.last().zip(measured[at].last());
            // The mean is over only a few random orders, so smaller differences are chance.
            let differs = differs.is_some_and(|(one, other)| (one.1 / other.1 - 1.0).abs() > 0.1);
            let mut curve = Curve::new(&name, color, measured[at].clone());
            if with_textbook {
                curve.marks = Marks::Points;
                let name = if differs {
                    name + ", textbook"
                } else {
                    String::new()
                };
                curves.push(Curve {
                    marks: Marks::Line,
                    ..Curve::new(&name, color, expected)
                });
            }
            curves.push(curve);
        }
    }
    curves
}
