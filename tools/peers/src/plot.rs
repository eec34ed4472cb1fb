//! Plot of the measurements.

use std::fmt::Write;

use crate::report::Report;

const LABELS: f64 = 150.0;
const BARS: f64 = 420.0;
const BAR: f64 = 24.0;
const ROW: f64 = 40.0;
const TOP: f64 = 56.0;

/// An SVG: a bar for each program, as long as its median speed, with a line from the slowest to the
/// fastest timed run.
pub fn svg(report: &Report) -> String {
    let fastest = report
        .rows
        .iter()
        .map(|row| row.speed.max)
        .fold(f64::MIN_POSITIVE, f64::max);
    let x = |speed: f64| LABELS + BARS * speed / fastest;
    let (width, height) = (
        LABELS + BARS + 190.0,
        TOP + ROW * report.rows.len() as f64 + 16.0,
    );
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" font-size=\"13\" \
         fill=\"#222\">\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n\
         <text x=\"16\" y=\"28\" font-size=\"15\">{}, {} spheres: million {}/s, median, \
         slowest and fastest run</text>\n",
        escaped(&report.scene),
        report.spheres,
        report.unit()
    );
    for (index, row) in report.rows.iter().enumerate() {
        let middle = TOP + ROW * (index as f64 + 0.5);
        let speed = row.speed;
        let (low, high) = (x(speed.min), x(speed.max));
        let colour = if index == 0 { "#c8553d" } else { "#8ea4b8" };
        let note = match index {
            0 => format!("{:.2}", speed.median),
            _ => format!("{:.2}; Rockfall {:.2} x", speed.median, row.ratio.median),
        };
        let line = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>\
             <rect x=\"{LABELS}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{BAR}\" fill=\"{colour}\"/>\
             <path d=\"M{low:.1} {middle:.1}H{high:.1}M{low:.1} {:.1}v10M{high:.1} {:.1}v10\" \
             stroke=\"#222\" stroke-width=\"1.5\" fill=\"none\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\">{note}</text>",
            LABELS - 10.0,
            middle + 4.5,
            escaped(&row.name),
            middle - 0.5 * BAR,
            x(speed.median) - LABELS,
            middle - 5.0,
            middle - 5.0,
            high + 10.0,
            middle + 4.5
        );
        line.expect("a string grows");
    }
    svg.push_str("</svg>\n");
    svg
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}
