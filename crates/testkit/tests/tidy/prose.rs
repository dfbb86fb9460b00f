//! Plain English, counted: words that the project does not use, and the length of
//! sentences on documentation pages.

use crate::{fail_on, files, read, relative, workspace};
use std::collections::BTreeMap;
use txgraph_testkit::pages::{Page, pages};

/// Phrases that plain technical English does not need. Counted in prose and in
/// identifiers, in any case, across line ends.
const AVOIDED: &str = "told, tell, tells, telling, held against, holds against, hold against, \
                       hears, programme, programmes, anew, whoever, somebody, nobody, dearer, \
                       dearest, for ever, in the midst, to be had, at home, so many";

/// How many of them a crate, or one of the other folders, may contain.
const AVOIDED_MAX: usize = 3;

/// Words of a sentence on a documentation page, on average.
const SENTENCE_WORDS_MAX: usize = 20;

/// How often a text has one of the phrases.
fn avoided(text: &str) -> usize {
    let text = text.to_lowercase();
    let words = text.split(|c: char| !c.is_alphabetic());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    let text = format!(" {} ", words.join("  "));
    let count = |phrase: &str| {
        text.matches(&format!(" {} ", phrase.replace(' ', "  ")))
            .count()
    };
    AVOIDED.split(", ").map(count).sum()
}

#[test]
fn avoided_words_are_rare() {
    assert_eq!(
        avoided("/// Held\n/// against what Told.told_twice TELLS, untold."),
        4
    );
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    for path in files(&workspace()) {
        let name = relative(&path);
        let is_prose = [".rs", ".md", ".sh", ".toml"]
            .iter()
            .any(|end| name.ends_with(end));
        // Dated results are not rewritten. This file has to name the words.
        if !is_prose || name.starts_with("benchmarks/runs/") || name.ends_with("tidy/prose.rs") {
            continue;
        }
        let parts: Vec<&str> = name.split('/').collect();
        let place = match parts[..] {
            ["crates", name, ..] => name,
            [folder, _, ..] => folder,
            _ => "the root",
        };
        *places.entry(place.to_owned()).or_default() += avoided(&read(&path));
    }
    places.retain(|_, count| *count > AVOIDED_MAX);
    let faults: Vec<String> = places
        .iter()
        .map(|(place, count)| format!("{place}: {count}"))
        .collect();
    fail_on("words to avoid (see the list in this file)", &faults);
}

/// The sentences of a page, each with its number of words. Code, tables and headings are left
/// out; a list item is a paragraph of its own.
fn sentences(page: &Page) -> Vec<usize> {
    let mut sentences = vec![0];
    for line in page.prose().lines().map(str::trim) {
        let (first, rest) = line.split_once(' ').unwrap_or((line, ""));
        let number = first
            .strip_suffix('.')
            .and_then(|number| number.parse::<u32>().ok());
        let is_item = ["-", "*"].contains(&first) || number.is_some();
        let is_left_out = line.starts_with(['#', '|', '<']);
        if is_item || is_left_out || line.is_empty() {
            sentences.push(0);
        }
        let text = if is_item { rest } else { line };
        for word in text.split_whitespace().filter(|_| !is_left_out) {
            let last = sentences.last_mut().expect("it begins with one");
            *last += usize::from(word.chars().any(char::is_alphanumeric));
            let bare = word.trim_matches(['*', '(', ')', '`', '"']);
            let is_short = ["e.g.", "i.e.", "etc.", "vs."].contains(&bare);
            if bare.ends_with(['.', '!', '?']) && !is_short {
                sentences.push(0);
            }
        }
    }
    sentences.retain(|words| *words > 0);
    sentences
}

#[test]
fn sentences_of_documentation_are_short() {
    let text = "# A heading. Of two\n\nOne two three. Four (e.g. five) six\nseven!\n\n\
                | a table. |\n\n- an item\n- another item.\n\n```sh\ncode. code.\n```\n1. last one";
    let name = String::new();
    let text = text.to_owned();
    assert_eq!(sentences(&Page { name, text }), [3, 5, 2, 2, 2]);
    let mut faults = Vec::new();
    for page in pages() {
        let sentences = sentences(&page);
        let words: usize = sentences.iter().sum();
        if words > SENTENCE_WORDS_MAX * sentences.len() {
            faults.push(format!(
                "{}: {words} words, {} sentences",
                page.name,
                sentences.len()
            ));
        }
    }
    fail_on("average length of sentences", &faults);
}
