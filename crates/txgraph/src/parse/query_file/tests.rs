use super::*;
use crate::parse::given;
use serde_json::json;

const FUNDED: &str = r#"
        purpose = "Who paid this address?"
        [params.root]
        type = "addresses"
        doc = "who was paid"
        [params.hops]
        type = "hops"
        doc = "how far back"
        default = 2
        [params.token]
        type = "tokens"
        doc = "which tokens"
        optional = true
        [params.name]
        type = "text"
        doc = "file name"
        default = "out"
        [ask]
        command = "graph"
        direction = "in"
        root = "${root}"
        token = "${token}"
        hops = "${hops}"
        stop-at = "${name}.csv"
    "#;
const A: &str = "0x00000000000000000000000000000000000000aa";
const B: &str = "0x00000000000000000000000000000000000000bb";

fn set(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs
        .iter()
        .map(|(name, text)| ((*name).to_owned(), (*text).to_owned()))
        .collect()
}

#[test]
fn parameters_are_replaced() {
    let file = QueryFile::parse("funded", FUNDED).unwrap();
    let query = file.resolve(&set(&[("root", A), ("root", B)])).unwrap();
    assert_eq!(query.command(), "graph");
    let options = |query: Query| serde_json::Value::from(given(&query).unwrap());
    let list = format!("{A},{B}");
    assert_eq!(
        options(query),
        json!({"direction": "in", "hops": 2, "root": [list], "stop-at": "out.csv"})
    );
    let pairs = set(&[
        ("root", A),
        ("hops", "all"),
        ("token", "eth,USD6"),
        ("name", "x"),
    ]);
    assert_eq!(
        options(file.resolve(&pairs).unwrap()),
        json!({
            "direction": "in", "hops": "all", "root": [A], "stop-at": "x.csv", "token": ["eth,USD6"],
        })
    );
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    assert_eq!(
        file.hint(),
        Hint::GiveParameters(Box::new(Parameters {
            query: "funded".to_owned(),
            required: words(&["root=<addresses>"]),
            optional: words(&["hops=<hops>", "name=<text>", "token=<tokens>"]),
        }))
    );
}

#[test]
fn rejects_wrong_values() {
    let file = QueryFile::parse("funded", FUNDED).unwrap();
    for (pairs, message) in [
        (vec![], "`funded` needs a value for `root`"),
        (vec![("rot", A)], "`funded` has no parameter `rot`"),
        (
            vec![("root", "me")],
            "parameter `root`: `me` is not an address (`0x` and 40 hex digits)",
        ),
        (
            vec![("root", A), ("token", "USD6,0xaa")],
            "parameter `token`: `0xaa` is not an address: it has 2 hex digits, and an address has 40",
        ),
        (
            vec![("root", A), ("hops", "1"), ("hops", "2")],
            "`hops` is given twice",
        ),
        (
            vec![("root", A), ("hops", "far")],
            "parameter `hops`: `far` is not a number of hops (0, 1, 2 … or `all`)",
        ),
    ] {
        assert_eq!(file.resolve(&set(&pairs)).unwrap_err().message, message);
    }
}

#[test]
fn rejects_wrong_files() {
    for (from, to, message) in [
        ("${token}", "${tokn}", "`${tokn}` is not a parameter"),
        ("token = \"${token}\"", "", "parameter `token` is not used"),
        ("command = \"graph\"", "", "[ask] needs a `command`"),
        (
            "default = 2",
            "default = \"x\"",
            "default of parameter `hops`",
        ),
        ("purpose", "porpoise", "unknown field"),
        ("${hops}", "${hops", "without `}`"),
        ("[ask]", "[ask]\noutput = \"x.csv\"", "cannot set `output`"),
        ("[ask]", "[ask]\noverwrite = true", "cannot set `overwrite`"),
        (
            "[ask]",
            "[ask]\nvertices = \"v.csv\"",
            "cannot set `vertices`",
        ),
    ] {
        let text = FUNDED.replacen(from, to, 1);
        let error = QueryFile::parse("funded", &text).unwrap_err();
        assert!(error.message.contains(message), "{}", error.message);
    }
    let text = FUNDED.replace("direction = \"in\"", "way = \"in\"");
    let error = QueryFile::parse("funded", &text)
        .unwrap()
        .resolve(&set(&[("root", A)]));
    assert_eq!(
        error.unwrap_err().message,
        "funded: `graph` has no option `way`"
    );
}

#[test]
fn committed_queries_are_the_built_in_ones() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../queries");
    let mut names: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| {
            entry
                .unwrap()
                .path()
                .file_stem()
                .unwrap()
                .to_string_lossy()
                .into_owned()
        })
        .collect();
    names.sort();
    let built_in: Vec<_> = BuiltInQuery::ALL
        .iter()
        .map(|query| query.as_str())
        .collect();
    assert_eq!(names, built_in);
    for name in BuiltInQuery::ALL {
        let query = name.parse().unwrap();
        assert!(
            query.purpose.ends_with(['.', '?']),
            "{name}: {}",
            query.purpose
        );
    }
}
