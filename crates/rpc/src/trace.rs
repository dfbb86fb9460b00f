//! Movements of the native coin inside of transactions, from the traces of a server.
//!
//! Both forms of traces become the same call frames. Which of them move something is the rule of all
//! sources: [`FrameMovements`].

use crate::wire::Transaction;
use alloy_primitives::{Address, B256, U256};
use serde::{Deserialize, de::IgnoredAny};
use txgraph_transfers::{CallFrame, FrameKind, FrameMovement, FrameMovements};

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

/// The call frames of a transaction, in the order of execution, without reverted ones.
#[derive(Debug, Default, Deserialize)]
#[serde(try_from = "CallTrace")]
pub(crate) struct Traced {
    /// Hash of the transaction, if the server returns it.
    hash: Option<B256>,
    /// Sender, recipient and value of the transaction.
    root: (Address, Option<Address>, U256),
    frames: Vec<CallFrame>,
}

impl Traced {
    /// Whether this is the trace of a transaction. Some servers return no hashes.
    pub(crate) fn is_of(&self, transaction: &Transaction) -> bool {
        let (from, to, value) = self.root;
        match self.hash {
            Some(hash) => hash == transaction.hash,
            None => {
                from == transaction.from
                    && value == transaction.value
                    && (transaction.to.is_none() || transaction.to == to)
            }
        }
    }

    /// The movements, except for the value of the transaction.
    pub(crate) fn movements(&self, is_cancun: bool) -> impl Iterator<Item = FrameMovement> {
        let mut movements = FrameMovements::new(!is_cancun);
        let frames = self.frames.iter();
        frames.filter_map(move |frame| movements.next(frame))
    }

    /// Adds a frame and the frames in it, which a reverted frame undoes.
    fn add(&mut self, frame: &Frame, depth: usize) -> Result<(), String> {
        if frame.error.is_some() {
            return Ok(());
        }
        let lacks = |field: &str| format!("a {} has no field `{field}`", frame.kind);
        let kind = match frame.kind.as_str() {
            "CALL" => FrameKind::Call,
            "CREATE" | "CREATE2" => FrameKind::Create,
            // Of a contract that names itself as the beneficiary, servers may name none.
            "SELFDESTRUCT" if frame.to.is_none() => return Ok(()),
            "SELFDESTRUCT" => FrameKind::Destroy,
            _ => FrameKind::Borrow,
        };
        self.frames.push(CallFrame {
            kind,
            from: frame.from,
            to: match kind {
                FrameKind::Borrow => frame.to.unwrap_or_default(),
                _ => frame.to.ok_or_else(|| lacks("to"))?,
            },
            value: match kind {
                FrameKind::Borrow => U256::ZERO,
                _ => frame.value.ok_or_else(|| lacks("value"))?,
            },
            failed: false,
            depth,
        });
        let mut calls = frame.calls.iter();
        calls.try_for_each(|call| self.add(call, depth + 1))
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
            root: (frame.from, frame.to, frame.value.unwrap_or_default()),
            ..Self::default()
        };
        traced.add(&frame, 0)?;
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

impl FlatTrace {
    fn place(&self) -> (Option<usize>, &[u32]) {
        (self.transaction_position, &self.trace_address)
    }
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
        let is_torn = |trace: &FlatTrace| {
            trace.transaction_hash.is_some() && trace.transaction_position.is_none()
        };
        if traces.iter().any(is_torn) {
            return Err("a trace has no field `transactionPosition`".to_owned());
        }
        // Rewards of blocks belong to no transaction.
        traces.retain(|trace| trace.transaction_position.is_some());
        traces.sort_by(|a, b| a.place().cmp(&b.place()));
        if let Some(twice) = traces.windows(2).find(|it| it[0].place() == it[1].place()) {
            return Err(format!(
                "the trace {:?} is there twice",
                twice[0].trace_address
            ));
        }
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
    let action = &traces[0].action;
    let root = (action.from, action.to, action.value);
    let mut traced = Traced {
        hash: traces[0].transaction_hash,
        root: (
            root.0.unwrap_or_default(),
            root.1,
            root.2.unwrap_or_default(),
        ),
        ..Traced::default()
    };
    let mut reverted: Option<&[u32]> = None;
    let mut around = 0;
    for trace in traces {
        let address = trace.trace_address.as_slice();
        let depth = address.len();
        if depth > around {
            return Err(format!("the trace around {address:?} is missing"));
        }
        around = depth + 1;
        if reverted.is_some_and(|frame| address.starts_with(frame)) {
            continue;
        }
        if trace.error.is_some() {
            reverted = Some(address);
            continue;
        }
        let action = &trace.action;
        let lacks = |name: &str| format!("a trace of type {} has no field `{name}`", trace.kind);
        let need = |field: Option<Address>, name: &str| field.ok_or_else(|| lacks(name));
        let need_value = |value: Option<U256>, name: &str| value.ok_or_else(|| lacks(name));
        let (kind, from, to, value) = match (trace.kind.as_str(), action.call_type.as_deref()) {
            ("call", Some("call")) => (
                FrameKind::Call,
                need(action.from, "from")?,
                need(action.to, "to")?,
                need_value(action.value, "value")?,
            ),
            ("create", _) => (
                FrameKind::Create,
                need(action.from, "from")?,
                need(
                    trace.result.as_ref().and_then(|it| it.address),
                    "result.address",
                )?,
                need_value(action.value, "value")?,
            ),
            ("suicide" | "selfdestruct", _) => {
                let Some(beneficiary) = action.refund_address else {
                    continue;
                };
                let contract = need(action.address, "address")?;
                let balance = need_value(action.balance, "balance")?;
                (FrameKind::Destroy, contract, beneficiary, balance)
            }
            _ => {
                let from = action.from.unwrap_or_default();
                (FrameKind::Borrow, from, Address::ZERO, U256::ZERO)
            }
        };
        traced.frames.push(CallFrame {
            kind,
            from,
            to,
            value,
            failed: false,
            depth,
        });
    }
    Ok(traced)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};
    use txgraph_transfers::Kind;

    fn name(letter: u8) -> Address {
        Address::repeat_byte(letter)
    }

    /// a calls b with value; b destroys itself in its own favor, and a reverted call to c.
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
            let value = |it: FrameMovement| (it.value.to::<u64>(), it.kind);
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
        let flat = |change: fn(&mut Vec<Value>)| {
            let mut flat = flat_calls();
            change(flat.as_array_mut().unwrap());
            serde_json::from_value::<FlatTraces>(flat)
                .unwrap_err()
                .to_string()
        };
        let error = flat(|all| {
            let numbered = all.iter_mut().filter(|it| it["transactionPosition"] == 0);
            numbered.for_each(|it| it["transactionPosition"] = 5.into());
        });
        assert!(error.contains("has no trace"), "{error}");
        let error = flat(|all| drop(all.remove(0)));
        assert!(error.contains("the trace around [0] is missing"), "{error}");
        let error = flat(|all| all.push(all[1].clone()));
        assert!(error.contains("the trace [0] is there twice"), "{error}");
    }
}
