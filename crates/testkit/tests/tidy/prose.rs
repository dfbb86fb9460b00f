//! Plain American English: words and spellings that the project does not use, sentences that begin
//! with their subject, and the length of sentences on documentation pages.

use crate::{fail_on, files, read, relative, workspace};
use std::{collections::BTreeSet, path::PathBuf};
use txgraph_testkit::pages::{Page, pages};

/// Phrases that plain technical English does not need. Counted in prose and in
/// identifiers, in any case, across line ends.
const AVOIDED: &str = "told, tell, tells, telling, held against, holds against, hold against, \
                       hears, programme, programmes, anew, whoever, somebody, nobody, dearer, \
                       dearest, for ever, in the midst, to be had, so many, \
                       everybody, anybody, meanwhile, in vain, thus, hence, upon";

/// Beginnings of words in British spelling.
const BRITISH: &str = "analysed, analysing, artefact, authoris, behaviour, canonicalis, catalogue, \
                       categoris, centre, centring, colour, customis, defence, deserialis, \
                       favour, finalis, generalis, grey, honour, initialis, judgement, labelled, \
                       labelling, licence, materialis, maximis, memoris, minimis, modelled, \
                       modelling, neighbour, normalis, organis, parallelise, parallelising, \
                       prioritis, programme, randomis, recognis, reorganis, sanitis, serialis, \
                       specialis, standardis, summaris, synchronis, travell, uninitialis, utilis, \
                       visualis, whilst";

/// Words that begin like one of them.
const AMERICAN: &str = "organism, organisms, programmed, programmer, programmers, programmable";

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

/// The words of a text in British spelling.
fn british(text: &str) -> BTreeSet<String> {
    let text = text.to_lowercase();
    let words = text.split(|c: char| !c.is_alphabetic());
    let is_british = |word: &&str| {
        BRITISH.split(", ").any(|begin| word.starts_with(begin))
            && !AMERICAN.split(", ").any(|known| known == *word)
    };
    words.filter(is_british).map(str::to_owned).collect()
}

/// The files with prose. Dated results are not rewritten. This file has to name the words.
fn prose_files() -> Vec<(String, PathBuf)> {
    let named = files(&workspace()).into_iter();
    let named = named.map(|path| (relative(&path), path));
    let has_prose = |(name, _): &(String, PathBuf)| {
        [".rs", ".md", ".sh", ".toml", ".py", ".ts", ".mjs"]
            .iter()
            .any(|end| name.ends_with(end))
            && !name.starts_with("benchmarks/runs/")
            && !name.ends_with("tidy/prose.rs")
    };
    named.filter(has_prose).collect()
}

#[test]
fn avoided_words_are_absent() {
    assert_eq!(
        avoided("/// Held\n/// against what Told.told_twice TELLS, untold."),
        4
    );
    let counts = prose_files().into_iter();
    let counts = counts.map(|(name, path)| (name, avoided(&read(&path))));
    let faults: Vec<String> = counts
        .filter(|(_, count)| *count > 0)
        .map(|(name, count)| format!("{name}: {count}"))
        .collect();
    fail_on("words to avoid (see the list in this file)", &faults);
}

#[test]
fn spelling_is_american() {
    let found = british("The Colour of neighbours_of: ReorganisedOnce, organisms, centred.");
    let expected = ["centred", "colour", "neighbours", "reorganisedonce"];
    assert!(found.iter().eq(expected.iter()), "{found:?}");
    let mut faults = Vec::new();
    for (name, path) in prose_files() {
        let words = british(&read(&path)).into_iter();
        faults.extend(words.map(|word| format!("{name}: {word}")));
    }
    fail_on("British spelling", &faults);
}

/// The paragraphs of the comments of a Rust file, each with the number of its first line, and
/// whether it is documentation.
fn comments(text: &str) -> Vec<(usize, bool, String)> {
    let mut found: Vec<(usize, bool, String)> = Vec::new();
    let mut before = "";
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim_start();
        let kinds = ["///", "//!", "//"];
        let kind = kinds.into_iter().find(|kind| line.starts_with(kind));
        let kind = kind.unwrap_or_default();
        let words = line[kind.len()..].trim();
        if kind.is_empty() || words.is_empty() {
            before = "";
            continue;
        }
        match found.last_mut().filter(|_| before == kind) {
            Some((.., paragraph)) => {
                paragraph.push(' ');
                paragraph.push_str(words);
            }
            None => found.push((number, kind != "//", words.to_owned())),
        }
        before = kind;
    }
    found
}

/// Returns the words of a paragraph in place of a subject, if there are any.
fn clipped(paragraph: &str, is_whole: bool) -> Option<&'static str> {
    let ends = paragraph.find(['.', '?', ':']).map(|at| &paragraph[at..]);
    let is_query = ends.is_some_and(|rest| rest.starts_with('?'));
    let begins = ["What ", "That ", "Those ", "Of ", "Whoever "];
    let begin = begins
        .into_iter()
        .find(|begin| paragraph.starts_with(begin));
    let inside = [" that of ", " those of "].into_iter();
    let inside = inside.map(str::trim_end);
    begin
        .filter(|_| is_whole && !is_query)
        .or_else(|| {
            let padded = format!(" {} ", paragraph.to_lowercase());
            let mut inside = inside.filter(|words| padded.contains(&format!("{words} ")));
            inside.next()
        })
        .map(str::trim)
}

#[test]
fn sentences_name_their_subject() {
    let text =
        "/// What it is.\n/// Like that\n/// of a node.\n\n// What else?\n//! What now? Yes.\n";
    let found = comments(text);
    let clipped_at = |at: usize| clipped(&found[at].2, found[at].1);
    assert_eq!(found.len(), 3, "{found:?}");
    assert_eq!([0, 1, 2].map(clipped_at), [Some("What"), None, None]);
    assert_eq!(clipped("It equals that of a node.", true), Some("that of"));
    let mut faults = Vec::new();
    for (name, path) in prose_files() {
        if !name.ends_with(".rs") {
            continue;
        }
        for (line, is_whole, paragraph) in comments(&read(&path)) {
            if let Some(words) = clipped(&paragraph, is_whole) {
                faults.push(format!("{name}:{line}: `{words}`"));
            }
        }
    }
    for page in pages() {
        for paragraph in page.prose().split("\n\n") {
            let text = paragraph.split_whitespace().collect::<Vec<_>>().join(" ");
            let is_table = text.starts_with(['|', '#']);
            if let Some(words) = clipped(&text, !is_table) {
                faults.push(format!("{}: `{words}` in {text:.60}", page.name));
            }
        }
    }
    fail_on("sentences without a subject", &faults);
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
