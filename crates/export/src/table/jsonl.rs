//! One JSON object per line.

use super::RowEncoder;
use crate::{
    Column, Metadata, Result, Value, Written, output::Output, text_output::TextOutput,
    value::push_object,
};

/// Encodes rows of typed values.
pub(crate) struct Rows {
    columns: Vec<Column>,
    text: TextOutput,
}

impl Rows {
    pub(crate) fn new(columns: Vec<Column>, output: Output) -> Self {
        let text = TextOutput::new(output);
        Self { columns, text }
    }
}

impl RowEncoder for Rows {
    fn push(&mut self, row: &[Value<'_>]) -> Result<()> {
        let names = self.columns.iter().map(|column| &*column.name);
        push_object(&mut self.text.buffer, names.zip(row));
        self.text.buffer.push(b'\n');
        self.text.end_row()
    }

    fn finish(self: Box<Self>, metadata: Option<&Metadata>) -> Result<Written> {
        self.text.finish(metadata)
    }
}
