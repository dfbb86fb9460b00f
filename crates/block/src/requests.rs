//! Requests to the consensus layer (EIP-7685): deposits from logs, withdrawals and
//! consolidations from contracts of the protocol.

use alloy_eips::{
    eip6110::DEPOSIT_REQUEST_TYPE,
    eip7002::{WITHDRAWAL_REQUEST_PREDEPLOY_ADDRESS, WITHDRAWAL_REQUEST_TYPE},
    eip7251::{CONSOLIDATION_REQUEST_PREDEPLOY_ADDRESS, CONSOLIDATION_REQUEST_TYPE},
    eip7685::Requests,
};
use alloy_primitives::{Address, B256, Bytes, Log, b256};

/// `DepositEvent(bytes,bytes,bytes,bytes,bytes)`.
const DEPOSIT_EVENT: B256 =
    b256!("649bbc62d0e31342afea4e5cd82d4049e7e1ee912fc0889aa790803be39038c5");

/// The data of a deposit log: five places, then each field with its length, padded. Of
/// each field the place, which is its length's, and the length.
const DEPOSIT_FIELDS: [(usize, usize); 5] = [(160, 48), (256, 32), (320, 8), (384, 96), (512, 8)];
/// Bytes of a deposit log.
const DEPOSIT_LEN: usize = 576;

/// The requests of a block; none before Prague.
pub type BlockRequests = Result<Option<Requests>, RequestFault>;

/// Why a block has no requests though it should (EIP-7685): no node accepts such a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequestFault {
    /// The call failed.
    #[error("contract {0} of the protocol failed")]
    Failed(Address),
    /// A log of the deposit contract has another form than EIP-6110 says.
    #[error("a deposit log is malformed")]
    Deposit,
}

/// Contracts that are called after the transactions, with the type of their requests.
pub(crate) const CONTRACTS: [(u8, Address); 2] = [
    (
        WITHDRAWAL_REQUEST_TYPE,
        WITHDRAWAL_REQUEST_PREDEPLOY_ADDRESS,
    ),
    (
        CONSOLIDATION_REQUEST_TYPE,
        CONSOLIDATION_REQUEST_PREDEPLOY_ADDRESS,
    ),
];

/// Collects deposits from the logs of a block.
#[derive(Debug)]
pub struct Deposits {
    contract: Address,
    requests: Vec<u8>,
    malformed: bool,
}

impl Deposits {
    /// None yet.
    pub fn new(contract: Address) -> Self {
        Self {
            contract,
            requests: Vec::new(),
            malformed: false,
        }
    }

    /// Adds those among the logs of a transaction.
    pub fn collect(&mut self, logs: &[Log]) {
        for log in logs {
            if log.address == self.contract && log.topics().first() == Some(&DEPOSIT_EVENT) {
                self.malformed |= self.deposit(&log.data.data).is_none();
            }
        }
    }

    /// `None`: the log has another form.
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

    /// All requests of the block.
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

/// A word that is a small number.
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
    fn a_deposit_is_its_fields_in_a_row() {
        assert_eq!(
            DEPOSIT_EVENT,
            keccak256("DepositEvent(bytes,bytes,bytes,bytes,bytes)")
        );
        let requests = requests(deposit()).unwrap().take();
        assert_eq!(requests.len(), 2, "empty ones are left out");
        assert_eq!(requests[0].len(), 1 + 48 + 32 + 8 + 96 + 8);
        assert_eq!((requests[0][0], requests[0][1], requests[0][49]), (0, 1, 2));
        assert_eq!(requests[1][..], *b"\x02x");
    }

    #[test]
    fn other_forms_are_faults() {
        assert_eq!(requests(Vec::new()).unwrap_err(), RequestFault::Deposit);
        let mut shifted = deposit();
        shifted[31] += 32;
        assert_eq!(requests(shifted).unwrap_err(), RequestFault::Deposit);
    }
}
