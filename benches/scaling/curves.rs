//! The curves.

use std::path::Path;

use anyhow::{Result, anyhow};
use plotters::prelude::*;

use super::cost::{Cost, Costs, Feat, frames, seconds};

/// One for each feat, all told apart by the colour-blind (Okabe and Ito's palette).
const COLOURS: [RGBColor; 5] = [
    RGBColor(0, 114, 178),
    RGBColor(230, 159, 0),
    RGBColor(0, 158, 115),
    RGBColor(213, 94, 0),
    RGBColor(86, 86, 86),
];
const SIZE: (u32, u32) = (760, 480);

/// A file, what its ordinate shows, of which feats, and how that is read.
type Chart<'a> = (&'a str, &'a str, &'a [Feat], fn(&Cost) -> f64);

/// Draws all curves into a folder.
pub fn draw(costs: &Costs, folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder)?;
    let feats = [Feat::Form, Feat::Join, Feat::FailOver, Feat::Merge];
    let charts: [Chart<'_>; 3] = [
        ("scaling-frames.svg", "frames", &feats, frames),
        ("scaling-time.svg", "seconds", &feats, seconds),
        (
            "scaling-idle.svg",
            "frames a second, idle",
            &[Feat::Idle],
            Cost::rate,
        ),
    ];
    for (file, what, feats, value) in charts {
        chart(costs, &folder.join(file), what, feats, value)
            .map_err(|error| anyhow!("cannot draw {file}: {error}"))?;
    }
    Ok(())
}

#[allow(clippy::cast_precision_loss, reason = "rings of far fewer than 2^52")]
fn chart(
    costs: &Costs,
    file: &Path,
    what: &str,
    feats: &[Feat],
    value: fn(&Cost) -> f64,
) -> Result<(), Box<dyn std::error::Error>> {
    let all = || feats.iter().flat_map(|&feat| costs.of(feat));
    let (mut least, mut most) = (f64::MAX, f64::MIN);
    for cost in all() {
        least = least.min(value(cost));
        most = most.max(value(cost));
    }
    let largest = all().map(|cost| cost.nodes).max().unwrap_or(10) as f64;
    let down = 10_f64.powf(least.log10().floor());
    let up = 10_f64.powf(most.log10().ceil()).max(down * 10.0);

    let area = SVGBackend::new(file, SIZE).into_drawing_area();
    area.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&area)
        .margin(16)
        .margin_right(110)
        .x_label_area_size(44)
        .y_label_area_size(72)
        .build_cartesian_2d((2.0..largest * 1.5).log_scale(), (down..up).log_scale())?;
    chart
        .configure_mesh()
        .x_desc("members")
        .y_desc(what)
        .x_label_formatter(&|x| number(*x))
        .y_label_formatter(&|y| number(*y))
        .label_style(("sans-serif", 14))
        .light_line_style(RGBColor(240, 240, 240))
        .draw()?;
    for &feat in feats {
        let colour = COLOURS[feat as usize];
        let points: Vec<_> = costs
            .of(feat)
            .map(|cost| (cost.nodes as f64, value(cost)))
            .collect();
        chart.draw_series(LineSeries::new(points.clone(), colour.stroke_width(2)))?;
        chart.draw_series(points.iter().map(|&at| Circle::new(at, 3, colour.filled())))?;
        if let Some(&last) = points.last() {
            let style = ("sans-serif", 14).into_font().color(&colour);
            let label = EmptyElement::at(last) + Text::new(feat.name(), (10, -6), style);
            chart.draw_series(std::iter::once(label))?;
        }
    }
    // What grows with the members is as steep as this.
    let n = [(3.0, 3.0), (largest, largest)];
    if n.iter().all(|&(_, y)| (down..=up).contains(&y)) {
        chart.draw_series(DashedLineSeries::new(n, 4, 4, BLACK.stroke_width(1)))?;
        let style = ("sans-serif", 14).into_font().color(&BLACK);
        // Not at the right, where the curves end.
        let at = 3.0 * (largest / 3.0).powf(0.6);
        let label = EmptyElement::at((at, at)) + Text::new("n", (-4, -20), style);
        chart.draw_series(std::iter::once(label))?;
    }
    area.present()?;
    Ok(())
}

fn number(value: f64) -> String {
    if value >= 1.0 {
        format!("{value:.0}")
    } else {
        format!("{value}")
    }
}
