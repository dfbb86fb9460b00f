//! Comma-separated values (RFC 4180 with `\n`). Hand-written for speed: no
//! allocation per row. Tests compare it with the `csv` crate.

use super::{RowEncoder, TransferEncoder, TransferRows};
use crate::{
    Column, Metadata, Result, Schema, TransferTableOptions, Value, Written,
    output::Output,
    plain_text,
    row_buffer::{RowBuffer, Word},
    schema::HOP,
    text::printable,
    text_output::TextOutput,
    value::ValueText,
};
use txgraph_transfers::{Kind, TokenStandard, Transfer};

/// Encodes rows of typed values.
pub(crate) struct Rows(TextOutput);

impl Rows {
    pub(crate) fn new(columns: &[Column], output: Output) -> Self {
        let mut text = TextOutput::new(output);
        for (i, column) in columns.iter().enumerate() {
            if i > 0 {
                text.buffer.push(b',');
            }
            push_text(&mut text.buffer, &column.name);
        }
        text.buffer.push(b'\n');
        Self(text)
    }
}

impl RowEncoder for Rows {
    fn push(&mut self, row: &[Value<'_>]) -> Result<()> {
        let out = &mut self.0.buffer;
        for (i, value) in row.iter().enumerate() {
            if i > 0 {
                out.push(b',');
            }
            match value.as_text() {
                Some(text) => push_text(out, text),
                // Quotes inside of JSON, and commas, need quotes around them.
                None if matches!(value, Value::Json(_)) => {
                    push_text(out, &plain_text(value));
                }
                None => value.push_plain(out),
            }
        }
        out.push(b'\n');
        self.0.end_row()
    }

    fn finish(self: Box<Self>, metadata: Option<&Metadata>) -> Result<Written> {
        self.0.finish(metadata)
    }
}

/// Encodes transfers.
pub(crate) struct Transfers {
    text: TextOutput,
    lines: Lines,
}

impl Transfers {
    pub(crate) fn new(
        schema: Schema,
        options: &TransferTableOptions,
        with_hop: bool,
        output: Output,
    ) -> Self {
        let mut text = TextOutput::with_threads(output, &options.threads);
        header(&mut text.buffer, schema, with_hop);
        let lines = Lines::new(options.chain_id);
        Self { text, lines }
    }
}

impl TransferEncoder for Transfers {
    fn write(&mut self, rows: TransferRows<'_>) -> Result<()> {
        let lines = &self.lines;
        self.text.write_rows(rows.len(), &|numbers, out| {
            let mut line = RowBuffer::new();
            for (transfer, hop) in numbers.map(|number| rows.get(number)) {
                lines.push(&mut line, transfer, hop);
                out.extend_from_slice(line.as_bytes());
            }
            Ok(())
        })
    }

    fn finish(self: Box<Self>, metadata: Option<&Metadata>) -> Result<Written> {
        self.text.finish(metadata)
    }
}

/// Appends the header line of transfers.
fn header(out: &mut Vec<u8>, schema: Schema, with_hop: bool) {
    let hop = with_hop.then_some(HOP);
    for (i, name) in schema.text_columns().into_iter().chain(hop).enumerate() {
        if i > 0 {
            out.push(b',');
        }
        out.extend_from_slice(name.as_bytes());
    }
    out.push(b'\n');
}

/// Formats a transfer as a line. No field of it needs quotes.
struct Lines {
    /// The end of a line, by standard and kind: `,erc20,transfer,1`.
    tails: [[Word<48>; Kind::ALL.len()]; TokenStandard::ALL.len()],
}

impl Lines {
    fn new(chain_id: u64) -> Self {
        let mut tails = [[Word::new(""); Kind::ALL.len()]; TokenStandard::ALL.len()];
        for &standard in TokenStandard::ALL {
            for &kind in Kind::ALL {
                tails[standard as usize][kind as usize] =
                    Word::new(&format!(",{standard},{kind},{chain_id}"));
            }
        }
        Self { tails }
    }

    /// Replaces `line` by the line of a transfer. It must be new or a line of this formatter.
    #[inline]
    fn push(&self, line: &mut RowBuffer, transfer: &Transfer, hop: Option<u32>) {
        // Destructured, so that a new field cannot be forgotten.
        let Transfer {
            block_number,
            block_timestamp,
            transaction_index,
            log_index,
            sub_index,
            transaction_hash,
            token_address,
            from_address,
            to_address,
            value,
            token_id,
            token_standard,
            kind,
        } = transfer;
        line.begin((*block_number, *block_timestamp), |line| {
            line.integer(*block_number);
            line.byte(b',');
            if let Some(time) = block_timestamp {
                line.integer(time.seconds());
            }
            line.byte(b',');
        });
        line.integer(*transaction_index);
        line.byte(b',');
        if let Some(log_index) = log_index {
            line.integer(*log_index);
        }
        line.byte(b',');
        line.integer(*sub_index);
        line.byte(b',');
        if let Some(hash) = transaction_hash {
            line.text(b"0x");
            line.hex(hash);
        }
        line.byte(b',');
        if let Some(token_address) = token_address {
            line.text(b"0x");
            line.hex(token_address);
        }
        line.text(b",0x");
        line.hex(from_address);
        line.text(b",0x");
        line.hex(to_address);
        line.byte(b',');
        line.decimal(value.as_limbs());
        line.byte(b',');
        if let Some(token_id) = token_id {
            line.decimal(token_id.as_limbs());
        }
        line.word(&self.tails[*token_standard as usize][*kind as usize]);
        if let Some(hop) = hop {
            line.byte(b',');
            line.integer(hop);
        }
        line.byte(b'\n');
    }
}

/// Appends any text: printable, quoted if necessary, and never a formula to a spreadsheet
/// (an apostrophe goes before `= + - @`).
pub(crate) fn push_text(out: &mut Vec<u8>, text: &str) {
    let text = printable(text);
    let formula = text
        .trim_start()
        .starts_with(['=', '+', '-', '@', '＝', '＋', '－', '＠']);
    let quoted = text.contains([',', '"']);
    if quoted {
        out.push(b'"');
    }
    if formula {
        out.push(b'\'');
    }
    for (i, piece) in text.split('"').enumerate() {
        if i > 0 {
            out.extend_from_slice(b"\"\"");
        }
        out.extend_from_slice(piece.as_bytes());
    }
    if quoted {
        out.push(b'"');
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{any_transfer, longest_transfer, text_fields};
    use proptest::prelude::*;
    use txgraph_transfers::BlockTime;

    proptest! {
        #[test]
        fn rows_agree_with_the_csv_crate(
            transfers in prop::collection::vec((any_transfer(), prop::option::of(any::<u32>())), 0..20),
            chain_id: u64,
        ) {
            let mut ours = RowBuffer::new();
            for (mut one, hop) in transfers {
                if hop.is_some() {
                    // Few blocks, so that rows share the text of their block.
                    one.block_number %= 2;
                    let time = one.block_timestamp.map(|time| time.seconds() % 2);
                    one.block_timestamp = time.and_then(BlockTime::new);
                }
                Lines::new(chain_id).push(&mut ours, &one, hop);
                let mut naive = ::csv::Writer::from_writer(Vec::new());
                let fields = text_fields(&one, chain_id).into_iter().map(Option::unwrap_or_default);
                naive.write_record(fields.chain(hop.map(|hop| hop.to_string()))).unwrap();
                prop_assert_eq!(ours.as_bytes(), naive.into_inner().unwrap());
            }
        }

        #[test]
        fn text_reads_back(text: String) {
            let mut line = b"before,".to_vec();
            push_text(&mut line, &text);
            line.extend_from_slice(b",after\n");
            let mut reader = ::csv::ReaderBuilder::new().has_headers(false).from_reader(&line[..]);
            let rows: Vec<_> = reader.records().map(Result::unwrap).collect();
            prop_assert_eq!(rows.len(), 1);
            let read = &rows[0][1];
            let plain = read.strip_prefix('\'').filter(|_| !text.starts_with('\'')).unwrap_or(read);
            prop_assert_eq!(plain, printable(&text));
            prop_assert!(!read.trim_start().starts_with(['=', '+', '-', '@', '\t', '\r', '\n']));
        }
    }

    #[test]
    fn longest_row_fits_the_line() {
        let mut line = RowBuffer::new();
        Lines::new(u64::MAX).push(&mut line, &longest_transfer(), Some(u32::MAX));
        assert!(line.as_bytes().len() < 600);
    }

    #[test]
    fn formulas_get_an_apostrophe() {
        let cases = [
            (
                "=HYPERLINK(\"http://x\")",
                "\"'=HYPERLINK(\"\"http://x\"\")\"",
            ),
            ("+1", "'+1"),
            ("-1+1", "'-1+1"),
            ("@SUM(A1)", "'@SUM(A1)"),
            ("\t=1", "' =1"),
            ("a,b", "\"a,b\""),
            ("a\nb", "a b"),
            ("USDC", "USDC"),
            ("", ""),
        ];
        for (text, field) in cases {
            let mut out = Vec::new();
            push_text(&mut out, text);
            assert_eq!(String::from_utf8(out).unwrap(), field);
        }
    }

    #[test]
    fn header_has_the_names_of_the_schema() {
        let mut out = Vec::new();
        header(&mut out, Schema::Cryo, true);
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "block_number,timestamp,transaction_index,log_index,sub_index,transaction_hash,erc20,\
             from_address,to_address,value_string,token_id_string,token_standard,kind,chain_id,hop\n"
        );
    }
}
