//! A report as HTML: one page without scripts, which loads nothing.

use super::{Grid, Part, Picture, Report};
use base64::{Engine, engine::general_purpose::STANDARD};
use txgraph::printable;

/// Nothing is loaded and nothing runs, whatever the texts contain.
const POLICY: &str = "default-src 'none'; img-src data:; style-src 'unsafe-inline'";

const STYLE: &str = "\
:root{color-scheme:light dark;--ink:#1b1f24;--dim:#57606a;--page:#fff;--box:#f6f8fa;--line:#d0d7de}
@media(prefers-color-scheme:dark){:root{--ink:#e6edf3;--dim:#9198a1;--page:#0d1117;--box:#161b22;--line:#3d444d}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:70rem;padding:2rem 1.25rem;background:var(--page);color:var(--ink);
font:16px/1.5 system-ui,sans-serif}
h1{font-size:1.9rem;line-height:1.2;margin:0 0 .5rem}
h2{font-size:1.35rem;margin:2.5rem 0 .75rem;border-bottom:1px solid var(--line);padding-bottom:.25rem}
h3{font-size:1.1rem;margin:2rem 0 .5rem}
p{margin:.5rem 0;overflow-wrap:anywhere}
header p,time,figcaption,caption{color:var(--dim);font-size:.875rem}
.note{border-left:3px solid var(--line);padding-left:.75rem;white-space:pre-wrap}
.note time{display:block}
figure{margin:1rem 0}
figcaption,caption{text-align:left;padding:.25rem 0;overflow-wrap:anywhere}
.wide{overflow-x:auto}
pre,.wide:focus-visible{outline-offset:2px}
pre{margin:0;padding:.75rem;background:var(--box);border:1px solid var(--line);overflow-x:auto;
font:.8rem/1.35 ui-monospace,monospace}
pre.command{white-space:pre-wrap;overflow-wrap:anywhere}
table{border-collapse:collapse;font-size:.8125rem;margin:1rem 0}
th,td{border:1px solid var(--line);padding:.25rem .5rem;text-align:left;vertical-align:top;
font-variant-numeric:tabular-nums}
td.long{overflow-wrap:anywhere;min-width:11rem}
th{background:var(--box)}
img{max-width:100%;height:auto;background:#fff;border:1px solid var(--line)}
@media print{:root{--ink:#000;--dim:#444;--page:#fff;--box:#fff;--line:#999}
body{max-width:none;padding:0;font-size:10pt}table{font-size:6.5pt}th,td,td.long{min-width:0;padding:1pt 3pt;overflow-wrap:anywhere}
pre{white-space:pre-wrap;overflow-wrap:anywhere;font-size:6.5pt}.wide{overflow:visible}
h2,h3,figcaption,caption{break-after:avoid}img,tr{break-inside:avoid}}";

/// Bytes of a word in a table that is not broken into lines.
const WORD_MAX: usize = 24;

/// The report as a page.
pub(crate) fn text(report: &Report) -> String {
    let title = escaped(&report.title);
    let about = report.about.iter();
    let about: String = about
        .map(|line| format!("<p>{}</p>\n", escaped(line)))
        .collect();
    let parts: String = report.parts.iter().map(part).collect();
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{title}</title>\n<style>\n{STYLE}\n</style>\n</head>\n<body>\n\
         <header>\n<h1>{title}</h1>\n{about}</header>\n<main>\n{parts}</main>\n</body>\n</html>\n"
    )
}

fn part(part: &Part) -> String {
    match part {
        Part::Heading(level, text) => format!("<h{level}>{}</h{level}>\n", escaped(text)),
        Part::Text(text) => format!("<p>{}</p>\n", escaped(text)),
        Part::Note(time, text) => format!(
            "<p class=\"note\"><time>{}</time>{}</p>\n",
            escaped(time),
            escaped_lines(text)
        ),
        Part::Lines(title, text) => {
            let class = match text.contains('\n') {
                true => "",
                false => " class=\"command\"",
            };
            let (title, text) = (escaped(title), escaped_lines(text));
            format!(
                "<figure>\n<figcaption>{title}</figcaption>\n<pre{class} tabindex=\"0\">{text}</pre>\n\
                 </figure>\n"
            )
        }
        Part::Table(grid) => table(grid),
        Part::Picture(picture) => figure(picture),
    }
}

fn table(grid: &Grid) -> String {
    let header = grid.header.iter();
    let header = header.map(|name| format!("<th scope=\"col\">{}</th>", escaped(name)));
    let row = |row: &Vec<String>| {
        let cells = row.iter().map(|cell| {
            let has_long_word = cell.split(' ').any(|word| word.len() > WORD_MAX);
            let class = if has_long_word { " class=\"long\"" } else { "" };
            format!("<td{class}>{}</td>", escaped(cell))
        });
        format!("<tr>{}</tr>\n", cells.collect::<String>())
    };
    format!(
        "<div class=\"wide\" tabindex=\"0\">\n<table>\n<caption>{}</caption>\n<thead><tr>{}</tr></thead>\n\
         <tbody>\n{}</tbody>\n</table>\n</div>\n",
        escaped(&grid.title),
        header.collect::<String>(),
        grid.rows.iter().map(row).collect::<String>()
    )
}

/// A picture as an image, in which no script runs and nothing is loaded.
fn figure(picture: &Picture) -> String {
    let title = escaped(&picture.title);
    let data = STANDARD.encode(&picture.data);
    format!(
        "<figure>\n<img alt=\"{title}\" src=\"data:{};base64,{data}\">\n\
         <figcaption>{title}</figcaption>\n</figure>\n",
        picture.media_type
    )
}

/// A text as content of an element or value of an attribute. Line ends become spaces.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in printable(text).chars() {
        match c {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            '\'' => out += "&#39;",
            c => out.push(c),
        }
    }
    out
}

/// The same with line ends.
fn escaped_lines(text: &str) -> String {
    text.lines().map(escaped).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_becomes_markup() {
        let hostile = "<script>alert(1)</script>\"' onload='x&\u{202e}\u{1b}[0m";
        let report = Report {
            title: hostile.into(),
            about: vec![hostile.into()],
            parts: vec![
                Part::Heading(2, hostile.into()),
                Part::Text(hostile.into()),
                Part::Note(hostile.into(), format!("{hostile}\n{hostile}")),
                Part::Lines(hostile.into(), format!("{hostile}\n{hostile}")),
                Part::Table(Grid::new(hostile, &[hostile], vec![vec![hostile.into()]])),
                Part::Picture(Picture {
                    title: hostile.into(),
                    path: hostile.into(),
                    media_type: "image/svg+xml",
                    data: hostile.into(),
                }),
            ],
        };
        let page = text(&report);
        for absent in ["<script", "\"'", "onload='", "\u{202e}", "\u{1b}"] {
            assert!(!page.contains(absent), "{absent}: {page}");
        }
        assert_eq!(page.matches("&lt;script&gt;").count(), 16);
        assert!(page.contains("alert(1)&lt;/script&gt;&quot;&#39; onload=&#39;x&amp;"));
    }
}
