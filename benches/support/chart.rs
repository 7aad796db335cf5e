//! Draws curves on logarithmic axes.

use std::path::Path;

use plotters::prelude::*;

/// Colors of the curves. Color-blind people can distinguish these colors (palette of Okabe and Ito).
const COLORS: [RGBColor; 5] = [
    RGBColor(0, 114, 178),
    RGBColor(230, 159, 0),
    RGBColor(0, 158, 115),
    RGBColor(213, 94, 0),
    RGBColor(86, 86, 86),
];
const SIZE: (u32, u32) = (760, 480);
/// Distance between two names, in pixels.
const LINE_HEIGHT: i32 = 16;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(dead_code, reason = "not every benchmark draws all kinds")]
pub(crate) enum Marks {
    Both,
    Line,
    Points,
}

/// A curve: the name at its end, the index of its color, and the points.
#[derive(Debug)]
pub(crate) struct Curve {
    pub name: String,
    pub color: usize,
    pub points: Vec<(f64, f64)>,
    pub marks: Marks,
}

impl Curve {
    /// Makes a curve that is drawn as a line with points.
    pub(crate) fn new(name: &str, color: usize, points: Vec<(f64, f64)>) -> Self {
        Self {
            name: name.to_owned(),
            color,
            points,
            marks: Marks::Both,
        }
    }
}

pub(crate) fn draw(file: &Path, axes: [&str; 2], curves: &[Curve]) -> anyhow::Result<()> {
    draw_into(file, axes, curves)
        .map_err(|error| anyhow::anyhow!("cannot draw {}: {error}", file.display()))
}

fn draw_into(
    file: &Path,
    axes: [&str; 2],
    curves: &[Curve],
) -> Result<(), Box<dyn std::error::Error>> {
    let all = || curves.iter().flat_map(|curve| &curve.points);
    let least = all().map(|point| point.1).fold(f64::MAX, f64::min);
    let most = all().map(|point| point.1).fold(f64::MIN, f64::max);
    let largest = all().map(|point| point.0).fold(10.0, f64::max);
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
        .x_desc(axes[0])
        .y_desc(axes[1])
        .x_label_formatter(&|x| number(*x))
        .y_label_formatter(&|y| number(*y))
        .label_style(("sans-serif", 14))
        .light_line_style(RGBColor(240, 240, 240))
        .draw()?;
    let mut names = Vec::new();
    for curve in curves {
        let color = COLORS[curve.color];
        let points = &curve.points;
        if curve.marks != Marks::Points {
            chart.draw_series(LineSeries::new(points.clone(), color.stroke_width(2)))?;
        }
        if curve.marks != Marks::Line {
            chart.draw_series(points.iter().map(|&at| Circle::new(at, 3, color.filled())))?;
        }
        if let Some(last) = points.last() {
            names.push((chart.backend_coord(last), color, &curve.name));
        }
    }
    names.retain(|(_, _, name)| !name.is_empty());
    // The names are placed from top to bottom, so that no name overlaps the name above it.
    names.sort_by_key(|((_, y), _, _)| *y);
    let mut free = 0;
    for ((x, y), color, name) in names {
        let y = (y - 6).max(free);
        free = y + LINE_HEIGHT;
        let style = ("sans-serif", 14).into_font().color(&color);
        area.draw(&Text::new(name.clone(), (x + 10, y), style))?;
    }
    // This line has slope 1. The curve of a value that grows like the number of members is parallel to it.
    let n = [(3.0, 3.0), (largest, largest)];
    if n.iter().all(|&(_, y)| (down..=up).contains(&y)) {
        chart.draw_series(DashedLineSeries::new(n, 4, 4, BLACK.stroke_width(1)))?;
        let style = ("sans-serif", 14).into_font().color(&BLACK);
        // The label is not at the right end, because the names of the curves are there.
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
