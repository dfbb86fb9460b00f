//! The files of bundles: JSON, plain or compressed with zstd. See `docs/bundles.md`.

use crate::{
    Bundle, BundledBlock, BundledChain, Error, FlatAccount, Nodes, Result, bundle::Pre,
    header::AnswerHeader, witness::Witness,
};
use alloy_consensus::Header;
use alloy_primitives::{Address, B256, Bytes, KECCAK256_EMPTY, U256, keccak256};
use alloy_rlp::Decodable;
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    fs::{self, File as Opened},
    io::{self, Read},
    path::{Path, PathBuf},
};
use txgraph_block::BlockRules;
use txgraph_evm::{Account, BlobSchedule, Fork};

/// The version of the format that is written, and the highest one that is read.
pub(crate) const VERSION: u32 = 1;

/// The maximum size of a file after decompression. The largest blocks of mainnet have 30 MB.
const BYTES_MAX: u64 = 1 << 30;

/// The bytes with which compressed files begin.
const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

impl Bundle {
    /// Reads a file, and proves the block by its header.
    ///
    /// # Errors
    ///
    /// The file cannot be read or is not a bundle.
    pub fn open(path: &Path) -> Result<Self> {
        let bytes = read(path)?;
        Self::parse(&bytes, path)
    }

    /// Parses the JSON of a file. Messages name `path`.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`].
    pub fn parse(json: &[u8], path: &Path) -> Result<Self> {
        parse(json, path).map_err(|what| Error::Malformed {
            path: path.to_path_buf(),
            what,
        })
    }

    /// Returns the bundles of a directory: all files with the extension `json` or `json.zst`. Those
    /// that are named by a number come first, in its order, and then the others by name. A path
    /// that is not a directory is returned itself.
    ///
    /// # Errors
    ///
    /// The directory cannot be read, or contains no such file.
    pub fn list(path: &Path) -> Result<Vec<PathBuf>> {
        let failed = |source| Error::io(path, source);
        if !fs::metadata(path).map_err(failed)?.is_dir() {
            return Ok(vec![path.to_path_buf()]);
        }
        let mut files = Vec::new();
        for entry in fs::read_dir(path).map_err(failed)? {
            let file = entry.map_err(failed)?.path();
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            // A pipe, for example, has no end.
            if file.is_file() && (name.ends_with(".json") || name.ends_with(".json.zst")) {
                files.push(file);
            }
        }
        files.sort_by_cached_key(|file| {
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            let number = name.split('.').next().and_then(|stem| stem.parse().ok());
            (number.unwrap_or(u64::MAX), file.clone())
        });
        match files.is_empty() {
            false => Ok(files),
            true => Err(Error::Malformed {
                path: path.to_path_buf(),
                what: "the directory contains no file `*.json` or `*.json.zst`".to_owned(),
            }),
        }
    }
}

/// Characters of a message about a file.
const MESSAGE_MAX: usize = 200;

/// Reads a file and decompresses it.
fn read(path: &Path) -> Result<Vec<u8>> {
    let failed = |source| Error::io(path, source);
    let bytes = limited(Opened::open(path).map_err(failed)?).map_err(failed)?;
    if !bytes.starts_with(&ZSTD_MAGIC) {
        return Ok(bytes);
    }
    let decoder = zstd::stream::read::Decoder::new(&bytes[..]);
    decoder.and_then(limited).map_err(failed)
}

fn limited(source: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    source.take(BYTES_MAX + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > BYTES_MAX {
        true => Err(io::Error::other("the file is larger than 1 GiB")),
        false => Ok(bytes),
    }
}

/// A file. Unknown keys are ignored: files may state where they come from.
#[derive(Debug, Default, Deserialize, Serialize)]
pub(crate) struct File {
    /// The version, in files that this crate wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) txgraph_bundle: Option<u32>,
    pub(crate) chain_id: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) genesis_hash: Option<B256>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) number: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) hash: Option<B256>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) rules: Option<Rules>,
    pub(crate) block_rlp: Bytes,
    /// The hashes of ommers whose headers are not known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) ommer_hashes: Vec<B256>,
    #[serde(default)]
    pub(crate) block_hashes: BTreeMap<String, B256>,
    #[serde(default)]
    pub(crate) codes: Vec<Bytes>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) pre: Option<BTreeMap<Address, Option<FileAccount>>>,
    #[serde(default, skip_serializing)]
    witness: Option<Answer>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    nodes: Option<Vec<Bytes>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    parent_state_root: Option<B256>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    parent_header_rlp: Option<Bytes>,
}

impl File {
    /// A file with a block and nothing else.
    pub(crate) fn new(chain_id: u64, block_rlp: Bytes) -> Self {
        Self {
            txgraph_bundle: Some(VERSION),
            chain_id,
            block_rlp,
            ..Self::default()
        }
    }
}

/// An account in `pre`.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub(crate) struct FileAccount {
    pub(crate) nonce: U256,
    pub(crate) balance: U256,
    #[serde(alias = "codeHash", skip_serializing_if = "Option::is_none")]
    pub(crate) code_hash: Option<B256>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) storage: BTreeMap<U256, U256>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) has_storage: Option<bool>,
}

/// The rules of the block ([`BlockRules`]).
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Rules {
    fork: String,
    blob_target: u64,
    blob_max: u64,
    blob_update_fraction: u64,
    moves_dao: bool,
    deposit_contract: Address,
}

impl From<&BlockRules> for Rules {
    fn from(rules: &BlockRules) -> Self {
        Self {
            fork: rules.fork.name().to_owned(),
            blob_target: rules.blobs.target,
            blob_max: rules.blobs.max,
            blob_update_fraction: rules.blobs.update_fraction,
            moves_dao: rules.moves_dao,
            deposit_contract: rules.deposit_contract,
        }
    }
}

impl TryFrom<Rules> for BlockRules {
    type Error = String;

    fn try_from(rules: Rules) -> Result<Self, String> {
        let fork = rules.fork.parse::<Fork>();
        if rules.blob_update_fraction == 0 {
            return Err("rules.blob_update_fraction is 0".to_owned());
        }
        Ok(Self {
            fork: fork.map_err(|error| format!("rules.fork: {error}"))?,
            blobs: BlobSchedule {
                target: rules.blob_target,
                max: rules.blob_max,
                update_fraction: rules.blob_update_fraction,
            },
            moves_dao: rules.moves_dao,
            deposit_contract: rules.deposit_contract,
        })
    }
}

/// The answer of `debug_executionWitness`: JSON, or the hex digits of RLP.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Answer {
    Json {
        state: Vec<Bytes>,
        #[serde(default)]
        codes: Vec<Bytes>,
        #[serde(default)]
        headers: Vec<AnswerHeader>,
    },
    Rlp(Bytes),
}

/// The ends of a message, which can have a whole block in it.
fn cut(message: &str) -> String {
    let ends =
        |from: usize, count: usize| message.chars().skip(from).take(count).collect::<String>();
    let length = message.chars().count();
    match length > MESSAGE_MAX {
        true => format!(
            "{} … {}",
            ends(0, MESSAGE_MAX / 2),
            ends(length - MESSAGE_MAX / 2, length)
        ),
        false => message.to_owned(),
    }
}

/// Parses a file. The error is a message that names the key.
fn parse(json: &[u8], path: &Path) -> Result<Bundle, String> {
    let file: File = serde_json::from_slice(json).map_err(|error| cut(&error.to_string()))?;
    if let Some(version) = file.txgraph_bundle.filter(|version| *version > VERSION) {
        return Err(format!(
            "it has version {version}; this build reads versions up to {VERSION}"
        ));
    }
    let block = BundledBlock::decode(&file.block_rlp, !file.ommer_hashes.is_empty())
        .map_err(|what| format!("block_rlp: {what}"))?;
    if file.hash.is_some_and(|hash| hash != block.hash) {
        return Err(format!("hash: the hash of the block is {}", block.hash));
    }
    if file
        .number
        .is_some_and(|number| number != block.header.number)
    {
        return Err(format!("number: the block is {}", block.header.number));
    }
    let mut parts = Parts {
        codes: file.codes,
        headers: file.parent_header_rlp.into_iter().collect(),
        nodes: file.nodes,
    };
    if let Some(answer) = file.witness {
        parts.add(answer)?;
    }
    let (mut block_hashes, parent_root) = ancestors(&block, &parts.headers)?;
    for (number, hash) in file.block_hashes {
        let number = number.parse::<u64>();
        let number = number.map_err(|error| format!("block_hashes: {error}"))?;
        if *block_hashes.entry(number).or_insert(hash) != hash {
            return Err(format!("block_hashes: the hash of block {number} is wrong"));
        }
    }
    let pre = match (file.pre, parts.nodes) {
        (Some(pre), None) => Pre::Flat {
            accounts: accounts(pre)?,
            lists_all: file.txgraph_bundle.is_some(),
        },
        (None, Some(nodes)) => Pre::Witness(Witness {
            root: root(file.parent_state_root, parent_root)?,
            nodes: nodes.into_iter().collect::<Nodes>(),
        }),
        (None, None) => return Err("it has neither `pre` nor `witness` nor `nodes`".to_owned()),
        (Some(_), Some(_)) => return Err("it has both `pre` and trie nodes".to_owned()),
    };
    Ok(Bundle {
        path: path.to_path_buf(),
        chain: BundledChain {
            id: file.chain_id,
            genesis_hash: file.genesis_hash,
            rules: file.rules.map(BlockRules::try_from).transpose()?,
        },
        block,
        codes: parts
            .codes
            .into_iter()
            .map(|code| (keccak256(&code), code))
            .collect(),
        block_hashes,
        pre,
    })
}

/// The parts of a witness, wherever they are in the file.
struct Parts {
    codes: Vec<Bytes>,
    headers: Vec<Bytes>,
    nodes: Option<Vec<Bytes>>,
}

impl Parts {
    fn add(&mut self, answer: Answer) -> Result<(), String> {
        let (headers, codes, state) = match answer {
            Answer::Json {
                state,
                codes,
                headers,
            } => {
                let headers = headers.into_iter().map(AnswerHeader::rlp).collect();
                (headers, codes, state)
            }
            Answer::Rlp(bytes) => {
                decode_rlp(&bytes).map_err(|error| format!("witness: {error}"))?
            }
        };
        self.headers.extend(headers);
        self.codes.extend(codes);
        self.nodes.get_or_insert_default().extend(state);
        Ok(())
    }
}

type AnswerParts = (Vec<Bytes>, Vec<Bytes>, Vec<Bytes>);

/// Decodes headers, codes and nodes (`go-ethereum: core/stateless/encoding.go`). Keys may follow.
fn decode_rlp(bytes: &Bytes) -> alloy_rlp::Result<AnswerParts> {
    let mut fields = alloy_rlp::Header::decode_bytes(&mut &bytes[..], true)?;
    let mut headers = Vec::new();
    let mut list = alloy_rlp::Header::decode_bytes(&mut fields, true)?;
    while !list.is_empty() {
        // Each header is a list itself, and is kept with the prefix of that list.
        let start = list;
        alloy_rlp::Header::decode_bytes(&mut list, true)?;
        headers.push(Bytes::copy_from_slice(&start[..start.len() - list.len()]));
    }
    let codes = Vec::<Bytes>::decode(&mut fields)?;
    let state = Vec::<Bytes>::decode(&mut fields)?;
    Ok((headers, codes, state))
}

/// Checks that headers belong to the ancestors of a block. Returns the hashes of all ancestors
/// that are known by them, and the state root of the parent if its header is there.
fn ancestors(
    block: &BundledBlock,
    headers: &[Bytes],
) -> Result<(BTreeMap<u64, B256>, Option<B256>), String> {
    let decode = |bytes: &Bytes| {
        let header = Header::decode(&mut &bytes[..]).map_err(|error| format!("headers: {error}"));
        header.map(|header| (header.number, (keccak256(bytes), header)))
    };
    let headers: BTreeMap<_, _> = headers.iter().map(decode).collect::<Result<_, _>>()?;
    let mut hashes = BTreeMap::new();
    let mut child = &block.header;
    let mut parent_root = None;
    for (number, (hash, header)) in headers.iter().rev() {
        if number.checked_add(1) != Some(child.number) || *hash != child.parent_hash {
            return Err(format!(
                "headers: {hash} with number {number} is not the parent of block {}",
                child.number
            ));
        }
        hashes.insert(*number, *hash);
        parent_root.get_or_insert(header.state_root);
        child = header;
    }
    if let Some(parent) = child.number.checked_sub(1) {
        hashes.insert(parent, child.parent_hash);
    }
    Ok((hashes, parent_root))
}

/// The state root before the block: the root in the parent's header if it is known.
fn root(stated: Option<B256>, parent: Option<B256>) -> Result<B256, String> {
    match (stated, parent) {
        (Some(stated), Some(parent)) if stated != parent => Err(format!(
            "parent_state_root: the header of the parent has {parent}"
        )),
        (stated, parent) => parent.or(stated).ok_or_else(|| {
            "the header of the parent block is missing: without its state root the nodes prove \
             nothing"
                .to_owned()
        }),
    }
}

fn accounts(
    pre: BTreeMap<Address, Option<FileAccount>>,
) -> Result<BTreeMap<Address, Option<FlatAccount>>, String> {
    let account = |(address, account): (Address, Option<FileAccount>)| {
        let Some(account) = account else {
            return Ok((address, None));
        };
        let nonce = u64::try_from(account.nonce)
            .map_err(|_| format!("pre.{address}.nonce is above 2^64 - 1"))?;
        let flat = FlatAccount {
            account: Account {
                balance: account.balance,
                nonce,
                code_hash: account.code_hash.unwrap_or(KECCAK256_EMPTY),
            },
            storage: account.storage,
            has_storage: account.has_storage,
        };
        Ok((address, Some(flat)))
    };
    pre.into_iter().map(account).collect()
}
