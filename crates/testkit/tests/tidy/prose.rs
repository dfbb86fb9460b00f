//! Plain English, counted: words that the project does not use, and the length of
//! sentences on documentation pages.

use crate::{fail_on, files, read, relative, workspace};
use std::collections::BTreeMap;

/// Phrases that plain technical English does not need. Counted in prose and in
/// identifiers, in any case, across line ends.
const AVOIDED: [&str; 21] = [
    "told",
    "tell",
    "tells",
    "telling",
    "held against",
    "holds against",
    "hold against",
    "hears",
    "programme",
    "programmes",
    "anew",
    "whoever",
    "somebody",
    "nobody",
    "dearer",
    "dearest",
    "for ever",
    "in the midst",
    "to be had",
    "at home",
    "so many",
];

/// How many of them a crate, or one of the other folders, may contain.
const AVOIDED_MAX: usize = 3;

/// Places that are not rewritten yet, with what they contain. These numbers only fall.
const AVOIDED_ALLOWED: &[(&str, usize)] = &[];

/// Words of a sentence on a documentation page, on average.
const SENTENCE_WORDS_MAX: f64 = 20.0;

/// Pages that are not rewritten yet, with their average, rounded up. These numbers only fall.
const SENTENCE_WORDS_ALLOWED: &[(&str, f64)] = &[];

/// The crate, folder or root that a file belongs to.
fn place(name: &str) -> String {
    let parts: Vec<&str> = name.split('/').collect();
    match parts[..] {
        ["crates", name, ..] => format!("crates/{name}"),
        [folder, _, ..] => folder.to_owned(),
        _ => "root".to_owned(),
    }
}

/// All words in small letters; `CamelCase` and `snake_case` are several.
fn words(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before = ' ';
    for c in text.chars() {
        let begins = !c.is_alphabetic() || (c.is_uppercase() && before.is_lowercase());
        if begins && words.last().is_some_and(|word| !word.is_empty()) {
            words.push(String::new());
        }
        if c.is_alphabetic() {
            words
                .last_mut()
                .expect("it starts with one")
                .extend(c.to_lowercase());
        }
        before = c;
    }
    words
}

fn count(words: &[String], phrase: &str) -> usize {
    let phrase: Vec<&str> = phrase.split(' ').collect();
    words
        .windows(phrase.len())
        .filter(|window| *window == phrase)
        .count()
}

#[test]
fn avoided_words_are_rare() {
    let mut found: BTreeMap<String, (usize, BTreeMap<&str, usize>)> = BTreeMap::new();
    for path in files(&workspace()) {
        let name = relative(&path);
        let is_prose = ["rs", "md", "sh", "toml"]
            .iter()
            .any(|end| path.extension().is_some_and(|extension| extension == *end));
        // Dated results are not rewritten. This file has to name the words.
        if !is_prose || name.starts_with("benchmarks/runs/") || name.ends_with("tidy/prose.rs") {
            continue;
        }
        let words = words(&read(&path));
        let (sum, by_phrase) = found.entry(place(&name)).or_default();
        for phrase in AVOIDED {
            let count = count(&words, phrase);
            if count > 0 {
                *sum += count;
                *by_phrase.entry(phrase).or_default() += count;
            }
        }
    }
    let mut faults = Vec::new();
    for (place, (sum, by_phrase)) in &found {
        let allowed = AVOIDED_ALLOWED.iter().find(|(allowed, _)| allowed == place);
        let max = allowed.map_or(AVOIDED_MAX, |(_, max)| *max);
        if *sum > max {
            faults.push(format!("{place}: {sum}, allowed are {max}: {by_phrase:?}"));
        }
    }
    for (place, _) in AVOIDED_ALLOWED {
        if found.get(*place).is_none_or(|(sum, _)| *sum <= AVOIDED_MAX) {
            faults.push(format!("{place} no longer needs its allowance: remove it"));
        }
    }
    fail_on("words to avoid (see the list in this file)", &faults);
}

/// The sentences of a Markdown page, each with its number of words. Code, tables and
/// headings are left out; a list item is a paragraph of its own.
fn sentences(page: &str) -> Vec<usize> {
    let mut paragraphs = vec![String::new()];
    let mut in_code = false;
    for line in page.lines() {
        let trimmed = line.trim();
        if trimmed.starts_with("```") {
            in_code = !in_code;
            continue;
        }
        let is_item = trimmed.starts_with("- ")
            || trimmed.starts_with("* ")
            || trimmed
                .split_once(". ")
                .is_some_and(|(number, _)| number.parse::<u32>().is_ok());
        if in_code || trimmed.is_empty() || trimmed.starts_with(['#', '|', '<']) || is_item {
            paragraphs.push(String::new());
        }
        if in_code || trimmed.starts_with(['#', '|', '<']) {
            continue;
        }
        let text = if is_item {
            trimmed.split_once(' ').map_or("", |(_, text)| text)
        } else {
            trimmed
        };
        let paragraph = paragraphs.last_mut().expect("it starts with one");
        paragraph.push(' ');
        paragraph.push_str(text);
    }
    let mut sentences = Vec::new();
    for paragraph in paragraphs {
        let mut words = 0;
        for word in paragraph.split_whitespace() {
            words += usize::from(word.chars().any(char::is_alphanumeric));
            let bare = word.trim_matches(['*', '(', ')', '`', '"']);
            let is_short = ["e.g.", "i.e.", "etc.", "vs."].contains(&bare);
            if bare.ends_with(['.', '!', '?']) && !is_short && words > 0 {
                sentences.push(words);
                words = 0;
            }
        }
        if words > 0 {
            sentences.push(words);
        }
    }
    sentences
}

#[test]
fn sentences_of_documentation_are_short() {
    let mut faults = Vec::new();
    for path in files(&workspace()) {
        let name = relative(&path);
        let is_page = name.ends_with(".md") && (!name.contains('/') || name.starts_with("docs/"));
        if !is_page {
            continue;
        }
        let sentences = sentences(&read(&path));
        if sentences.is_empty() {
            continue;
        }
        #[expect(clippy::cast_precision_loss, reason = "words of one page")]
        let average = sentences.iter().sum::<usize>() as f64 / sentences.len() as f64;
        let allowed = SENTENCE_WORDS_ALLOWED
            .iter()
            .find(|(allowed, _)| *allowed == name);
        let max = allowed.map_or(SENTENCE_WORDS_MAX, |(_, max)| *max);
        if average > max {
            faults.push(format!(
                "{name}: {average:.1} words a sentence, allowed are {max}"
            ));
        }
        if allowed.is_some() && average <= SENTENCE_WORDS_MAX {
            faults.push(format!("{name} no longer needs its allowance: remove it"));
        }
    }
    fail_on("average length of sentences", &faults);
}

#[test]
fn words_are_counted_in_prose_and_identifiers() {
    let text = "/// It is held\n/// against what Told.told_twice TELLS.";
    let words = words(text);
    assert_eq!(count(&words, "held against"), 1);
    assert_eq!(count(&words, "told"), 2);
    assert_eq!(count(&words, "tells"), 1);
    assert_eq!(count(&words, "tell"), 0);
}

#[test]
fn sentences_are_counted_without_code_and_tables() {
    let page = "# A heading. Of two\n\nOne two three. Four (e.g. five) six\nseven!\n\n\
                | a table. |\n\n- an item\n- another item.\n\n```sh\ncode. code.\n```\n1. last one";
    assert_eq!(sentences(page), [3, 5, 2, 2, 2]);
}
