//! Addresses and amounts with their names, in pages of text.

use super::token_notes;
use crate::{
    document::Grid,
    name_args::TokenListArgs,
    output::Terminal,
    table::{self, Page, Style, View},
    transfer_tables,
};
use std::collections::BTreeSet;
use txgraph::{
    Address, AmountSum, Asset, BlockRanges, Labels, NetChange, Result, Source, Table, TokenList,
    Transfer, U256, printable,
};

/// The names of addresses and tokens.
pub(super) struct Names {
    pub(super) chain_id: u64,
    pub(super) tokens: TokenList,
    pub(super) labels: Labels,
}

impl Names {
    /// Completes the token lists by what other tokens claim, and prints what is only a claim.
    pub(super) fn read(
        lists: &TokenListArgs,
        labels: Labels,
        source: &Source,
        tokens: impl IntoIterator<Item = Address>,
        blocks: &BlockRanges,
        terminal: &Terminal,
    ) -> Result<Self> {
        let list = source.token_list(&lists.token_list)?;
        Ok(Self {
            chain_id: source.chain()?.chain_id,
            tokens: token_notes::named(list, source, tokens, blocks, terminal)?,
            labels,
        })
    }

    /// Prints tables of movements with these names.
    pub(super) fn print(&self, tables: &[&Table], terminal: &Terminal) -> Result<()> {
        let view = transfer_tables::view(&self.tokens, &self.labels, self.chain_id, terminal);
        let pages = tables.iter().map(|table| table::draw(table, &view));
        transfer_tables::print(&Page::join(pages.collect()), terminal)?;
        if tables.iter().any(|table| table.rows.len() > view.rows_max) {
            transfer_tables::note_stopped(terminal, "rows");
        }
        Ok(())
    }

    /// A table of movements with these names, for a document.
    pub(super) fn grid(&self, table: &Table) -> Grid {
        let view = View {
            style: Style::Movements,
            ..View::measures(&self.tokens, &self.labels, self.chain_id, None)
        };
        let (header, rows) = table::texts(table, &view);
        Grid {
            title: table.title.clone(),
            header,
            rows,
        }
    }

    /// An address with its name.
    pub(super) fn address(&self, address: Address) -> String {
        named(&self.labels, address)
    }

    /// An address with its name, or with its symbol if it is a token.
    pub(super) fn contract(&self, address: Address) -> String {
        match self.tokens.symbol(self.chain_id, address) {
            Some(symbol) if self.labels.name(address).is_none() => {
                format!("{address} [{}]", printable(symbol))
            }
            _ => self.address(address),
        }
    }

    /// A line for each of these tokens whose symbol is only its own claim.
    pub(super) fn claims(&self, tokens: impl IntoIterator<Item = Address>) -> String {
        let tokens: BTreeSet<Address> = tokens.into_iter().collect();
        let claims = tokens.into_iter().filter_map(|token| {
            let symbol = self.tokens.symbol(self.chain_id, token)?;
            let is_claim = self.tokens.is_claim(self.chain_id, token);
            is_claim.then(|| format!("  {} of {token}\n", printable(symbol)))
        });
        let lines: String = claims.collect();
        match lines.is_empty() {
            true => lines,
            false => format!("\nsymbols that only the tokens claim\n{lines}"),
        }
    }

    /// An amount in units of its token.
    pub(super) fn amount(&self, asset: &Asset, amount: U256) -> String {
        let sum = AmountSum::from_limbs_slice(amount.as_limbs());
        self.tokens.format_amount(self.chain_id, asset, sum)
    }

    /// An amount in units of its token, with the id of an item.
    pub(super) fn item(&self, asset: &Asset, id: Option<U256>, amount: U256) -> String {
        let text = self.amount(asset, amount);
        match id {
            Some(id) => format!("{text} (id {id})"),
            None => text,
        }
    }

    /// Who moved an item to whom.
    pub(super) fn movement(&self, transfer: &Transfer) -> String {
        let [from, to] = [transfer.from_address, transfer.to_address].map(|it| self.address(it));
        let item = self.item(&Asset::of(transfer), transfer.token_id, transfer.value);
        format!("{from} -> {to}  {item}  {}", transfer.kind)
    }

    /// The address whose balance changed, and by how much. `transfers` changed it.
    pub(super) fn net_change<'a>(
        &self,
        change: &NetChange,
        transfers: impl IntoIterator<Item = &'a Transfer>,
    ) -> String {
        let sign = if change.is_gain { '+' } else { '-' };
        let item = self.item(
            &moved_asset(transfers, change.token),
            change.token_id,
            change.amount,
        );
        format!("{}  {sign}{item}", self.address(change.address))
    }
}

/// The asset of a token that moved.
pub(super) fn moved_asset<'a>(
    transfers: impl IntoIterator<Item = &'a Transfer>,
    token: Option<Address>,
) -> Asset {
    let mut transfers = transfers.into_iter();
    let moved = transfers.find(|it| it.token_address == token);
    moved.map_or(Asset::NATIVE, Asset::of)
}

pub(super) fn named(labels: &Labels, address: Address) -> String {
    match labels.name(address) {
        Some(name) => format!("{address} [{}]", printable(name)),
        None => address.to_string(),
    }
}
