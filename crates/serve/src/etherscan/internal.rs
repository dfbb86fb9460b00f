//! `account`: coins that calls inside of transactions moved.

use super::{
    account::ROWS,
    query::Query,
    reply::{NO_TRANSACTIONS, PageRows, Reply, text},
};
use crate::{
    ask::Ask,
    fault::{Answer, Fault},
    frames::{ends, error, kind, steps},
    json::{address, data},
    paging::Page,
    rpc,
};
use serde_json::{Map, Value};
use txgraph::{
    Address, BlockRange, BlockReplay, BlockSpec, Direction, Frame, FrameKind, Kind, Order, Transfer,
};

pub(super) fn transactions(ask: &Ask<'_>, query: &Query) -> Answer<Reply> {
    let page = query.page(ROWS)?;
    if let Some(hash) = query.hash("txhash")? {
        return of_transaction(ask, hash, page);
    }
    let wanted = query.optional_address("address")?;
    let Some((first, last)) = query.blocks(ask, ["startblock", "endblock"])? else {
        return Ok(Reply::Rows(Vec::new(), NO_TRANSACTIONS));
    };
    let mut transfers = ask.source.transfers().native().internal();
    transfers = transfers.blocks(BlockSpec::through(first, last));
    transfers = transfers.kind(Kind::Internal);
    // Coins that are destroyed go to the zero address in transfers, but not in rows.
    if wanted != Some(Address::ZERO) {
        transfers = transfers.kind(Kind::Burn);
    }
    if let Some(wanted) = wanted {
        transfers = transfers.address(wanted).direction(Direction::Both);
    }
    // The replay has the hashes and the times.
    let transfers = transfers.prepare()?.numbers_only();
    let mut found = page.read(&transfers, |_| true)?.transfers;
    if page.order == Order::NewestFirst {
        found.reverse();
    }
    let mut rows = Vec::with_capacity(found.len());
    let blocks = found.iter().map(|it| BlockRange::one(it.block_number));
    let mut left = found.iter().peekable();
    rpc::replay(ask, &blocks.collect(), rpc::Recorded::CALLS, |block| {
        while let Some(transfer) = left.next_if(|it| it.block_number == block.number) {
            ask.count(800)?;
            rows.push(of_transfer(block, transfer)?);
        }
        Ok(())
    })?;
    if let Some(transfer) = left.next() {
        return Err(lost(transfer));
    }
    if page.order == Order::NewestFirst {
        rows.reverse();
    }
    Ok(Reply::Rows(rows, NO_TRANSACTIONS))
}

fn lost(transfer: &Transfer) -> Fault {
    let (block, index) = transfer.transaction();
    Fault::NotHere(format!(
        "no call of transaction {block}:{index} made its transfer"
    ))
}

/// The row of a transfer, with the call that made it.
fn of_transfer(block: &BlockReplay, transfer: &Transfer) -> Answer<Value> {
    let lost = || lost(transfer);
    let mut replays = block.transactions.iter();
    let replay = replays.find(|it| it.index == transfer.transaction_index);
    let replay = replay.ok_or_else(lost)?;
    let mut movements = replay.internal_transfers(0).into_iter();
    let movement = movements.find(|it| {
        let found = &it.transfer;
        // Since Amsterdam, transfers are numbered by their logs.
        match transfer.log_index {
            None => found.sub_index == transfer.sub_index,
            Some(_) => {
                (found.from_address, found.to_address, found.value)
                    == (transfer.from_address, transfer.to_address, transfer.value)
            }
        }
    });
    let movement = movement.ok_or_else(lost)?;
    let path = &movement.trace_address;
    let frames = replay.frames.as_ref().ok_or_else(lost)?;
    let mut at = frames.root();
    let mut is_destruction = false;
    for step in path {
        let frame = at.ok_or_else(lost)?;
        let child = frame.children.get(*step as usize);
        is_destruction = child.is_none();
        if let Some(child) = child {
            at = frames.get(*child);
        }
    }
    let frame = at.ok_or_else(lost)?;
    let mut row = match is_destruction {
        true => destruction(frame).ok_or_else(lost)?,
        false => call(frame),
    };
    // In the order of the documents of Etherscan.
    let mut placed = Map::new();
    placed.insert("blockNumber".to_owned(), text(transfer.block_number));
    placed.insert("timeStamp".to_owned(), text(block.timestamp));
    placed.insert("hash".to_owned(), data(replay.hash));
    placed.append(&mut row);
    let steps: Vec<_> = path.iter().map(ToString::to_string).collect();
    placed.insert("traceId".to_owned(), steps.join("_").into());
    Ok(placed.into())
}

fn of_transaction(ask: &Ask<'_>, hash: txgraph::B256, page: Page) -> Answer<Reply> {
    let Some((replay, place)) = rpc::one(ask, hash, rpc::Recorded::CALLS)? else {
        return Err(rpc::no_transaction(ask, hash));
    };
    let time = ask.source.header(place.block)?.timestamp;
    let mut steps: Vec<_> = steps(&replay).into_iter().skip(1).collect();
    if page.order == Order::NewestFirst {
        steps.reverse();
    }
    let mut rows = PageRows::new(page);
    for step in steps {
        let frame = step.frame;
        let is_wanted = match frame.kind {
            FrameKind::Create | FrameKind::Create2 => true,
            FrameKind::Call => !frame.value.is_zero(),
            // Code of another account in the name of the caller, to whom the value would go.
            FrameKind::CallCode | FrameKind::DelegateCall | FrameKind::StaticCall => false,
        };
        let row = match step.is_destruction {
            true => destruction(frame),
            false => is_wanted.then(|| call(frame)),
        };
        let Some(mut row) = row else { continue };
        let added = rows.add(ask, 800, || {
            let mut placed = Map::new();
            placed.insert("blockNumber".to_owned(), text(place.block));
            placed.insert("timeStamp".to_owned(), text(time));
            placed.append(&mut row);
            Ok(placed.into())
        })?;
        if added.is_break() {
            break;
        }
    }
    Ok(Reply::Rows(rows.finish()?, NO_TRANSACTIONS))
}

fn call(frame: &Frame) -> Map<String, Value> {
    let (from, to) = ends(frame);
    let mut row = Map::new();
    let mut put = |name: &str, value| row.insert(name.to_owned(), value);
    let empty = || Value::from("");
    let is_creation = frame.is_creation();
    // A creation that failed made no contract.
    let created = is_creation && frame.status == txgraph::Status::Success;
    put("from", address(from));
    put("to", if is_creation { empty() } else { address(to) });
    put("value", text(frame.value));
    put(
        "contractAddress",
        if created { address(to) } else { empty() },
    );
    put("input", empty());
    put("type", kind(frame).into());
    put("gas", text(frame.gas_limit));
    put("gasUsed", text(frame.gas_used));
    put("isError", if frame.is_reverted { "1" } else { "0" }.into());
    put("errCode", error(frame.status).unwrap_or_default().into());
    row
}

fn destruction(frame: &Frame) -> Option<Map<String, Value>> {
    let destruction = frame.destruction?;
    let mut row = Map::new();
    let mut put = |name: &str, value| row.insert(name.to_owned(), value);
    put("from", address(frame.address));
    put("to", address(destruction.beneficiary));
    put("value", text(destruction.amount));
    put("contractAddress", "".into());
    put("input", "".into());
    put("type", "suicide".into());
    put("gas", "0".into());
    put("gasUsed", "0".into());
    put("isError", if frame.is_reverted { "1" } else { "0" }.into());
    put("errCode", "".into());
    Some(row)
}
