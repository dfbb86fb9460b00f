//! Line plots as SVG, for time by chunk size and speed-up by threads.

use std::{collections::BTreeSet, fmt::Write as _};

/// A named line of (x, y) points in ascending x.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    /// Name in the legend.
    pub(crate) name: String,
    /// The points: a setting and its figure.
    pub(crate) points: Vec<(u64, f64)>,
}

/// A plot. The positions on the x axis are settings and not a scale, so they have equal
/// distances. The y axis starts at 0.
#[derive(Clone, Debug)]
pub(crate) struct Plot {
    /// Title.
    pub(crate) title: String,
    /// Label of the x axis.
    pub(crate) x_label: String,
    /// Label of the y axis.
    pub(crate) y_label: String,
    /// The label of setting 0.
    pub(crate) zero: &'static str,
    /// The lines.
    pub(crate) lines: Vec<Line>,
}

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 420.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 200.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 60.0;
/// Colours that colour-blind readers can distinguish (Okabe and Ito).
const COLOURS: [&str; 8] = [
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#8a8a00",
];

/// Draws a plot as SVG.
pub(crate) fn svg(plot: &Plot) -> String {
    let highest = plot
        .lines
        .iter()
        .flat_map(|line| &line.points)
        .fold(0.0, |top: f64, p| top.max(p.1));
    let (top, step) = axis(highest);
    let settings: BTreeSet<u64> = (plot.lines.iter())
        .flat_map(|line| line.points.iter().map(|point| point.0))
        .collect();
    let x_of = |x: u64| {
        let place = settings.range(..x).count();
        #[expect(clippy::cast_precision_loss, reason = "a handful of settings")]
        let part = (place as f64 + 0.5) / settings.len() as f64;
        LEFT + part * (WIDTH - LEFT - RIGHT)
    };
    let y_of = |y: f64| HEIGHT - BOTTOM - y / top * (HEIGHT - TOP - BOTTOM);

    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
         <text x=\"{LEFT}\" y=\"22\" font-size=\"15\">{}</text>\n",
        escape(&plot.title)
    );
    let mut y = 0.0;
    while y <= top + step / 2.0 {
        let _ = writeln!(
            out,
            "<line x1=\"{LEFT}\" x2=\"{:.1}\" y1=\"{1:.1}\" y2=\"{1:.1}\" stroke=\"#ddd\"/>\
             <text x=\"{2:.1}\" y=\"{3:.1}\" text-anchor=\"end\">{4}</text>",
            WIDTH - RIGHT,
            y_of(y),
            LEFT - 6.0,
            y_of(y) + 4.0,
            trim(y)
        );
        y += step;
    }
    for x in &settings {
        let text = match x {
            0 => plot.zero.to_owned(),
            x => x.to_string(),
        };
        let _ = writeln!(
            out,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{text}</text>",
            x_of(*x),
            HEIGHT - BOTTOM + 18.0,
        );
    }
    let _ = writeln!(
        out,
        "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>\n\
         <text transform=\"translate(18 {:.1}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
        f64::midpoint(LEFT, WIDTH - RIGHT),
        HEIGHT - 16.0,
        escape(&plot.x_label),
        HEIGHT / 2.0,
        escape(&plot.y_label)
    );
    for (place, line) in plot.lines.iter().enumerate() {
        let colour = COLOURS[place % COLOURS.len()];
        let points: Vec<_> = line
            .points
            .iter()
            .map(|(x, y)| format!("{:.1},{:.1}", x_of(*x), y_of(*y)))
            .collect();
        let _ = writeln!(
            out,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>",
            points.join(" ")
        );
        for (x, y) in &line.points {
            let _ = writeln!(
                out,
                "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"3\" fill=\"{colour}\"/>",
                x_of(*x),
                y_of(*y)
            );
        }
        #[expect(clippy::cast_precision_loss, reason = "a handful of lines")]
        let row = TOP + 16.0 * place as f64;
        let _ = writeln!(
            out,
            "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"12\" height=\"4\" fill=\"{colour}\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            WIDTH - RIGHT + 14.0,
            row - 4.0,
            WIDTH - RIGHT + 32.0,
            row + 2.0,
            escape(&line.name)
        );
    }
    out.push_str("</svg>\n");
    out
}

/// Returns a round upper end of the y axis above `highest`, and the distance of grid lines.
fn axis(highest: f64) -> (f64, f64) {
    if highest <= 0.0 {
        return (1.0, 0.2);
    }
    let power = 10f64.powf((highest / 5.0).log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|factor| factor * power)
        .find(|step| step * 5.0 >= highest)
        .unwrap_or(10.0 * power);
    ((highest / step).ceil() * step, step)
}

fn trim(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_axis_ends_on_a_round_number_above_the_data() {
        assert_eq!(axis(0.0), (1.0, 0.2));
        for highest in [0.013, 0.9, 1.0, 3.7, 42.0, 1234.5] {
            let (top, step) = axis(highest);
            assert!(
                top >= highest && top - step < highest,
                "{highest}: {top} {step}"
            );
        }
    }

    #[test]
    fn names_are_escaped_and_lines_drawn() {
        let plot = Plot {
            title: "a < b".into(),
            x_label: String::new(),
            y_label: String::new(),
            zero: "auto",
            lines: vec![Line {
                name: "w&w".into(),
                points: vec![(1, 1.0), (2, 0.5)],
            }],
        };
        let drawn = svg(&plot);
        assert!(drawn.contains("a &lt; b") && drawn.contains("w&amp;w"));
        assert_eq!(drawn.matches("<circle").count(), 2);
    }
}
