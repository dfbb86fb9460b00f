//! All endpoints. The parameters of requests are read by this table, and the OpenAPI document is made
//! from it.

use super::endpoint::{Endpoint, Kind, Parameter};
use txgraph::ROUTES_MAX;

const TOKEN: Parameter = Parameter::new(
    "token",
    Kind::Token,
    "only these tokens; `native` is the native coin",
)
.repeated();
const BLOCKS: Parameter = Parameter::new(
    "blocks",
    Kind::Blocks,
    "only these blocks: `A:B` ends before B, `-N:` are the last N, dates are allowed; default: all",
);
const MIN: Parameter = Parameter::new(
    "min",
    Kind::Amount,
    "the smallest amount, in the smallest unit of each token",
);
const INTERNAL: Parameter = Parameter::flag(
    "internal",
    "also transfers inside of transactions, which are replayed unless an index has them",
);
const PARTIAL: Parameter = Parameter::flag(
    "partial",
    "answer with the blocks that exist if some are missing, and say which",
);
const FORMAT: Parameter = Parameter::new(
    "format",
    Kind::Word(&["answer", "json", "csv"]),
    "`json` and `csv` are the files that the command line writes",
);
const DIRECTION: &[&str] = &["out", "in", "both"];
const ROOT: Parameter = Parameter::new("root", Kind::Address, "where the search starts")
    .required()
    .repeated();

/// The largest list of one answer.
pub(super) const LIST_MAX: u64 = 10_000;

/// The largest number of edges in a graph: its transfers are merged after that.
pub(super) const EDGES_MAX: u64 = 50_000;

/// All endpoints, by path.
pub(super) const ENDPOINTS: &[Endpoint] = &[
    Endpoint {
        path: "/v1/address",
        summary: "Who an address is: its account, its balances, who created it, what the contract is",
        parameters: &[
            Parameter::new("address", Kind::Address, "the address").required(),
            BLOCKS,
            INTERNAL,
            PARTIAL,
        ],
        answer: &[
            ("address", "hex"),
            ("label", "Label?"),
            ("is_contract", "boolean?"),
            ("contract", "Contract?"),
            ("delegate", "hex?"),
            ("block", "integer?"),
            ("nonce", "integer?"),
            ("balance", "decimal?"),
            ("balances", "Balance[]"),
            ("creator", "Creator?"),
            ("funder", "Transfer?"),
            ("first", "Position?"),
            ("last", "Position?"),
            ("transfers", "integer"),
            ("received", "integer"),
            ("sent", "integer"),
            ("tokens", "Token{}"),
        ],
    },
    Endpoint {
        path: "/v1/approvals",
        summary: "Open approvals: who may take which tokens of an account, and how much",
        parameters: &[
            Parameter::new("address", Kind::Address, "the account").required(),
            Parameter::flag(
                "as_spender",
                "the approvals that others gave to the account",
            ),
            BLOCKS,
            FORMAT,
        ],
        answer: &[
            ("metadata", "any"),
            ("address", "hex"),
            ("notes", "string[]"),
            ("approvals", "Approval[]"),
            ("block", "integer"),
            ("granted", "integer"),
            ("labels", "Label{}"),
            ("tokens", "Token{}"),
        ],
    },
    Endpoint {
        path: "/v1/block",
        summary: "A block and its transactions",
        parameters: &[
            Parameter::new("block", Kind::Block, "a number, a hash or `latest`").required(),
        ],
        answer: &[
            ("number", "integer"),
            ("hash", "hex"),
            ("parent", "hex"),
            ("time", "integer"),
            ("miner", "hex"),
            ("gas_used", "integer"),
            ("gas_limit", "integer"),
            ("base_fee", "decimal?"),
            ("transactions", "BlockTransaction[]"),
            ("withdrawals", "BlockWithdrawal[]"),
        ],
    },
    Endpoint {
        path: "/v1/common",
        summary: "The addresses that several addresses reach, or are reached from",
        parameters: &[
            Parameter::new("address", Kind::Address, "two or more addresses")
                .required()
                .repeated(),
            Parameter::number(
                "hops",
                [0, 1, 4],
                "how far from each; 1 are direct counterparties",
            ),
            TOKEN,
            BLOCKS,
            INTERNAL,
            PARTIAL,
            Parameter::number("limit", [0, 100, LIST_MAX], "the number of addresses"),
        ],
        answer: &[("addresses", "CommonAddress[]"), ("more", "integer")],
    },
    Endpoint {
        path: "/v1/graph",
        summary: "The graph around some addresses, with a place for each vertex",
        parameters: &[
            ROOT,
            Parameter::number("hops", [0, 1, 20], "how far to follow"),
            Parameter::new(
                "direction",
                Kind::Word(DIRECTION),
                "the direction to follow",
            ),
            TOKEN,
            BLOCKS,
            MIN,
            INTERNAL,
            PARTIAL,
            Parameter::flag(
                "time_respecting",
                "follow a transfer only if it happened after the tokens arrived",
            ),
            Parameter::flag(
                "swaps",
                "follow each token for itself, and into those that it is swapped for; backward, into those that were given for it",
            ),
            Parameter::number(
                "max_edges",
                [0, 5_000, EDGES_MAX],
                "the number of transfers, before they are merged",
            ),
            Parameter::number(
                "max_degree",
                [0, 500, EDGES_MAX],
                "addresses with more counterparties are hubs, which are not followed",
            ),
        ],
        answer: &[
            ("vertices", "Vertex[]"),
            ("edges", "Edge[]"),
            ("tokens", "Token{}"),
        ],
    },
    Endpoint {
        path: "/v1/info",
        summary: "The chain, the newest block, and what this server can answer",
        parameters: &[],
        answer: &[
            ("version", "string"),
            ("chain_id", "integer"),
            ("chain", "string?"),
            ("coin", "Coin"),
            ("tip", "Tip"),
            ("has_index", "boolean"),
            ("index_has_internal", "boolean"),
            ("has_state", "boolean"),
            ("has_internal", "boolean"),
            ("blocks", "integer[]"),
        ],
    },
    Endpoint {
        path: "/v1/labels",
        summary: "The labels of addresses",
        parameters: &[Parameter::new("address", Kind::Address, "the addresses")
            .required()
            .repeated()],
        answer: &[("labels", "Label{}")],
    },
    Endpoint {
        path: "/v1/neighbors",
        summary: "Who an address exchanges tokens with, most transfers first",
        parameters: &[
            Parameter::new("address", Kind::Address, "the address").required(),
            Parameter::new(
                "direction",
                Kind::Word(&["both", "out", "in"]),
                "what it sends, receives, or both",
            ),
            TOKEN,
            BLOCKS,
            MIN,
            INTERNAL,
            PARTIAL,
            Parameter::number("limit", [0, 50, LIST_MAX], "the number of edges"),
        ],
        answer: &[
            ("address", "hex"),
            ("direction", "string"),
            ("edges", "Edge[]"),
            ("more", "integer"),
            ("tokens", "Token{}"),
        ],
    },
    Endpoint {
        path: "/v1/openapi.json",
        summary: "This document",
        parameters: &[],
        answer: &[],
    },
    Endpoint {
        path: "/v1/path",
        summary: "How transfers lead from one address to another",
        parameters: &[
            Parameter::new("from", Kind::Address, "where the tokens come from").required(),
            Parameter::new("to", Kind::Address, "where they arrive").required(),
            Parameter::number("hops", [1, 6, 50], "the transfers of the longest route"),
            Parameter::flag(
                "any_order",
                "also routes whose transfers happened in another order",
            ),
            Parameter::flag(
                "any_token",
                "go on with transfers of any token: contacts, not amounts",
            ),
            Parameter::flag(
                "max_flow",
                "instead of routes, how much can have gone at most over all of them, and what bounds it",
            ),
            Parameter::number(
                "routes",
                [1, 1, ROUTES_MAX as u64],
                "how many of the shortest and of the earliest routes",
            ),
            Parameter::number(
                "max_degree",
                [0, 0, EDGES_MAX],
                "no routes through addresses with more counterparties; 0: through all",
            ),
            TOKEN,
            BLOCKS,
            MIN,
            INTERNAL,
            PARTIAL,
        ],
        answer: &[
            ("found", "boolean"),
            ("transfers", "Transfer[]"),
            ("earliest", "Transfer[]?"),
            ("hints", "string[]"),
            ("earliest_hints", "string[]?"),
            ("shortest_routes", "Route[]"),
            ("earliest_routes", "Route[]"),
            ("flows", "Flow[]?"),
            ("tokens", "Token{}"),
        ],
    },
    Endpoint {
        path: "/v1/patterns",
        summary: "Transfers that fit the rules of patterns: peel chains, round trips, sweeps and more",
        parameters: &[
            TOKEN,
            BLOCKS,
            MIN,
            INTERNAL,
            PARTIAL,
            Parameter::number("limit", [0, 10, 1_000], "the findings of each pattern"),
        ],
        answer: &[
            ("measure", "string"),
            ("result", "any"),
            ("notes", "string[]"),
            ("labels", "Label{}"),
            ("tokens", "Token{}"),
        ],
    },
    Endpoint {
        path: "/v1/search",
        summary: "Addresses, transactions, blocks and tokens by what a user types",
        parameters: &[Parameter::new(
            "q",
            Kind::Text,
            "an address, a hash, a number of a block, the symbol of a token, or a part of a label",
        )
        .required()],
        answer: &[("results", "SearchResult[]")],
    },
    Endpoint {
        path: "/v1/statement",
        summary: "Every movement of an account, from opening to closing balances",
        parameters: &[
            Parameter::new("address", Kind::Address, "the account").required(),
            Parameter::number(
                "year",
                [0, 0, 9_999],
                "only the blocks of a year (UTC), instead of `blocks`; 0: none",
            ),
            BLOCKS,
            Parameter::flag(
                "internal",
                "execute every block again, not only those that changed the account",
            ),
            FORMAT,
            Parameter::new(
                "table",
                Kind::Word(&["movements", "balances", "koinly", "rotki"]),
                "the table of `format=csv`",
            ),
        ],
        answer: &[
            ("metadata", "any"),
            ("address", "hex"),
            ("notes", "string[]"),
            ("balances", "AssetBalance[]"),
            ("movements", "Movement[]"),
            ("labels", "Label{}"),
            ("tokens", "Token{}"),
        ],
    },
    Endpoint {
        path: "/v1/token",
        summary: "A token, and who holds it by its transfers",
        parameters: &[
            Parameter::new("token", Kind::Address, "the contract").required(),
            BLOCKS,
            PARTIAL,
            Parameter::number("limit", [0, 50, LIST_MAX], "the number of holders"),
        ],
        answer: &[
            ("token", "Token"),
            ("standard", "string?"),
            ("transfers", "integer"),
            ("holders", "Holder[]"),
            ("more", "integer"),
        ],
    },
    Endpoint {
        path: "/v1/trace",
        summary: "Where the tokens of some addresses went: amounts, followed through all transfers",
        parameters: &[
            ROOT,
            Parameter::new(
                "method",
                Kind::Word(&["fifo", "lifo", "haircut", "poison", "execution"]),
                "which tokens of an account leave first",
            ),
            Parameter::flag(
                "swaps",
                "follow tokens into those that they are swapped for",
            ),
            Parameter::number("hops", [0, 0, 50], "how far to follow; 0: to the end"),
            TOKEN,
            BLOCKS,
            INTERNAL,
            PARTIAL,
            Parameter::number(
                "max_edges",
                [0, EDGES_MAX, EDGES_MAX],
                "the number of transfers that are followed",
            ),
        ],
        answer: &[
            ("measure", "string"),
            ("method", "string"),
            ("result", "any"),
            ("notes", "string[]"),
            ("tokens", "Token{}"),
        ],
    },
    Endpoint {
        path: "/v1/transaction",
        summary: "A transaction: its transfers, swaps, logs, calls and changes of the state",
        parameters: &[Parameter::new("hash", Kind::Hash, "the hash").required()],
        answer: &[
            ("hash", "hex"),
            ("block", "integer"),
            ("index", "integer"),
            ("time", "integer"),
            ("from", "hex"),
            ("to", "hex?"),
            ("nonce", "integer"),
            ("value", "decimal"),
            ("gas_used", "integer"),
            ("gas_price", "decimal"),
            ("fee", "decimal?"),
            ("status", "boolean"),
            ("reason", "string?"),
            ("input", "hex"),
            ("method", "string?"),
            ("created", "hex?"),
            ("transfers", "Transfer[]"),
            ("swaps", "Swap[]"),
            ("unresolved", "hex[]"),
            ("logs", "Log[]"),
            ("calls", "any"),
            ("state", "StateChange[]?"),
            ("labels", "Label{}"),
            ("tokens", "Token{}"),
        ],
    },
    Endpoint {
        path: "/v1/transfers",
        summary: "Transfers, in order",
        parameters: &[
            Parameter::new("address", Kind::Address, "only of these addresses").repeated(),
            Parameter::new("from", Kind::Address, "only from this address"),
            Parameter::new("to", Kind::Address, "only to this address"),
            Parameter::new(
                "direction",
                Kind::Word(&["both", "out", "in"]),
                "what `address` sends, receives, or both",
            ),
            TOKEN,
            BLOCKS,
            MIN,
            INTERNAL,
            PARTIAL,
            Parameter::new(
                "order",
                Kind::Word(&["oldest", "newest"]),
                "which come first",
            ),
            Parameter::number("limit", [0, 100, LIST_MAX], "the number of transfers"),
            Parameter::number("offset", [0, 0, 100_000], "the number of transfers to skip"),
        ],
        answer: &[
            ("transfers", "Transfer[]"),
            ("more", "boolean"),
            ("labels", "Label{}"),
            ("tokens", "Token{}"),
        ],
    },
];
