//! Transfers as CSV with the columns of txgraph.

use std::io::{self, Write};
use txgraph_transfers::Transfer;

/// The header line.
pub const CSV_HEADER: &str = "block_number,block_timestamp,transaction_index,log_index,sub_index,\
transaction_hash,token_address,from_address,to_address,value,token_id,token_standard,kind,chain_id";

/// Writes one row per transfer. Absent fields are empty; the hash of withdrawals is zero.
pub fn write_csv(out: &mut dyn Write, transfers: &[Transfer], chain_id: u64) -> io::Result<()> {
    for t in transfers {
        write!(out, "{},", t.block_number)?;
        if let Some(time) = t.block_timestamp {
            write!(out, "{}", time.seconds())?;
        }
        write!(out, ",{},", t.transaction_index)?;
        if let Some(log) = t.log_index {
            write!(out, "{log}")?;
        }
        let hash = t.transaction_hash.unwrap_or_default();
        write!(out, ",{},{hash:#x},", t.sub_index)?;
        if let Some(token) = t.token_address {
            write!(out, "{token:#x}")?;
        }
        write!(
            out,
            ",{:#x},{:#x},{},",
            t.from_address, t.to_address, t.value
        )?;
        if let Some(id) = t.token_id {
            write!(out, "{id}")?;
        }
        writeln!(out, ",{},{},{chain_id}", t.token_standard, t.kind)?;
    }
    Ok(())
}
