//! Tables of Dune and Allium.

use crate::support::{A, B, Files, TOKEN, read};
use alloy_primitives::{U256, address};
use txgraph_import::Family;
use txgraph_testkit::{fixtures::content, or_skip, says};
use txgraph_transfers::{Kind, Transfer};

#[test]
fn trades_are_two_transfers() {
    let text = or_skip!(content("sources/dune-trades-sample.csv.zst"));
    let files = Files::one("trades.csv", &text);
    let transfers = files.all(Family::Dune);
    let text = String::from_utf8(text).unwrap();
    assert_eq!(transfers.len(), 600);
    for line in text.lines().skip(1) {
        let cells: Vec<_> = line.split(',').collect();
        let block: u64 = cells[3].parse().unwrap();
        let pair: Vec<_> = transfers
            .iter()
            .filter(|it| it.block_number == block)
            .collect();
        let [sold, bought] = pair[..] else {
            panic!("{line}")
        };
        let (taker, pool) = (cells[0].parse().unwrap(), cells[1].parse().unwrap());
        assert_eq!((sold.from_address, sold.to_address), (taker, pool));
        assert_eq!((bought.from_address, bought.to_address), (pool, taker));
        for (transfer, token, value) in [(sold, cells[4], cells[5]), (bought, cells[6], cells[7])] {
            assert_eq!(transfer.token_address, token.parse().ok());
            assert_eq!(transfer.value, value.parse::<U256>().unwrap());
            assert_eq!(transfer.transaction_hash, cells[2].parse().ok());
        }
    }
}

#[test]
fn transfers_have_all_standards() {
    let hash = format!("0x{}", "11".repeat(32));
    let row = |log: &str, token: &str, value: &str, id: &str, standard: &str, path: &str| {
        format!(
            "7,{hash},2,{log},{token},{A},{B},{value},{id},{standard},\"{path}\",2023-05-02 12:19:59.000 UTC,ethereum\n"
        )
    };
    let mut text = "block_number,tx_hash,tx_index,evt_index,contract_address,from,to,amount_raw,\
                    token_id,token_standard,trace_address,block_time,blockchain\n"
        .to_owned();
    text += &row("4", TOKEN, "5", "", "erc20", "");
    text += &row("5", TOKEN, "1", "77", "erc721", "");
    text += &row("6", TOKEN, "3", "8", "erc1155", "");
    text += &row("6", TOKEN, "4", "9", "erc1155", "");
    text += &row("", TOKEN, "10", "", "native", "[]");
    text += &row("", TOKEN, "11", "", "native", "[0, 1]");
    let transfers = Files::one("t.csv", text).all(Family::Dune);
    let show = |it: &Transfer| {
        let id = it.token_id.map(|id| id.to::<u64>());
        let (kind, standard) = (it.kind, it.token_standard);
        let (log, sub, value) = (it.log_index, it.sub_index, it.value);
        format!("{log:?} {sub} {kind} {standard} {value} {id:?}")
    };
    assert_eq!(
        transfers.iter().map(show).collect::<Vec<_>>(),
        [
            "None 0 value native 10 None",
            "None 1 internal native 11 None",
            "Some(4) 0 transfer erc20 5 None",
            "Some(5) 0 transfer erc721 1 Some(77)",
            "Some(6) 0 transfer erc1155 3 Some(8)",
            "Some(6) 1 transfer erc1155 4 Some(9)",
        ]
    );
    assert!(transfers.iter().all(|it| it.transaction_index == 2));
    assert!(
        transfers
            .iter()
            .all(|it| it.block_timestamp.unwrap().seconds() == 1_683_029_999)
    );
}

#[test]
fn allium_transfers_are_read() {
    let hash = format!("0x{}", "22".repeat(32));
    let text = format!(
        "from_address,to_address,token_address,raw_amount_str,transaction_hash,transaction_index,\
         log_index,block_timestamp,block_number,unique_id\n\
         {A},0x0000000000000000000000000000000000000000,{TOKEN},{},{hash},3,9,2023-05-02 12:19:59,5,x\n",
        U256::MAX
    );
    let transfers = Files::one("t.csv", text).all(Family::Dune);
    assert_eq!(transfers.len(), 1);
    assert_eq!(
        (transfers[0].value, transfers[0].kind),
        (U256::MAX, Kind::Burn)
    );
    assert_eq!(
        transfers[0].from_address,
        address!("00000000000000000000000000000000000000aa")
    );
}

/// The rows of one log have no index in it, so a second export of them is found by the whole list.
#[test]
fn items_of_a_log_that_was_exported_twice_are_kept_once() {
    let hash = format!("0x{}", "11".repeat(32));
    let header = "block_number,tx_hash,tx_index,evt_index,contract_address,from,to,amount_raw,\
                  token_id,token_standard\n";
    let row = |log: u32, value: u32, id: u32| {
        format!("7,{hash},2,{log},{TOKEN},{A},{B},{value},{id},erc1155\n")
    };
    // A batch may have equal items.
    let batch = [row(6, 3, 8), row(6, 3, 8), row(6, 4, 9)];
    let text = format!("{header}{}{}", batch.concat(), row(7, 3, 8));
    let files = Files::one("a.csv", &text);
    let (once, report) = read(files.open(Family::Dune).unwrap());
    assert_eq!((once.len(), report.counts.duplicates), (4, 0));
    files.add("b.csv", &text);
    let [one, two, three] = &batch;
    files.add("c.csv", format!("{header}{three}{one}{two}"));
    let (all, report) = read(files.open(Family::Dune).unwrap());
    assert_eq!((all, report.counts.duplicates), (once, 7));
    files.add("b.csv", format!("{header}{one}{three}"));
    let error = files.refused(Family::Dune);
    says(&error, "block 7: log 6 differs between ");
    says(&error, "a.csv, row 1 and ");
    says(&error, "b.csv, row 1");
}

#[test]
fn trades_that_were_exported_twice_are_found_by_their_log() {
    let hash = format!("0x{}", "11".repeat(32));
    let header = "block_number,tx_hash,tx_from,tx_to,token_sold_address,token_sold_amount_raw,\
                  token_bought_address,token_bought_amount_raw";
    let row = format!("7,{hash},{A},{B},{TOKEN},5,{A},6");
    let caveat = "rows have no log index: equal rows look like rows that were exported twice";
    for (column, cells, count, duplicates) in
        [("", ["", ""], 8, 0), (",evt_index", [",4", ",9"], 4, 2)]
    {
        let [one, two] = cells;
        let text = format!("{header}{column}\n{row}{one}\n{row}{two}\n");
        let files = Files::one("a.csv", &text);
        files.add("b.csv", &text);
        let (transfers, report) = read(files.open(Family::Dune).unwrap());
        let found = (transfers.len(), report.counts.duplicates);
        assert_eq!(found, (count, duplicates), "{report:?}");
        assert_eq!(transfers[0].log_index, None);
        let is_said = report.caveats.iter().any(|it| it == caveat);
        assert_eq!(is_said, column.is_empty(), "{report:?}");
    }
}
