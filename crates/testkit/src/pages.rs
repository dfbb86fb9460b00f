//! The names on documentation pages: code spans, links, headings, commands of the shell.
//! Tests compare it with the files, the sources and the command line.

use crate::fixtures::workspace;
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

/// A page in Markdown.
#[derive(Clone, Debug)]
pub struct Page {
    /// Its path in the workspace.
    pub name: String,
    /// Its text.
    pub text: String,
}

/// Something that a page names, with the number of its line.
pub type Named<T = String> = (usize, T);

/// Every page of the documentation: the pages of the root, except the changelog, which names things
/// of the past, and the pages in `docs/`.
///
/// # Panics
///
/// If a page cannot be read.
#[must_use]
pub fn pages() -> Vec<Page> {
    let mut paths = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"]
        .map(PathBuf::from)
        .to_vec();
    let mut folders = vec![PathBuf::from("docs")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(workspace().join(&folder)).expect("a folder of pages") {
            let path = folder.join(entry.expect("a page").file_name());
            if workspace().join(&path).is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                paths.push(path);
            }
        }
    }
    paths.sort();
    let read = |path: &Path| fs::read_to_string(workspace().join(path)).expect("a page");
    let page = |path: PathBuf| Page {
        name: path.to_string_lossy().into_owned(),
        text: read(&path),
    };
    paths.into_iter().map(page).collect()
}

impl Page {
    /// The lines of the page with their numbers; lines of code blocks with the language.
    fn lines(&self) -> impl Iterator<Item = (usize, Option<&str>, &str)> {
        let mut block = None;
        (1..).zip(self.text.lines()).filter_map(move |(at, line)| {
            let fence = line.trim().strip_prefix("```");
            if let Some(language) = fence {
                block = block.is_none().then_some(language.trim());
            }
            fence.is_none().then_some((at, block, line))
        })
    }

    /// The page without code blocks. The numbers of lines stay.
    #[must_use]
    pub fn prose(&self) -> String {
        let mut lines = vec![""; self.text.lines().count()];
        for (at, _, line) in self.lines().filter(|(_, block, _)| block.is_none()) {
            lines[at - 1] = line;
        }
        lines.join("\n")
    }

    /// The texts in backquotes, outside of code blocks, each on one line.
    #[must_use]
    pub fn spans(&self) -> Vec<Named> {
        let mut spans = Vec::new();
        let mut first = 1;
        // A span may continue on the next line, not in the next paragraph.
        for paragraph in self.prose().split("\n\n") {
            let mut rest = paragraph;
            while let Some(start) = rest.find('`') {
                let text = &rest[start..];
                let mark = &text[..text.len() - text.trim_start_matches('`').len()];
                let Some(length) = text[mark.len()..].find(mark) else {
                    break;
                };
                let before = paragraph.len() - rest.len() + start;
                let line = first + paragraph[..before].matches('\n').count();
                let words = text[mark.len()..mark.len() + length].split_whitespace();
                let span = words.collect::<Vec<_>>().join(" ").replace("\\|", "|");
                spans.push((line, span));
                rest = &text[mark.len() * 2 + length..];
            }
            first += paragraph.matches('\n').count() + 2;
        }
        spans
    }

    /// The targets of links.
    #[must_use]
    pub fn links(&self) -> Vec<Named> {
        let mut links = Vec::new();
        for (at, line) in (1..).zip(self.prose().lines()) {
            let ends = line.match_indices("](").map(|(at, _)| &line[at + 2..]);
            for target in ends.filter_map(|text| text.split([')', ' ']).next()) {
                links.push((at, target.to_owned()));
            }
        }
        links
    }

    /// The anchors of the headings, as GitHub makes them.
    #[must_use]
    pub fn anchors(&self) -> BTreeSet<String> {
        let mut anchors = BTreeSet::new();
        for line in self.prose().lines().filter(|line| line.starts_with('#')) {
            let heading = line.trim_start_matches('#').trim().to_lowercase();
            let kept = |c: &char| c.is_alphanumeric() || " -_".contains(*c);
            let anchor: String = heading.chars().filter(kept).collect();
            let anchor = anchor.replace(' ', "-");
            let again = (1..).map(|number| format!("{anchor}-{number}"));
            let mut names = std::iter::once(anchor.clone()).chain(again);
            anchors.extend(names.find(|name| !anchors.contains(name)));
        }
        anchors
    }

    /// The sections, each from a heading of the first or second level to the next one.
    #[must_use]
    pub fn sections(&self) -> Vec<Named> {
        let mut sections = vec![(1, String::new())];
        for (at, line) in (1..).zip(self.prose().lines()) {
            if line.starts_with("# ") || line.starts_with("## ") {
                sections.push((at, String::new()));
            }
            let (_, section) = sections.last_mut().expect("it begins with one");
            section.push_str(line);
            section.push('\n');
        }
        sections
    }

    /// The words of each command in the code blocks of a shell. In a block of a console, a
    /// command begins with `$`. The parts of a pipe are commands of their own.
    #[must_use]
    pub fn commands(&self) -> Vec<Named<Vec<String>>> {
        let mut commands = Vec::new();
        let mut open = None;
        for (at, block, line) in self.lines() {
            let Some(language @ ("" | "sh" | "bash" | "console")) = block else {
                open = None;
                continue;
            };
            let line = line.trim();
            let prompted = line.strip_prefix("$ ");
            let (at, text) = match (open.take(), prompted) {
                (Some((at, text)), _) => (at, format!("{text} {line}")),
                (None, Some(line)) => (at, line.to_owned()),
                (None, None) if language == "console" => continue,
                (None, None) => (at, line.to_owned()),
            };
            match text.strip_suffix('\\') {
                Some(text) => open = Some((at, text.to_owned())),
                None => commands.extend(split(&text).into_iter().map(|words| (at, words))),
            }
        }
        commands
    }
}

/// The words of each command of a line of the shell. A comment ends it.
#[must_use]
pub fn split(line: &str) -> Vec<Vec<String>> {
    let mut commands = vec![Vec::new()];
    let mut word: Option<String> = None;
    let mut quote = None;
    for c in line.chars().chain([' ']) {
        match (quote, c) {
            (Some(open), _) if c == open => quote = None,
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, '#') if word.is_none() => break,
            (None, '|' | ';' | '&' | '(' | ')' | ' ') => {
                let command = commands.last_mut().expect("it begins with one");
                command.extend(word.take());
                if c != ' ' && !command.is_empty() {
                    commands.push(Vec::new());
                }
            }
            _ => word.get_or_insert_default().push(c),
        }
    }
    commands.retain(|command| !command.is_empty());
    commands
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_taken_apart() {
        let page = Page {
            name: "page.md".to_owned(),
            text: "# A page\n\n## Up: `--head URL`\n\nSee [`a`](b.md#c), ``x `y` `` and `two\n\
                   lines`. A lone ` here.\n\n```console\n$ a 'b c' \\\n  --d | e # f\ng\n```\n\n\
                   ## A page\n\n```sh\nA=1 h; i\n```\n```sql\n--comment\n```\n`a\\|b`\n"
                .to_owned(),
        };
        let spans = page.spans();
        let spans: Vec<(usize, &str)> = spans.iter().map(|(at, text)| (*at, &**text)).collect();
        assert_eq!(
            spans,
            [
                (3, "--head URL"),
                (5, "a"),
                (5, "x `y`"),
                (5, "two lines"),
                (22, "a|b")
            ]
        );
        assert_eq!(page.links(), [(5, "b.md#c".to_owned())]);
        let anchors: Vec<_> = page.anchors().into_iter().collect();
        assert_eq!(anchors, ["a-page", "a-page-1", "up---head-url"]);
        let commands = page.commands();
        let commands: Vec<(usize, Vec<&str>)> = (commands.iter())
            .map(|(at, words)| (*at, words.iter().map(|word| &**word).collect()))
            .collect();
        assert_eq!(
            commands,
            [
                (9, vec!["a", "b c", "--d"]),
                (9, vec!["e"]),
                (17, vec!["A=1", "h"]),
                (17, vec!["i"]),
            ]
        );
        let sections: Vec<usize> = page.sections().iter().map(|(at, _)| *at).collect();
        assert_eq!(sections, [1, 1, 3, 14]);
    }
}
