//! Requests to the consensus layer (EIP-7685): deposits from logs, all others from contracts of
//! the protocol.

use alloy_eips::{
    eip6110::DEPOSIT_REQUEST_TYPE,
    eip7002::{WITHDRAWAL_REQUEST_PREDEPLOY_ADDRESS, WITHDRAWAL_REQUEST_TYPE},
    eip7251::{CONSOLIDATION_REQUEST_PREDEPLOY_ADDRESS, CONSOLIDATION_REQUEST_TYPE},
    eip7685::Requests,
};
use alloy_primitives::{Address, B256, Bytes, Log, address, b256};
use txgraph_evm::Fork;

/// `DepositEvent(bytes,bytes,bytes,bytes,bytes)`.
const DEPOSIT_EVENT: B256 =
    b256!("649bbc62d0e31342afea4e5cd82d4049e7e1ee912fc0889aa790803be39038c5");

/// The fields of a deposit log as (offset, length). The data begins with the five offsets.
/// At each offset is the length of the field, then its bytes, padded.
const DEPOSIT_FIELDS: [(usize, usize); 5] = [(160, 48), (256, 32), (320, 8), (384, 96), (512, 8)];
/// Bytes of the data of a deposit log.
const DEPOSIT_LEN: usize = 576;

/// The requests of a block, or the fault that makes the block invalid. `None` before Prague.
pub type BlockRequests = Result<Option<Requests>, RequestFault>;

/// Why the requests of a block cannot be computed (EIP-7685). Such a block is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequestFault {
    /// A contract that collects requests has no code.
    #[error("system contract {0} has no code")]
    NoContract(Address),
    /// The call of a system contract failed.
    #[error("system contract {0} failed")]
    Failed(Address),
    /// A log of the deposit contract does not have the layout of EIP-6110.
    #[error("a deposit log is malformed")]
    Deposit,
}

/// The contracts that are called after the transactions, with the first fork that calls them and
/// the type of their requests (EIP-7002, 7251, 8282).
pub(crate) const CONTRACTS: [(Fork, u8, Address); 4] = [
    (
        Fork::Prague,
        WITHDRAWAL_REQUEST_TYPE,
        WITHDRAWAL_REQUEST_PREDEPLOY_ADDRESS,
    ),
    (
        Fork::Prague,
        CONSOLIDATION_REQUEST_TYPE,
        CONSOLIDATION_REQUEST_PREDEPLOY_ADDRESS,
    ),
    (
        Fork::Amsterdam,
        0x03,
        address!("0000bff46984e3725691fa540a8c7589300d8282"),
    ),
    (
        Fork::Amsterdam,
        0x04,
        address!("000064d678505ad48f8ccb093bc65613800e8282"),
    ),
];

/// Collects deposits from the logs of a block (EIP-6110).
#[derive(Debug)]
pub struct Deposits {
    contract: Address,
    requests: Vec<u8>,
    malformed: bool,
}

impl Deposits {
    /// Starts without deposits. `contract` is the deposit contract.
    pub fn new(contract: Address) -> Self {
        Self {
            contract,
            requests: Vec::new(),
            malformed: false,
        }
    }

    /// Adds the deposits in the logs of a transaction.
    pub fn collect(&mut self, logs: &[Log]) {
        for log in logs {
            if log.address == self.contract && log.topics().first() == Some(&DEPOSIT_EVENT) {
                self.malformed |= self.deposit(&log.data.data).is_none();
            }
        }
    }

    /// Adds one deposit. `None` means that the log is malformed.
    fn deposit(&mut self, data: &[u8]) -> Option<()> {
        if data.len() != DEPOSIT_LEN {
            return None;
        }
        for (field, (at, len)) in DEPOSIT_FIELDS.into_iter().enumerate() {
            if word(data, 32 * field)? != at || word(data, at)? != len {
                return None;
            }
            self.requests
                .extend_from_slice(data.get(at + 32..at + 32 + len)?);
        }
        Some(())
    }

    /// Returns all requests of the block: the deposits, then `others` with their types.
    pub fn requests(self, others: Vec<(u8, Bytes)>) -> Result<Requests, RequestFault> {
        if self.malformed {
            return Err(RequestFault::Deposit);
        }
        let mut requests = Requests::default();
        requests.push_request_with_type(DEPOSIT_REQUEST_TYPE, self.requests);
        for (kind, output) in others {
            requests.push_request_with_type(kind, output);
        }
        Ok(requests)
    }
}

/// Reads a word, if it fits a `usize`.
fn word(data: &[u8], at: usize) -> Option<usize> {
    let (high, low) = data.get(at..at + 32)?.split_at(24);
    let low = u64::from_be_bytes(low.try_into().ok()?);
    (high.iter().all(|byte| *byte == 0)).then(|| usize::try_from(low).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_primitives::keccak256;

    const CONTRACT: Address = Address::repeat_byte(0xdd);

    fn deposit() -> Vec<u8> {
        let mut data = Vec::new();
        let word = |n: usize| {
            let mut word = [0; 32];
            word[24..].copy_from_slice(&(n as u64).to_be_bytes());
            word
        };
        data.extend(DEPOSIT_FIELDS.iter().flat_map(|(at, _)| word(*at)));
        for (n, (_, len)) in (1..).zip(DEPOSIT_FIELDS) {
            data.extend(word(len));
            data.extend(vec![n; len]);
            data.resize(data.len().next_multiple_of(32), 0);
        }
        data
    }

    fn requests(data: Vec<u8>) -> Result<Requests, RequestFault> {
        let log = Log::new_unchecked(CONTRACT, vec![DEPOSIT_EVENT], data.into());
        let other = Log::new_unchecked(Address::ZERO, vec![DEPOSIT_EVENT], Bytes::new());
        let mut deposits = Deposits::new(CONTRACT);
        deposits.collect(&[other, log]);
        deposits.requests(vec![(1, Bytes::new()), (2, Bytes::from_static(b"x"))])
    }

    #[test]
    fn deposits_are_their_fields_concatenated() {
        assert_eq!(
            DEPOSIT_EVENT,
            keccak256("DepositEvent(bytes,bytes,bytes,bytes,bytes)")
        );
        let requests = requests(deposit()).unwrap().take();
        assert_eq!(requests.len(), 2, "requests without data are omitted");
        assert_eq!(requests[0].len(), 1 + 48 + 32 + 8 + 96 + 8);
        assert_eq!((requests[0][0], requests[0][1], requests[0][49]), (0, 1, 2));
        assert_eq!(requests[1][..], *b"\x02x");
    }

    #[test]
    fn rejects_malformed_deposits() {
        assert_eq!(requests(Vec::new()).unwrap_err(), RequestFault::Deposit);
        let mut shifted = deposit();
        shifted[31] += 32;
        assert_eq!(requests(shifted).unwrap_err(), RequestFault::Deposit);
    }
}
