//! Open approvals: the bytes that the library writes, and the same in answers.

use super::{
    OWNER, SPENDER, get, open, refused, rows,
    written::{CSV, check_fields, check_file, written},
};
use crate::harness::{Served, small};
use serde_json::json;
use txgraph::{AnalysisFormat, OpenApprovals};

#[test]
fn approvals_are_those_of_the_library() {
    let fixture = small();
    let (served, source) = (Served::new(&fixture), open(&fixture));
    let all = |open: &OpenApprovals<'_>, format| written(format, None, |to| open.write(to));
    for (query, asked) in [
        (
            format!("address={OWNER}"),
            source.approvals(OWNER.parse().unwrap()),
        ),
        (
            format!("address={SPENDER}&as_spender=true&blocks=3:41"),
            source
                .approvals(SPENDER.parse().unwrap())
                .as_spender()
                .blocks(3..41),
        ),
    ] {
        let wanted = asked.run().unwrap();
        assert!(!wanted.approvals.is_empty(), "{query}");
        let json = all(&wanted, AnalysisFormat::Json);
        let path = format!("/v1/approvals?{query}");
        let kind = "application/json";
        check_file(&served, &format!("{path}&format=json"), kind, &json);
        let csv = all(&wanted, CSV);
        let kind = "text/csv; charset=utf-8";
        check_file(&served, &format!("{path}&format=csv"), kind, &csv);
        let answer = get(&served, &path[4..]);
        check_fields(&answer, &json);
        assert_eq!(answer["block"], 40);
        assert_eq!(answer["granted"], wanted.granted);
        for row in rows(&answer, "approvals") {
            assert!(answer["tokens"][row["token_address"].as_str().unwrap()].is_object());
        }
        assert_eq!(answer["incomplete"], json!(wanted.notes));
    }
    let answer = get(&served, &format!("approvals?address={OWNER}"));
    assert_eq!(
        answer["command"],
        format!("txgraph approvals {OWNER} -f json")
    );
    let later = get(&served, &format!("approvals?address={OWNER}&blocks=14:"));
    assert!(rows(&later, "approvals").is_empty());
    assert!(
        later["incomplete"][0]
            .as_str()
            .unwrap()
            .contains("before 14")
    );
    assert_eq!(
        later["command"],
        format!("txgraph approvals {OWNER} --blocks 14: -f json")
    );
    let dated = get(
        &served,
        &format!("approvals?address={OWNER}&blocks=:2025-01-01"),
    );
    let cut = dated["incomplete"][0].as_str().unwrap();
    assert!(cut.starts_with("the blocks end with block 40"), "{cut}");
    let split = format!("approvals?address={OWNER}&blocks=3:5,8:9");
    let (status, _, message) = refused(&served, &split);
    assert_eq!(status, 400);
    assert!(message.contains("consecutive"), "{message}");
}

#[test]
fn large_lists_are_refused() {
    let served = Served::limited(&small(), |limits| limits.rows = 1);
    get(&served, &format!("approvals?address={OWNER}"));
    let (status, code, message) = refused(
        &served,
        &format!("approvals?address={SPENDER}&as_spender=true"),
    );
    assert_eq!((status, code.as_str()), (413, "too_much"), "{message}");
    assert!(message.contains("more than 1 approval"), "{message}");
}
