//! Names of addresses: where they show, which wins, and where a search ends because of them.

use crate::harness::{HUB, Sample, rows};

const PAYER: &str = "0x11c6022d46937603aac0a66efab5b8ad75dc8dda";
const FILES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/labels");

#[test]
fn vertices_and_pictures_have_names_categories_and_sources() {
    let sample = Sample::small();
    let ask = format!("graph -r {PAYER} -n 2");
    let run = sample.ok(&format!(
        "{ask} --labels {FILES}/own.csv --labels {FILES} --vertices v.csv -o g.dot -o g.html \
         -o g.json"
    ));
    for file in ["pack.yaml", "tokens.json"] {
        let warning = format!("warning: labels: {file}: 1 name of other chains than 735703");
        run.says(&warning);
    }
    let vertices = sample.read("v.csv");
    let header = vertices.lines().next().unwrap();
    assert!(
        header.ends_with(",chain_id,category,label_source"),
        "{header}"
    );
    let vertices = rows(&vertices);
    let hub = vertices.iter().find(|row| row["id"] == HUB).unwrap();
    assert_eq!(hub["label"], "Big exchange");
    assert_eq!(hub["category"], "exchange");
    assert_eq!(hub["label_source"], "own.csv: seen on its deposit page");
    let json = sample.read_json("g.json");
    let found = json["vertices"].as_array().unwrap().iter();
    let found: Vec<_> = found.filter(|vertex| vertex["id"] == HUB).collect();
    assert_eq!(found[0]["category"], "exchange");

    let dot = sample.read("g.dot");
    assert!(dot.contains("⌂ exchange (1)"), "{dot}");
    let line = dot
        .lines()
        .find(|line| line.contains("⌂ Big exchange"))
        .unwrap();
    for part in [
        "Big exchange (exchange, own.csv: seen on its deposit page)",
        "Not an exchange (mixing_service, pack.yaml: https://example.org/pack)",
        "shape=house",
        "fillcolor=\"#B5D3F2\"",
    ] {
        assert!(line.contains(part), "{part}: {line}");
    }
    // A root keeps its color.
    let root = dot
        .lines()
        .find(|line| line.contains("● My wallet"))
        .unwrap();
    assert!(root.contains("fillcolor=\"#FFE3C2\""), "{root}");
    let page = sample.read("g.html");
    assert!(page.contains("⌂ exchange (1)") && page.contains("\"shape\":\"house\""));

    // Without files of labels, vertices have no columns of labels.
    sample.ok(&format!("{ask} --vertices plain.csv"));
    let plain = sample.read("plain.csv");
    assert!(
        plain.lines().next().unwrap().ends_with(",chain_id"),
        "{plain}"
    );
}

#[test]
fn transfers_have_columns_of_names() {
    let sample = Sample::small();
    let columns = "--columns from_address,to_address,from_label,to_label";
    for command in [
        format!("transfers -a {PAYER} -d out"),
        format!("graph -r {PAYER}"),
    ] {
        let rows = sample.rows(&format!("{command} {columns} --labels {FILES}/own.csv"));
        assert!(rows.iter().all(|row| row["from_label"] == "My wallet"));
        let to_hub: Vec<_> = rows.iter().filter(|row| row["to_address"] == HUB).collect();
        assert!(!to_hub.is_empty());
        assert!(to_hub.iter().all(|row| row["to_label"] == "Big exchange"));
        sample.fails(
            &format!("{command} {columns}"),
            2,
            "the column `from_label` needs labels",
        );
    }
}

#[test]
fn measures_and_saved_queries_have_names() {
    let sample = Sample::small();
    let run = sample.ok(&format!(
        "analyze summary --labels {FILES}/own.csv -o s.json"
    ));
    assert!(!run.stderr.contains("warning"), "{}", run.stderr);
    assert!(sample.read("s.json").contains("\"Big exchange\""));
    let run = sample.ok(&format!(
        "query trace-token-out --set root={PAYER} --labels {FILES}/own.csv -o q.json"
    ));
    assert!(!run.stderr.contains("warning"), "{}", run.stderr);
    assert!(sample.read("q.json").contains("\"My wallet\""));
}

#[test]
fn a_search_ends_at_categories() {
    let sample = Sample::small();
    let ask = format!("graph -r {PAYER} -n 2 --labels {FILES}/own.csv --vertices -");
    let expansion = |options: &str| {
        let run = sample.ok(&format!("{ask} {options}"));
        let vertices = run.rows();
        let hub = vertices.iter().find(|row| row["id"] == HUB).unwrap();
        (hub["expansion"].clone(), vertices.len())
    };
    let (word, all) = expansion("");
    assert_eq!(word, "expanded");
    for words in ["exchange", "mixer,exchange"] {
        let files = format!("--labels {FILES}/pack.yaml --stop-at-category {words}");
        let (word, few) = expansion(&files);
        assert_eq!(word, "stop_list");
        assert!(few < all, "{few} {all}");
    }
    // A list can be without some of the usual kinds.
    let run = sample.ok(&format!("{ask} --stop-at-category bridge,exchange"));
    run.says("no label has the category `bridge`");
    let run = sample
        .run(&format!("{ask} --stop-at-category casino"))
        .ended(2);
    run.says("no label has the category `casino`")
        .says("the labels have: exchange (1), user (1)");
    sample.fails(
        &format!("graph -r {PAYER} --stop-at-category exchange"),
        2,
        "there are no labels",
    );
}

#[test]
fn wrong_files_are_named() {
    let sample = Sample::small();
    std::fs::write(sample.path("bad.csv"), format!("{HUB},x\noops,y\n")).unwrap();
    let run = sample.ok(&format!("graph -q -r {PAYER} --labels bad.csv"));
    let warning = "warning: labels: bad.csv: 1 row was not read; line 2: `oops` is not an address";
    run.says(warning);
    std::fs::write(sample.path("prose.txt"), "nothing here\n").unwrap();
    for command in [
        format!("graph -r {PAYER}"),
        "transfers".into(),
        "tx 20:3".into(),
    ] {
        let run = sample
            .run(&format!("{command} --labels prose.txt"))
            .ended(2);
        run.says("prose.txt: no address was found; line 1")
            .says("known formats: CSV with a header");
    }
}
