//! Genesis files in the format of geth and reth: `{"config": {…}, "alloc": {…}, …}`.

use super::{ChainRules, steps::last};
use crate::{Error, Result};
use alloy_consensus::constants::{EMPTY_ROOT_HASH, EMPTY_WITHDRAWALS};
use alloy_eips::{eip6110::MAINNET_DEPOSIT_CONTRACT_ADDRESS, eip7685::EMPTY_REQUESTS_HASH};
use alloy_primitives::{Address, B64, B256, Bytes, U256};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::path::Path;
use txgraph_block::{AccessList, GenesisAccounts, state_root};
use txgraph_evm::{BlobSchedule, Fork, MemoryState};

/// The base fee in wei of a genesis block with London rules that does not specify one (EIP-1559).
const FIRST_BASE_FEE: u64 = 1_000_000_000;

/// Keys of forks by block number, in order.
const BY_NUMBER: [(&str, Fork); 9] = [
    ("homesteadBlock", Fork::Homestead),
    ("eip150Block", Fork::TangerineWhistle),
    ("eip158Block", Fork::SpuriousDragon),
    ("byzantiumBlock", Fork::Byzantium),
    ("constantinopleBlock", Fork::Constantinople),
    ("petersburgBlock", Fork::Petersburg),
    ("istanbulBlock", Fork::Istanbul),
    ("berlinBlock", Fork::Berlin),
    ("londonBlock", Fork::London),
];

/// Keys of forks by timestamp, in order, with their keys in the blob schedule. Entries without a
/// fork change only blob parameters (EIP-7892).
const BY_TIME: [(&str, &str, Option<Fork>); 10] = [
    ("shanghaiTime", "shanghai", Some(Fork::Shanghai)),
    ("cancunTime", "cancun", Some(Fork::Cancun)),
    ("pragueTime", "prague", Some(Fork::Prague)),
    ("osakaTime", "osaka", Some(Fork::Osaka)),
    ("bpo1Time", "bpo1", None),
    ("bpo2Time", "bpo2", None),
    ("bpo3Time", "bpo3", None),
    ("bpo4Time", "bpo4", None),
    ("bpo5Time", "bpo5", None),
    ("amsterdamTime", "amsterdam", Some(Fork::Amsterdam)),
];

/// The content of a genesis file.
#[derive(Clone, Debug)]
pub struct Genesis {
    /// The rules of the chain. The genesis hash is computed from the file.
    pub rules: ChainRules,
    /// The state of block 0.
    pub state: MemoryState,
}

/// The keys of a genesis file.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct GenesisFile {
    config: Map<String, Value>,
    alloc: GenesisAccounts,
    #[serde(default)]
    nonce: U256,
    #[serde(default)]
    timestamp: U256,
    #[serde(default)]
    extra_data: Bytes,
    gas_limit: U256,
    #[serde(default)]
    difficulty: U256,
    #[serde(default)]
    mix_hash: B256,
    #[serde(default)]
    coinbase: Address,
    base_fee_per_gas: Option<U256>,
    blob_gas_used: Option<U256>,
    excess_blob_gas: Option<U256>,
    slot_number: Option<U256>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Schedule {
    target: u64,
    max: u64,
    base_fee_update_fraction: u64,
}

impl Genesis {
    /// Reads a genesis file.
    pub fn open(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path).map_err(|source| Error::ReadChainFile {
            path: path.to_path_buf(),
            source,
        })?;
        Self::parse(&text).map_err(|what| Error::ChainFile {
            path: path.to_path_buf(),
            what,
        })
    }

    /// Parses the text of a genesis file.
    ///
    /// # Errors
    ///
    /// A message with the faulty key.
    pub fn parse(text: &str) -> Result<Self, String> {
        let file: GenesisFile = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let mut rules = rules(&file.config)?;
        let header = file.header(&rules)?;
        rules.genesis_hash = header.hash_slow();
        let mut state = MemoryState::default();
        for (address, account) in file.alloc.0 {
            state.insert(address, account.balance, account.nonce, account.code);
            for (key, value) in account.storage {
                state.set_storage(address, key, value);
            }
        }
        state.block_hashes.insert(0, rules.genesis_hash);
        Ok(Self { rules, state })
    }
}

impl GenesisFile {
    /// The header of block 0.
    fn header(&self, rules: &ChainRules) -> Result<alloy_consensus::Header, String> {
        let mut header = alloy_consensus::Header {
            beneficiary: self.coinbase,
            state_root: state_root(&self.alloc.0),
            transactions_root: EMPTY_ROOT_HASH,
            receipts_root: EMPTY_ROOT_HASH,
            difficulty: self.difficulty,
            gas_limit: narrow("gasLimit", self.gas_limit)?,
            timestamp: narrow("timestamp", self.timestamp)?,
            extra_data: self.extra_data.clone(),
            mix_hash: self.mix_hash,
            nonce: B64::from(narrow("nonce", self.nonce)?),
            ..Default::default()
        };
        let or = |name: &str, given: Option<U256>, otherwise: u64| {
            given.map_or(Ok(otherwise), |given| narrow(name, given))
        };
        let fork = last(&rules.by_time, header.timestamp).unwrap_or(Fork::Frontier);
        let by_number = last(&rules.by_number, 0).unwrap_or(Fork::Frontier);
        if by_number >= Fork::London {
            let fee = or("baseFeePerGas", self.base_fee_per_gas, FIRST_BASE_FEE)?;
            header.base_fee_per_gas = Some(fee);
        }
        if fork >= Fork::Shanghai {
            header.withdrawals_root = Some(EMPTY_WITHDRAWALS);
        }
        if fork >= Fork::Cancun {
            header.blob_gas_used = Some(or("blobGasUsed", self.blob_gas_used, 0)?);
            header.excess_blob_gas = Some(or("excessBlobGas", self.excess_blob_gas, 0)?);
            header.parent_beacon_block_root = Some(B256::ZERO);
        }
        if fork >= Fork::Prague {
            header.requests_hash = Some(EMPTY_REQUESTS_HASH);
        }
        if fork >= Fork::Amsterdam {
            header.block_access_list_hash = Some(AccessList::default().hash());
            header.slot_number = Some(or("slotNumber", self.slot_number, 0)?);
        }
        Ok(header)
    }
}

fn narrow(name: &str, value: U256) -> Result<u64, String> {
    u64::try_from(value).map_err(|_| format!("{name}: {value} does not fit 64 bits"))
}

/// A number of the configuration; `None` if it is absent or null.
fn number(config: &Map<String, Value>, key: &str) -> Result<Option<u64>, String> {
    match config.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => {
            let number: U256 =
                U256::deserialize(value).map_err(|e| format!("config.{key}: {e}"))?;
            narrow(key, number).map(Some)
        }
    }
}

/// The rules without the genesis hash.
fn rules(config: &Map<String, Value>) -> Result<ChainRules, String> {
    if config.get("clique").is_some_and(|value| !value.is_null()) {
        return Err("config.clique: chains of proof of authority are not supported".into());
    }
    let chain_id = number(config, "chainId")?.ok_or("config.chainId is missing")?;
    let mut by_number = Vec::new();
    for (key, fork) in BY_NUMBER {
        let begin = match (fork, number(config, key)?) {
            // As in geth, Petersburg starts with Constantinople if the key is absent.
            (Fork::Petersburg, None) => number(config, "constantinopleBlock")?,
            (Fork::SpuriousDragon, None) => number(config, "eip155Block")?,
            (_, begin) => begin,
        };
        by_number.extend(begin.map(|begin| (begin, fork)));
    }
    let (by_time, mut blobs) = timed(config)?;
    // Changes of blob parameters may be between any two forks.
    blobs.sort_by_key(|(time, _)| *time);
    if !by_number.is_sorted() || !by_time.is_sorted() {
        return Err("config: a fork begins before the one it builds on".into());
    }
    let supports_dao = config
        .get("daoForkSupport")
        .is_some_and(|value| *value == Value::Bool(true));
    let dao_block = number(config, "daoForkBlock")?.filter(|_| supports_dao);
    let deposit_contract = match config.get("depositContractAddress") {
        None | Some(Value::Null) => MAINNET_DEPOSIT_CONTRACT_ADDRESS,
        Some(value) => Address::deserialize(value)
            .map_err(|e| format!("config.depositContractAddress: {e}"))?,
    };
    Ok(ChainRules {
        chain_id,
        genesis_hash: B256::ZERO,
        by_number,
        by_time,
        blobs,
        dao_block,
        deposit_contract,
    })
}

type Timed = (Vec<(u64, Fork)>, Vec<(u64, BlobSchedule)>);

/// Forks by timestamp, and blob parameters by timestamp.
fn timed(config: &Map<String, Value>) -> Result<Timed, String> {
    let (mut by_time, mut blobs) = (Vec::new(), Vec::new());
    for (key, name, fork) in BY_TIME {
        let Some(time) = number(config, key)? else {
            continue;
        };
        by_time.extend(fork.map(|fork| (time, fork)));
        let given = config.get("blobSchedule").and_then(|all| all.get(name));
        let schedule = match (given, fork) {
            (Some(given), _) => {
                let schedule = Schedule::deserialize(given)
                    .map_err(|e| format!("config.blobSchedule.{name}: {e}"))?;
                BlobSchedule {
                    target: schedule.target,
                    max: schedule.max,
                    update_fraction: schedule.base_fee_update_fraction,
                }
            }
            // Since Osaka a fork keeps the parameters before it (EIP-7892).
            (None, Some(Fork::Osaka | Fork::Amsterdam)) => continue,
            (None, Some(fork)) => BlobSchedule::of(fork),
            (None, None) => return Err(format!("config.{key} without config.blobSchedule.{name}")),
        };
        if schedule.update_fraction == 0 {
            return Err(format!(
                "config.blobSchedule.{name}: baseFeeUpdateFraction is 0"
            ));
        }
        blobs.push((time, schedule));
    }
    Ok((by_time, blobs))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_primitives::b256;

    const DEV: &str = r#"{"gasLimit": "0x1c9c380", "timestamp": "0x6490fdd2", "alloc": {},
        "config": {"chainId": 1337, "homesteadBlock": 0, "constantinopleBlock": 0,
            "londonBlock": 0, "shanghaiTime": 0, "cancunTime": "0x64", "bpo1Time": 200,
            "blobSchedule": {"bpo1": {"target": 1, "max": 2, "baseFeeUpdateFraction": 3}}}}"#;

    #[test]
    fn accepts_hex_and_decimal_numbers_and_absent_forks() {
        let rules = Genesis::parse(DEV).unwrap().rules;
        assert_eq!(rules.by_time, [(0, Fork::Shanghai), (100, Fork::Cancun)]);
        let forks: Vec<_> = rules.by_number.iter().map(|(_, fork)| *fork).collect();
        let expected = [
            Fork::Homestead,
            Fork::Constantinople,
            Fork::Petersburg,
            Fork::London,
        ];
        assert_eq!(forks, expected);
        assert_eq!(rules.blobs[2].1.max, 2);
    }

    /// The hash of block 0 equals geth 1.17.10's.
    #[test]
    fn amsterdam_keeps_the_blob_parameters_before_it() {
        const AMSTERDAM: &str = r#"{"gasLimit": "0x1c9c380", "timestamp": "0x6490fdd2",
            "slotNumber": "0x7", "alloc": {}, "config": {"chainId": 1337, "homesteadBlock": 0,
            "londonBlock": 0, "shanghaiTime": 0, "cancunTime": 0, "pragueTime": 0, "osakaTime": 0,
            "bpo1Time": 5, "amsterdamTime": 0, "blobSchedule": {
                "prague": {"target": 5, "max": 8, "baseFeeUpdateFraction": 3},
                "bpo1": {"target": 10, "max": 15, "baseFeeUpdateFraction": 4}}}}"#;
        let rules = Genesis::parse(AMSTERDAM).unwrap().rules;
        let hash = b256!("283453181e9f9645f79079eaa41bdba997c30ef164d3d1a5cd7f161dfa644b0a");
        assert_eq!(rules.genesis_hash, hash);
        let mut header = crate::block::testing::header(1, 0);
        for (time, max) in [(4, 8), (5, 15)] {
            header.fields.timestamp = time;
            let at = rules.at(&header);
            assert_eq!((at.fork, at.blobs.max), (Fork::Amsterdam, max));
        }
    }

    #[test]
    fn errors_name_the_key() {
        for (from, to, expected) in [
            (r#""chainId": 1337,"#, "", "chainId"),
            ("\"alloc\": {},", "", "alloc"),
            ("\"alloc\": {}", r#""alloc": {"0x12": {}}"#, "0x12"),
            ("\"bpo1\":", "\"bpo7\":", "blobSchedule.bpo1"),
            ("\"londonBlock\": 0", "\"londonBlock\": -1", "londonBlock"),
            (
                "\"homesteadBlock\": 0",
                "\"homesteadBlock\": 9",
                "begins before",
            ),
            ("\"chainId\"", "\"clique\": {}, \"chainId\"", "clique"),
            (
                "\"baseFeeUpdateFraction\": 3",
                "\"baseFeeUpdateFraction\": 0",
                "is 0",
            ),
        ] {
            let error = Genesis::parse(&DEV.replace(from, to)).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }
}
