//! Destructions as servers that are built on revm report them.

use crate::support::{A, B, Files, TOKEN, read};
use txgraph_import::Family;
use txgraph_transfers::Kind;

/// A transaction of A moves 5 to B, which names itself as the beneficiary of its destruction after
/// Cancun. Nothing moves, and the trace repeats the last movement.
#[test]
fn a_contract_that_names_itself_moves_nothing() {
    let hash = format!("0x{:064x}", 1);
    let etl = "block_number,transaction_index,transaction_hash,from_address,to_address,value,\
               trace_type,call_type,trace_address,error,status\n";
    let cryo = "block_number,transaction_index,transaction_hash,action_from,action_to,action_value,\
                action_type,action_call_type,trace_address,error,result_address,chain_id\n";
    let place = format!("5,0,{hash}");
    for (from, to, value) in [(A, B, "5"), ("", "", ""), (A, "", "0")] {
        for (family, header, end) in [(Family::Etl, etl, ",1"), (Family::Cryo, cryo, ",,1")] {
            let text = format!(
                "{header}{place},{A},{B},5,call,call,,{end}\n\
                 {place},{from},{to},{value},suicide,,0,{end}\n\
                 {place},{B},{TOKEN},3,suicide,,1,{end}\n"
            );
            let found = Files::one("traces.csv", text).all(family);
            let found: Vec<_> = found.iter().map(|it| (it.value.to(), it.kind)).collect();
            assert_eq!(found, [(5u64, Kind::Value), (3, Kind::Internal)], "{from}");
        }
    }
}

/// B is older than the transaction, has a balance and names itself. Before Cancun the balance is
/// burnt, since then it stays. Traces do not say which.
#[test]
fn a_balance_that_may_be_burnt_is_counted() {
    let hash = format!("0x{:064x}", 1);
    let text = format!(
        "block_number,transaction_index,transaction_hash,from_address,to_address,value,\
         trace_type,call_type,trace_address,error,status\n\
         5,0,{hash},{A},{B},5,call,call,,,1\n\
         5,0,{hash},{B},{B},5,suicide,,0,,1\n"
    );
    let files = Files::one("traces.csv", text);
    let (found, report) = read(files.open(Family::Etl).unwrap());
    assert_eq!(found.len(), 1);
    let caveat = "contracts that name themselves as the beneficiary, whose balance was burnt before Cancun: 1";
    assert!(
        report.caveats.iter().any(|it| it == caveat),
        "{:?}",
        report.caveats
    );
}
