//! Reads the JSON of an answer. The depth of nesting is bounded.

use crate::{
    error::{Refusal, shown},
    secrets::Secrets,
    wire::{Answer, Id},
};
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::error::Category;

/// The deepest nesting that is read. Calls nest 1,025 deep (yellow paper), each with an object and
/// an array.
const DEPTH_MAX: usize = 2_200;

/// The depth that the stack of any thread is large enough for, as in `serde_json`.
const DEPTH_SHALLOW: usize = 100;

/// The bytes of stack for each level of nesting. Builds without optimization need the most.
const STACK_PER_LEVEL: usize = 16 << 10;

/// The content of an answer's bytes.
pub(crate) enum Reply<T> {
    /// An answer or a refusal for each call, in their order.
    Items(Vec<Result<T, Refusal>>),
    /// One refusal of the whole request.
    Refused(Refusal),
    /// Answers that are not one for each call.
    Misplaced(String),
    /// JSON that is not an answer to the calls.
    Invalid(String),
    /// Not JSON, or truncated.
    NotJson(String),
}

/// Reads the answer to `count` calls with the ids 0, 1, …. Texts of the server are without the
/// secrets.
pub(crate) fn parse<T: DeserializeOwned + Send>(
    bytes: &[u8],
    count: usize,
    secrets: &Secrets,
) -> Reply<T> {
    let reply = match depth(bytes) {
        ..=DEPTH_SHALLOW => parse_here(bytes, count, secrets),
        depth @ ..=DEPTH_MAX => {
            let stack = (depth + DEPTH_SHALLOW) * STACK_PER_LEVEL;
            let parsed = std::thread::scope(|scope| {
                let thread = std::thread::Builder::new().stack_size(stack);
                let thread = thread.spawn_scoped(scope, || parse_here(bytes, count, secrets));
                thread.map(|thread| thread.join())
            });
            match parsed {
                Ok(Ok(reply)) => reply,
                Ok(Err(panic)) => std::panic::resume_unwind(panic),
                Err(error) => Reply::Invalid(format!("a thread to read it cannot start: {error}")),
            }
        }
        _ => Reply::Invalid(format!("its JSON nests deeper than {DEPTH_MAX} levels")),
    };
    match reply {
        // Messages of the parser quote the answer.
        Reply::Invalid(what) => Reply::Invalid(shown(&secrets.masked(&what))),
        Reply::Misplaced(what) => Reply::Misplaced(shown(&secrets.masked(&what))),
        reply => reply,
    }
}

/// The deepest nesting of brackets outside of strings.
fn depth(json: &[u8]) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    let mut bytes = json.iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b'[' | b'{' => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            b'"' => {
                while let Some(byte) = bytes.next() {
                    match byte {
                        b'\\' => drop(bytes.next()),
                        b'"' => break,
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
    deepest
}

fn parse_here<T: DeserializeOwned>(bytes: &[u8], count: usize, secrets: &Secrets) -> Reply<T> {
    let first = bytes.iter().find(|byte| !byte.is_ascii_whitespace());
    match first {
        Some(b'[') => match json::<Vec<Answer<T>>, T>(bytes) {
            Ok(answers) => in_order(answers, count, secrets),
            Err(unread) => unread,
        },
        Some(b'{') if count == 1 => match json::<Answer<T>, T>(bytes) {
            Ok(answer) => in_order(vec![answer], count, secrets),
            Err(unread) => unread,
        },
        Some(b'{') => match json::<Answer<IgnoredAny>, T>(bytes) {
            Ok(Answer {
                error: Some(error), ..
            }) => Reply::Refused(error.read(secrets)),
            Ok(_) => Reply::Misplaced(format!("one answer for {count} calls")),
            Err(unread) => unread,
        },
        Some(_) => Reply::NotJson("the answer is not JSON".to_owned()),
        None => Reply::NotJson("the answer is empty".to_owned()),
    }
}

/// Reads JSON; an error is the reply that it is instead.
fn json<A: DeserializeOwned, T>(bytes: &[u8]) -> Result<A, Reply<T>> {
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    // The depth was checked.
    reader.disable_recursion_limit();
    let read = A::deserialize(&mut reader).and_then(|answer| reader.end().map(|()| answer));
    read.map_err(|error| match error.classify() {
        Category::Data => Reply::Invalid(error.to_string()),
        Category::Eof => Reply::NotJson(format!("the answer is truncated ({error})")),
        Category::Syntax | Category::Io => {
            Reply::NotJson(format!("the answer is not JSON ({error})"))
        }
    })
}

/// Puts answers into the order of their ids.
fn in_order<T>(answers: Vec<Answer<T>>, count: usize, secrets: &Secrets) -> Reply<T> {
    let mut items: Vec<Option<Result<T, Refusal>>> = Vec::new();
    items.resize_with(count, || None);
    for answer in answers {
        let Answer { id, result, error } = answer;
        let error = error.map(|error| error.read(secrets));
        let place = id
            .as_ref()
            .and_then(Id::number)
            .and_then(|at| items.get_mut(at));
        let Some(place) = place else {
            return match (error, id) {
                // Servers that refuse a batch may answer with one error in an array.
                (Some(refusal), None) => Reply::Refused(refusal),
                (_, id) => Reply::Misplaced(format!("no call has the id {id:?}")),
            };
        };
        if place.is_some() {
            return Reply::Misplaced(format!("two answers have the id {id:?}"));
        }
        *place = Some(match (result, error) {
            (_, Some(refusal)) => Err(refusal),
            (Some(result), None) => Ok(result),
            (None, None) => {
                return Reply::Invalid("it has neither a result nor an error".to_owned());
            }
        });
    }
    match items.into_iter().collect::<Option<Vec<_>>>() {
        Some(items) => Reply::Items(items),
        None => Reply::Misplaced(format!("it does not answer all {count} calls")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Quantity;

    fn read(json: &str, count: usize) -> String {
        match parse::<Quantity>(json.as_bytes(), count, &Secrets::default()) {
            Reply::Items(items) => {
                let item = |item: &Result<Quantity, Refusal>| match item {
                    Ok(number) => number.0.to_string(),
                    Err(refusal) => refusal.to_string(),
                };
                items.iter().map(item).collect::<Vec<_>>().join(" ")
            }
            Reply::Refused(refusal) => format!("refused: {refusal}"),
            Reply::Misplaced(what) => format!("misplaced: {what}"),
            Reply::Invalid(what) => format!("invalid: {what}"),
            Reply::NotJson(what) => format!("not JSON: {what}"),
        }
    }

    #[test]
    fn batches_may_be_in_any_order() {
        let json = r#"[{"id":1,"result":"0x2"},{"id":"0","result":"0x1"}]"#;
        assert_eq!(read(json, 2), "1 2");
        let json = r#"[{"id":1,"error":{"code":3,"message":"no"}},{"id":0,"result":"0x1"}]"#;
        assert_eq!(read(json, 2), "1 error 3: no");
    }

    #[test]
    fn contradictions_are_named() {
        for (json, count, expected) in [
            (
                r#"[{"id":0,"result":"0x2"},{"id":0,"result":"0x1"}]"#,
                2,
                "misplaced: two answers",
            ),
            (
                r#"[{"id":0,"result":"0x2"}]"#,
                2,
                "misplaced: it does not answer all 2",
            ),
            (
                r#"[{"id":7,"result":"0x2"}]"#,
                1,
                "misplaced: no call has the id",
            ),
            (r#"{"id":0}"#, 1, "invalid: it has neither"),
            (r#"{"id":0,"result":"0x1"}"#, 2, "misplaced: one answer"),
            (r#"{"id":0,"result":"zz"}"#, 1, "invalid: "),
            (
                r#"{"error":{"code":1,"message":"x"}}"#,
                2,
                "refused: error 1: x",
            ),
            (
                r#"{"error":{"code":1,"message":"x"},"id":null}"#,
                1,
                "refused: error 1: x",
            ),
            (
                r#"[{"error":{"code":1,"message":"x"},"id":null}]"#,
                2,
                "refused: error 1: x",
            ),
            (
                r#"{"id":0,"result":"0x"#,
                1,
                "not JSON: the answer is truncated",
            ),
            ("<html>", 1, "not JSON: the answer is not JSON"),
            (" ", 1, "not JSON: the answer is empty"),
            (r#"{"id":0,"result":"0x1"} x"#, 1, "not JSON: "),
        ] {
            let read = read(json, count);
            assert!(read.starts_with(expected), "{json}: {read}");
        }
    }

    #[test]
    fn depth_ignores_strings() {
        assert_eq!(depth(br#"{"a":["[[[\"[[",1],"b":{}}"#), 2);
        let deep = format!("{}{}", "[".repeat(5000), "]".repeat(5000));
        assert!(read(&deep, 1).contains("nests deeper"));
        let deep = format!("{}{}", "[".repeat(2000), "]".repeat(2000));
        assert!(read(&deep, 1).starts_with("invalid: "));
    }
}
