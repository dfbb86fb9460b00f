//! A report as Markdown, in the dialect of GitHub. Pictures are relative links.

use crate::document::{Grid, Part, Report};
use txgraph::printable;

pub(super) fn text(report: &Report) -> String {
    let mut text = format!("# {}\n\n", escaped(&report.title));
    for line in &report.about {
        text += &format!("{}  \n", escaped(line));
    }
    text.push('\n');
    let parts = report.parts.iter().map(part);
    text + parts.collect::<Vec<_>>().join("\n").as_str()
}

fn part(part: &Part) -> String {
    match part {
        Part::Heading(level, text) => {
            format!("{} {}\n", "#".repeat(usize::from(*level)), escaped(text))
        }
        Part::Text(text) => format!("{}\n", escaped(text)),
        Part::Note(time, text) => {
            let lines = text.lines().map(|line| format!("> {}  \n", escaped(line)));
            format!("> *{}*  \n{}", escaped(time), lines.collect::<String>())
        }
        Part::Lines(title, text) => {
            let text = text.lines().map(printable).collect::<Vec<_>>().join("\n");
            let fence = fence(&text);
            format!("{}:\n\n{fence}text\n{text}\n{fence}\n", escaped(title))
        }
        Part::Table(grid) => table(grid),
        Part::Picture(picture) => {
            format!(
                "![{}](<{}>)\n",
                escaped(&picture.title),
                target(&picture.path)
            )
        }
    }
}

fn table(grid: &Grid) -> String {
    let row = |cells: &Vec<String>| {
        let cells = cells.iter().map(|cell| format!(" {} |", escaped(cell)));
        format!("|{}\n", cells.collect::<String>())
    };
    format!(
        "{}:\n\n{}|{}\n{}",
        escaped(&grid.title),
        row(&grid.header),
        " --- |".repeat(grid.header.len()),
        grid.rows.iter().map(row).collect::<String>()
    )
}

/// A fence that no line of the text ends.
fn fence(text: &str) -> String {
    let runs = text.split(|c| c != '`').map(str::len);
    "`".repeat(runs.max().unwrap_or(0).max(2) + 1)
}

/// The target of a link in angle brackets.
fn target(path: &str) -> String {
    let text = printable(path);
    text.replace('\\', "%5C")
        .replace('<', "%3C")
        .replace('>', "%3E")
}

/// A text on one line in which nothing is markup.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let text = printable(text);
    let digits = text.chars().take_while(char::is_ascii_digit).count();
    for (place, c) in text.chars().enumerate() {
        match c {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            // Also the beginning of lists, and the end of the number of one.
            '-' | '+' if place == 0 => out.extend(['\\', c]),
            '.' | ')' if place == digits && digits > 0 => out.extend(['\\', c]),
            '\\' | '`' | '*' | '_' | '{' | '}' | '[' | ']' | '#' | '|' | '~' | '!' | '$' | '=' => {
                out.extend(['\\', c]);
            }
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Picture;

    #[test]
    fn no_text_becomes_markup() {
        for (text, expected) in [
            ("<script>&", "&lt;script&gt;&amp;"),
            ("a|b\nc", "a\\|b c"),
            ("[x](http://y)", "\\[x\\](http://y)"),
            ("- a", "\\- a"),
            ("12. a", "12\\. a"),
            ("1.5", "1\\.5"),
            ("# *a* `b` ![c]", "\\# \\*a\\* \\`b\\` \\!\\[c\\]"),
        ] {
            assert_eq!(escaped(text), expected);
        }
        let lines = part(&Part::Lines("t".into(), "a\n```\n<b>".into()));
        assert_eq!(lines, "t:\n\n````text\na\n```\n<b>\n````\n");
        let picture = part(&Part::Picture(Picture {
            title: "a]b".into(),
            path: "answers/x/a b>.svg".into(),
            media_type: "image/svg+xml",
            data: Vec::new(),
        }));
        assert_eq!(picture, "![a\\]b](<answers/x/a b%3E.svg>)\n");
    }
}
