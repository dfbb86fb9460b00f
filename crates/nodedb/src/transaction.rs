//! Transactions (`reth-core: crates/codecs/src/alloy/transaction/`), decoded into the types
//! of `alloy-consensus`. A row has neither hash nor sender: the hash is the keccak of the
//! EIP-2718 encoding, and the sender is stored elsewhere or recovered from the signature.

use crate::{
    Deposit, StoredTransaction,
    compact::{Flags, Malformed, Reader},
    tx_type,
    zstd_rows::Unzstd,
};
use alloy_consensus::{
    EthereumTxEnvelope, Signed, TxEip1559, TxEip2930, TxEip4844, TxEip7702, TxLegacy, Typed2718,
};
use alloy_eips::{
    eip2930::{AccessList, AccessListItem},
    eip7702::{Authorization, SignedAuthorization},
};
use alloy_primitives::{Address, B256, Bytes, Signature, TxKind, U256};
use txgraph_base::ChainFamily;

/// A transaction without signature, input and lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transaction {
    /// Keccak-256 of the EIP-2718 encoding.
    pub hash: B256,
    /// EIP-2718 type: 0 to 4, 0x7d or 0x7e.
    pub tx_type: u8,
    /// The number of earlier transactions of the sender. 0 for types 0x7d and 0x7e: the receipt
    /// of a deposit has its nonce.
    pub nonce: u64,
    /// The receiver; `None` for a contract creation.
    pub to: Option<Address>,
    /// The value in wei.
    pub value: U256,
    /// `None` for a legacy transaction without replay protection (EIP-155), and for types 0x7d
    /// and 0x7e.
    pub chain_id: Option<u64>,
}

impl From<&StoredTransaction> for Transaction {
    fn from(tx: &StoredTransaction) -> Self {
        Self {
            hash: tx.hash(),
            tx_type: tx.ty(),
            nonce: tx.nonce(),
            to: tx.to(),
            value: tx.value(),
            chain_id: tx.chain_id(),
        }
    }
}

/// Returns the type of a stored transaction without decoding the rest, on a chain of an
/// unknown family.
pub(crate) fn peek_type(row: &[u8], unzstd: &mut Unzstd) -> Result<u8, Malformed> {
    let (_, kind, mut body) = open_row(row, unzstd)?;
    match kind {
        3 => body.byte(),
        _ => tx_type::decode(kind, &mut body, ChainFamily::Ethereum),
    }
}

/// A signature as stored: `r` and `s` are little-endian.
pub(crate) struct StoredSignature<'a> {
    pub(crate) r: &'a [u8; 32],
    pub(crate) s: &'a [u8; 32],
    pub(crate) parity: bool,
}

impl StoredSignature<'_> {
    /// Checks that there is no signature, as for transactions of types 0x7d and 0x7e.
    fn check_absent(&self) -> Result<(), Malformed> {
        if self.parity || *self.r != [0; 32] || *self.s != [0; 32] {
            return Err("a transaction without signer has a signature");
        }
        Ok(())
    }
}

impl From<StoredSignature<'_>> for Signature {
    fn from(StoredSignature { r, s, parity }: StoredSignature<'_>) -> Self {
        Self::new(U256::from_le_bytes(*r), U256::from_le_bytes(*s), parity)
    }
}

/// Returns signature, type bits and the decompressed rest of a stored row.
pub(crate) fn open_row<'a>(
    row: &'a [u8],
    unzstd: &'a mut Unzstd,
) -> Result<(StoredSignature<'a>, usize, Reader<'a>), Malformed> {
    let mut reader = Reader::new(row);
    let mut flags = Flags::read(&mut reader, 1)?;
    let (parity, kind, compressed) = (flags.flag(), flags.next(2), flags.flag());
    flags.finish()?;
    let signature = StoredSignature {
        r: reader.array()?,
        s: reader.array()?,
        parity,
    };
    if compressed {
        reader = Reader::new(unzstd.decompress(reader.rest())?);
    }
    Ok((signature, kind, reader))
}

/// Decodes a stored row.
pub(crate) fn decode(
    row: &[u8],
    family: ChainFamily,
    unzstd: &mut Unzstd,
) -> Result<StoredTransaction, Malformed> {
    let (signature, kind, mut reader) = open_row(row, unzstd)?;
    let tx_type = tx_type::decode(kind, &mut reader, family)?;
    if matches!(tx_type, tx_type::OP_DEPOSIT | tx_type::OP_POST_EXEC) {
        signature.check_absent()?;
        return Ok(match tx_type {
            tx_type::OP_DEPOSIT => StoredTransaction::Deposit(deposit(reader)?),
            _ => StoredTransaction::PostExec(input(reader)),
        });
    }
    let signature = signature.into();
    // `From` would compute the hash at once, which most callers do not need.
    Ok(StoredTransaction::Signed(match tx_type {
        0 => EthereumTxEnvelope::Legacy(Signed::new_unhashed(legacy(reader)?, signature)),
        1 => EthereumTxEnvelope::Eip2930(Signed::new_unhashed(eip2930(reader)?, signature)),
        2 => EthereumTxEnvelope::Eip1559(Signed::new_unhashed(eip1559(reader)?, signature)),
        3 => EthereumTxEnvelope::Eip4844(Signed::new_unhashed(eip4844(reader)?, signature)),
        _ => EthereumTxEnvelope::Eip7702(Signed::new_unhashed(eip7702(reader)?, signature)),
    }))
}

/// The value of a transaction, which moves if the transaction succeeds, and what a deposit
/// mints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransactionValue {
    /// The number of earlier transactions of the sender. 0 for a deposit, whose receipt has it.
    pub nonce: u64,
    /// The receiver; `None` for a contract creation.
    pub to: Option<Address>,
    /// The value in wei. Zero only for a deposit that mints.
    pub value: U256,
    /// Sender and mint of a deposit of the OP stack.
    pub deposit: Option<DepositValue>,
}

/// The coins that a deposit of the OP stack creates for its sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DepositValue {
    /// The sender.
    pub from: Address,
    /// The wei that are created for the sender, also if the deposit fails.
    pub mint: u128,
}

/// Returns the value of a stored row, unless it is zero, without decoding the rest. What
/// follows the value is not read.
pub(crate) fn transaction_value(
    row: &[u8],
    family: ChainFamily,
    unzstd: &mut Unzstd,
) -> Result<Option<TransactionValue>, Malformed> {
    let (signature, kind, mut reader) = open_row(row, unzstd)?;
    let tx_type = tx_type::decode(kind, &mut reader, family)?;
    match tx_type {
        tx_type::OP_DEPOSIT => {
            signature.check_absent()?;
            return deposit_value(reader);
        }
        tx_type::OP_POST_EXEC => return signature.check_absent().map(|()| None),
        _ => {}
    }
    let flag_bytes = match tx_type {
        0 | 1 => 3,
        3 => 5,
        _ => 4,
    };
    let mut flags = Flags::read(&mut reader, flag_bytes)?;
    // Bytes before the nonce, of the nonce, and between nonce and receiver.
    let (before, nonce, between) = match tx_type {
        0 => (
            usize::from(flags.flag()),
            flags.next(4),
            flags.next(5) + flags.next(4),
        ),
        1 => (flags.next(4), flags.next(4), flags.next(5) + flags.next(4)),
        _ => {
            let [chain_id, nonce, gas_limit, max_fee, max_priority_fee] = fee_widths(&mut flags);
            (chain_id, nonce, gas_limit + max_fee + max_priority_fee)
        }
    };
    // Types 3 and 4 cannot create. Type 3 has a bit here that is always set.
    let call = tx_type == 4 || flags.flag();
    let value = flags.next(6);
    if value == 0 {
        return Ok(None);
    }
    if tx_type == 0 {
        reader.optional_u64(before == 1)?;
    } else {
        reader.take(before)?;
    }
    let nonce = reader.u64(nonce)?;
    reader.take(between)?;
    let to = call.then(|| reader.address()).transpose()?;
    let value = reader.u256(value)?;
    Ok((!value.is_zero()).then_some(TransactionValue {
        nonce,
        to,
        value,
        deposit: None,
    }))
}

/// Decodes a deposit (`CompactTxDeposit` of `op-alloy-consensus`).
fn deposit(mut reader: Reader<'_>) -> Result<Deposit, Malformed> {
    let mut flags = Flags::read(&mut reader, 2)?;
    let (call, has_mint) = (flags.flag(), flags.flag());
    let (value, gas_limit, is_system) = (flags.next(6), flags.next(4), flags.flag());
    flags.finish()?;
    Ok(Deposit {
        source_hash: reader.b256()?,
        from: reader.address()?,
        to: to(&mut reader, call)?,
        mint: mint(&mut reader, has_mint)?,
        value: reader.u256(value)?,
        gas_limit: reader.u64(gas_limit)?,
        is_system,
        input: input(reader),
    })
}

/// Like [`deposit`], without copying the input.
fn deposit_value(mut reader: Reader<'_>) -> Result<Option<TransactionValue>, Malformed> {
    let mut flags = Flags::read(&mut reader, 2)?;
    let (call, has_mint, value) = (flags.flag(), flags.flag(), flags.next(6));
    if !has_mint && value == 0 {
        return Ok(None);
    }
    reader.b256()?;
    let from = reader.address()?;
    let to = to(&mut reader, call)?;
    let mint = mint(&mut reader, has_mint)?;
    let value = reader.u256(value)?;
    Ok(Some(TransactionValue {
        nonce: 0,
        to: to.into_to(),
        value,
        deposit: Some(DepositValue { from, mint }),
    }))
}

/// Reads the mint of a deposit after its presence bit. The writer stores no mint of zero.
fn mint(reader: &mut Reader<'_>, present: bool) -> Result<u128, Malformed> {
    if !present {
        return Ok(0);
    }
    let len = reader.varuint()?;
    match reader.u128(len)? {
        0 => Err("a deposit with a stored mint of zero"),
        mint => Ok(mint),
    }
}

fn little_endian(reader: &mut Reader<'_>) -> Result<U256, Malformed> {
    reader
        .array::<32>()
        .map(|bytes| U256::from_le_bytes(*bytes))
}

fn to(reader: &mut Reader<'_>, call: bool) -> Result<TxKind, Malformed> {
    Ok(if call {
        TxKind::Call(reader.address()?)
    } else {
        TxKind::Create
    })
}

fn input(reader: Reader<'_>) -> Bytes {
    Bytes::copy_from_slice(reader.rest())
}

fn legacy(mut reader: Reader<'_>) -> Result<TxLegacy, Malformed> {
    let mut flags = Flags::read(&mut reader, 3)?;
    let has_chain_id = flags.flag();
    let (nonce, gas_price, gas_limit) = (flags.next(4), flags.next(5), flags.next(4));
    let (call, value) = (flags.flag(), flags.next(6));
    flags.finish()?;
    Ok(TxLegacy {
        chain_id: reader.optional_u64(has_chain_id)?,
        nonce: reader.u64(nonce)?,
        gas_price: reader.u128(gas_price)?,
        gas_limit: reader.u64(gas_limit)?,
        to: to(&mut reader, call)?,
        value: reader.u256(value)?,
        input: input(reader),
    })
}

fn eip2930(mut reader: Reader<'_>) -> Result<TxEip2930, Malformed> {
    let mut flags = Flags::read(&mut reader, 3)?;
    let (chain_id, nonce) = (flags.next(4), flags.next(4));
    let (gas_price, gas_limit) = (flags.next(5), flags.next(4));
    let (call, value) = (flags.flag(), flags.next(6));
    flags.finish()?;
    Ok(TxEip2930 {
        chain_id: reader.u64(chain_id)?,
        nonce: reader.u64(nonce)?,
        gas_price: reader.u128(gas_price)?,
        gas_limit: reader.u64(gas_limit)?,
        to: to(&mut reader, call)?,
        value: reader.u256(value)?,
        access_list: access_list(&mut reader)?,
        input: input(reader),
    })
}

/// The widths of the fields that types 2, 3 and 4 begin with: chain id, nonce, gas limit, and the two fee
/// caps.
pub(crate) const fn fee_widths(flags: &mut Flags) -> [usize; 5] {
    [
        flags.next(4),
        flags.next(4),
        flags.next(4),
        flags.next(5),
        flags.next(5),
    ]
}

fn eip1559(mut reader: Reader<'_>) -> Result<TxEip1559, Malformed> {
    let mut flags = Flags::read(&mut reader, 4)?;
    let [chain_id, nonce, gas_limit, max_fee, max_tip] = fee_widths(&mut flags);
    let (call, value) = (flags.flag(), flags.next(6));
    flags.finish()?;
    Ok(TxEip1559 {
        chain_id: reader.u64(chain_id)?,
        nonce: reader.u64(nonce)?,
        gas_limit: reader.u64(gas_limit)?,
        max_fee_per_gas: reader.u128(max_fee)?,
        max_priority_fee_per_gas: reader.u128(max_tip)?,
        to: to(&mut reader, call)?,
        value: reader.u256(value)?,
        access_list: access_list(&mut reader)?,
        input: input(reader),
    })
}

fn eip4844(mut reader: Reader<'_>) -> Result<TxEip4844, Malformed> {
    let mut flags = Flags::read(&mut reader, 5)?;
    let [chain_id, nonce, gas_limit, max_fee, max_tip] = fee_widths(&mut flags);
    // A placeholder from an older field order; always set.
    let placeholder = flags.flag();
    let (value, max_fee_per_blob_gas) = (flags.next(6), flags.next(5));
    flags.finish()?;
    if !placeholder {
        return Err("a blob transaction without its placeholder bit");
    }
    Ok(TxEip4844 {
        chain_id: reader.u64(chain_id)?,
        nonce: reader.u64(nonce)?,
        gas_limit: reader.u64(gas_limit)?,
        max_fee_per_gas: reader.u128(max_fee)?,
        max_priority_fee_per_gas: reader.u128(max_tip)?,
        to: reader.address()?,
        value: reader.u256(value)?,
        access_list: access_list(&mut reader)?,
        blob_versioned_hashes: hashes(&mut reader)?,
        max_fee_per_blob_gas: reader.u128(max_fee_per_blob_gas)?,
        input: input(reader),
    })
}

fn eip7702(mut reader: Reader<'_>) -> Result<TxEip7702, Malformed> {
    let mut flags = Flags::read(&mut reader, 4)?;
    let [chain_id, nonce, gas_limit, max_fee, max_tip] = fee_widths(&mut flags);
    let value = flags.next(6);
    flags.finish()?;
    Ok(TxEip7702 {
        chain_id: reader.u64(chain_id)?,
        nonce: reader.u64(nonce)?,
        gas_limit: reader.u64(gas_limit)?,
        max_fee_per_gas: reader.u128(max_fee)?,
        max_priority_fee_per_gas: reader.u128(max_tip)?,
        to: reader.address()?,
        value: reader.u256(value)?,
        access_list: access_list(&mut reader)?,
        authorization_list: authorizations(&mut reader)?,
        input: input(reader),
    })
}

/// Reads a count and that many 32-byte words. The bytes are taken before anything is
/// allocated.
fn hashes(reader: &mut Reader<'_>) -> Result<Vec<B256>, Malformed> {
    let count = reader.varuint()?;
    let len = count.checked_mul(32).ok_or("a list is too long")?;
    let (words, _) = reader.take(len)?.as_chunks::<32>();
    Ok(words.iter().map(B256::from).collect())
}

fn access_list(reader: &mut Reader<'_>) -> Result<AccessList, Malformed> {
    let count = reader.varuint()?;
    let mut items = Vec::new();
    for _ in 0..count {
        let mut item = reader.nested()?;
        items.push(AccessListItem {
            address: item.address()?,
            storage_keys: hashes(&mut item)?,
        });
        item.finish()?;
    }
    Ok(AccessList(items))
}

fn authorizations(reader: &mut Reader<'_>) -> Result<Vec<SignedAuthorization>, Malformed> {
    let count = reader.varuint()?;
    let mut items = Vec::new();
    for _ in 0..count {
        let mut item = reader.nested()?;
        let y_parity = item.byte()?;
        let (r, s) = (little_endian(&mut item)?, little_endian(&mut item)?);
        let mut flags = Flags::read(&mut item, 2)?;
        let (chain_id, nonce) = (flags.next(6), flags.next(4));
        flags.finish()?;
        let authorization = Authorization {
            chain_id: item.u256(chain_id)?,
            address: item.address()?,
            nonce: item.u64(nonce)?,
        };
        item.finish()?;
        items.push(SignedAuthorization::new_unchecked(
            authorization,
            y_parity,
            r,
            s,
        ));
    }
    Ok(items)
}
