//! Movements of the native coin inside of transactions, from the traces of a server.
//!
//! Both forms of traces become the same list. Its rules are those of `replay`: what is reverted
//! does not move, and calls come in the order in which they are entered.

use alloy_primitives::{Address, B256, U256};
use serde::{Deserialize, de::IgnoredAny};
use txgraph_transfers::Kind;

/// The traces of a block by geth's `callTracer`, one for each transaction.
#[derive(Debug, Deserialize)]
pub(crate) struct CallTraces(pub(crate) Vec<Traced>);

/// The traces of a block in the form of `trace_block`.
#[derive(Debug, Deserialize)]
#[serde(try_from = "Vec<FlatTrace>")]
pub(crate) struct FlatTraces {
    /// The block; `None` without transactions.
    pub(crate) block_hash: Option<B256>,
    /// One for each transaction.
    pub(crate) transactions: Vec<Traced>,
}

/// The movements inside of a transaction.
#[derive(Debug, Default, Deserialize)]
#[serde(try_from = "CallTrace")]
pub(crate) struct Traced {
    /// Hash of the transaction, if the server returns it.
    pub(crate) hash: Option<B256>,
    movements: Vec<Movement>,
    /// Contracts that were created.
    created: Vec<Address>,
}

/// A movement of the native coin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Movement {
    pub(crate) from: Address,
    pub(crate) to: Address,
    pub(crate) value: U256,
    pub(crate) kind: Kind,
}

impl Traced {
    /// The movements, except for the value of the transaction. Zero movements are left out.
    ///
    /// A contract that names itself as the beneficiary of its destruction burns its balance,
    /// provided that it is deleted. Since Cancun this needs that it was created in the same
    /// transaction (EIP-6780).
    pub(crate) fn movements(&self, is_cancun: bool) -> impl Iterator<Item = Movement> {
        let burns = move |of: &Movement| !is_cancun || self.created.contains(&of.from);
        self.movements
            .iter()
            .filter(move |it| !it.value.is_zero() && (it.kind != Kind::Burn || burns(it)))
            .copied()
    }

    fn call(&mut self, from: Address, to: Address, value: U256) {
        self.movements.push(Movement {
            from,
            to,
            value,
            kind: Kind::Internal,
        });
    }

    fn destruction(&mut self, contract: Address, beneficiary: Address, balance: U256) {
        let (to, kind) = match beneficiary == contract {
            true => (Address::ZERO, Kind::Burn),
            false => (beneficiary, Kind::Internal),
        };
        self.movements.push(Movement {
            from: contract,
            to,
            value: balance,
            kind,
        });
    }

    /// Adds a frame and the frames in it, which a reverted frame undoes.
    fn frame(&mut self, frame: &Frame, is_root: bool) -> Result<(), String> {
        if frame.error.is_some() {
            return Ok(());
        }
        let value = frame.value.unwrap_or_default();
        let to = || {
            frame
                .to
                .ok_or_else(|| format!("a {} has no field `to`", frame.kind))
        };
        match frame.kind.as_str() {
            "CALL" if !is_root => self.call(frame.from, to()?, value),
            "CREATE" | "CREATE2" => {
                let to = to()?;
                self.created.push(to);
                if !is_root {
                    self.call(frame.from, to, value);
                }
            }
            "SELFDESTRUCT" => self.destruction(frame.from, to()?, value),
            _ => {}
        }
        frame
            .calls
            .iter()
            .try_for_each(|call| self.frame(call, false))
    }
}

/// The trace of a transaction by `callTracer`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CallTrace {
    #[serde(default)]
    tx_hash: Option<B256>,
    #[serde(default)]
    result: Option<Frame>,
    #[serde(default)]
    error: Option<String>,
}

#[derive(Deserialize)]
struct Frame {
    #[serde(rename = "type")]
    kind: String,
    from: Address,
    #[serde(default)]
    to: Option<Address>,
    #[serde(default)]
    value: Option<U256>,
    #[serde(default)]
    error: Option<IgnoredAny>,
    #[serde(default)]
    calls: Vec<Frame>,
}

impl TryFrom<CallTrace> for Traced {
    type Error = String;

    fn try_from(trace: CallTrace) -> Result<Self, String> {
        let CallTrace {
            tx_hash,
            result,
            error,
        } = trace;
        let frame = result.ok_or_else(|| match error {
            Some(error) => format!("a transaction was not traced: {error}"),
            None => "a transaction was not traced".to_owned(),
        })?;
        let mut traced = Self {
            hash: tx_hash,
            ..Self::default()
        };
        traced.frame(&frame, true)?;
        Ok(traced)
    }
}

/// One call in the form of `trace_block`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct FlatTrace {
    action: Action,
    #[serde(rename = "type")]
    kind: String,
    trace_address: Vec<u32>,
    block_hash: B256,
    #[serde(default)]
    transaction_hash: Option<B256>,
    #[serde(default)]
    transaction_position: Option<usize>,
    #[serde(default)]
    error: Option<IgnoredAny>,
    #[serde(default)]
    result: Option<Created>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Action {
    call_type: Option<String>,
    from: Option<Address>,
    to: Option<Address>,
    value: Option<U256>,
    address: Option<Address>,
    refund_address: Option<Address>,
    balance: Option<U256>,
}

#[derive(Deserialize)]
struct Created {
    #[serde(default)]
    address: Option<Address>,
}

impl TryFrom<Vec<FlatTrace>> for FlatTraces {
    type Error = String;

    fn try_from(mut traces: Vec<FlatTrace>) -> Result<Self, String> {
        let block_hash = traces.first().map(|trace| trace.block_hash);
        if traces
            .iter()
            .any(|trace| Some(trace.block_hash) != block_hash)
        {
            return Err("traces of several blocks".to_owned());
        }
        // Rewards of blocks belong to no transaction.
        traces.retain(|trace| trace.transaction_position.is_some());
        traces.sort_by(|a, b| {
            let key = |trace: &FlatTrace| (trace.transaction_position, trace.trace_address.clone());
            key(a).cmp(&key(b))
        });
        let mut transactions: Vec<Traced> = Vec::new();
        for of_one in traces.chunk_by(|a, b| a.transaction_position == b.transaction_position) {
            if of_one[0].transaction_position != Some(transactions.len()) {
                return Err(format!("transaction {} has no trace", transactions.len()));
            }
            transactions.push(flat(of_one)?);
        }
        Ok(Self {
            block_hash,
            transactions,
        })
    }
}

/// The movements of one transaction, whose traces are in the order of their addresses.
fn flat(traces: &[FlatTrace]) -> Result<Traced, String> {
    let mut traced = Traced {
        hash: traces[0].transaction_hash,
        ..Traced::default()
    };
    let mut reverted: Option<&[u32]> = None;
    for trace in traces {
        let address = trace.trace_address.as_slice();
        if reverted.is_some_and(|frame| address.starts_with(frame)) {
            continue;
        }
        if trace.error.is_some() {
            reverted = Some(address);
            continue;
        }
        let is_root = address.is_empty();
        let action = &trace.action;
        let need = |field: Option<Address>, name: &str| {
            field.ok_or_else(|| format!("a trace of type {} has no field `{name}`", trace.kind))
        };
        let value = action.value.unwrap_or_default();
        match (trace.kind.as_str(), action.call_type.as_deref()) {
            ("call", Some("call")) if !is_root => {
                traced.call(need(action.from, "from")?, need(action.to, "to")?, value);
            }
            ("create", _) => {
                let created = trace.result.as_ref().and_then(|result| result.address);
                let created = need(created, "result.address")?;
                traced.created.push(created);
                if !is_root {
                    traced.call(need(action.from, "from")?, created, value);
                }
            }
            ("suicide" | "selfdestruct", _) => traced.destruction(
                need(action.address, "address")?,
                need(action.refund_address, "refundAddress")?,
                action.balance.unwrap_or_default(),
            ),
            _ => {}
        }
    }
    Ok(traced)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn name(letter: u8) -> Address {
        Address::repeat_byte(letter)
    }

    /// a calls b with value; b destroys itself in its own favour, and a reverted call to c.
    fn calls() -> Value {
        let (a, b, c) = (name(0xa), name(0xb), name(0xc));
        json!({"txHash": B256::ZERO, "result": {
        "type": "CALL", "from": a, "to": a, "value": "0x9", "calls": [
            {"type": "CALL", "from": a, "to": b, "value": "0x1", "calls": [
                {"type": "SELFDESTRUCT", "from": b, "to": b, "value": "0x2"}]},
            {"type": "CALL", "from": a, "to": c, "value": "0x3", "error": "execution reverted",
                "calls": [{"type": "CALL", "from": c, "to": b, "value": "0x4"}]},
            {"type": "DELEGATECALL", "from": a, "to": c, "value": "0x5"},
            {"type": "CREATE", "from": a, "to": c, "value": "0x6", "calls": [
                {"type": "SELFDESTRUCT", "from": c, "to": c, "value": "0x6"}]},
            {"type": "CALL", "from": a, "to": c, "value": "0x0"},
        ]}})
    }

    /// The same in the form of `trace_block`, with the reward of the block.
    fn flat_calls() -> Value {
        let (a, b, c) = (name(0xa), name(0xb), name(0xc));
        let trace = |kind: &str, address: &[u32], action: Value| {
            json!({"type": kind, "traceAddress": address, "action": action,
                "blockHash": B256::ZERO, "transactionPosition": 0})
        };
        let call = |from, to, value: &str| json!({"callType": "call", "from": from, "to": to, "value": value});
        let mut reverted = trace("call", &[1], call(a, c, "0x3"));
        reverted["error"] = "Reverted".into();
        let mut created = trace("create", &[3], json!({"from": a, "value": "0x6"}));
        created["result"] = json!({"address": c});
        let suicide = |of, value| json!({"address": of, "refundAddress": of, "balance": value});
        let mut reward = trace("reward", &[], json!({"author": a, "value": "0x7"}));
        reward["transactionPosition"] = Value::Null;
        json!([
            trace("call", &[], call(a, a, "0x9")),
            trace("call", &[0], call(a, b, "0x1")),
            trace("suicide", &[0, 0], suicide(b, "0x2")),
            reverted,
            trace("call", &[1, 0], call(c, b, "0x4")),
            trace(
                "call",
                &[2],
                json!({"callType": "delegatecall", "from": a, "to": c, "value": "0x5"})
            ),
            created,
            trace("suicide", &[3, 0], suicide(c, "0x6")),
            trace("call", &[4], call(a, c, "0x0")),
            reward,
        ])
    }

    #[test]
    fn both_forms_have_the_same_movements() {
        let traced: Traced = serde_json::from_value(calls()).unwrap();
        let values = |traced: &Traced, cancun| {
            let movements = traced.movements(cancun);
            let value = |it: Movement| (it.value.to::<u64>(), it.kind);
            movements.map(value).collect::<Vec<_>>()
        };
        let expected = [
            (1, Kind::Internal),
            (2, Kind::Burn),
            (6, Kind::Internal),
            (6, Kind::Burn),
        ];
        assert_eq!(values(&traced, false), expected);
        let cancun = [(1, Kind::Internal), (6, Kind::Internal), (6, Kind::Burn)];
        assert_eq!(values(&traced, true), cancun);
        let flat: FlatTraces = serde_json::from_value(flat_calls()).unwrap();
        assert_eq!(flat.transactions.len(), 1);
        for is_cancun in [false, true] {
            let of = |traced: &Traced| traced.movements(is_cancun).collect::<Vec<_>>();
            assert_eq!(of(&flat.transactions[0]), of(&traced));
        }
    }

    #[test]
    fn refuses_incomplete_traces() {
        let refused = |json: Value| serde_json::from_value::<CallTraces>(json).unwrap_err();
        let error = refused(json!([{"error": "execution timeout"}])).to_string();
        assert!(error.contains("execution timeout"), "{error}");
        let error = refused(json!([{"result": {"type": "CREATE", "from": name(1)}}])).to_string();
        assert!(error.contains("`to`"), "{error}");
        let mut flat = flat_calls();
        flat[0]["transactionPosition"] = 5.into();
        let error = serde_json::from_value::<FlatTraces>(flat).unwrap_err();
        assert!(error.to_string().contains("has no trace"), "{error}");
    }
}
