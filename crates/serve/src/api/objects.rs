//! The objects in answers.

use super::endpoint::Fields;

/// The fields that every answer has.
pub(super) const EVERY: Fields = &[
    ("command", "string?"),
    ("incomplete", "string[]"),
    ("beyond", "string[]"),
];

/// The objects in answers, by name.
pub(super) const OBJECTS: &[(&str, Fields)] = &[
    (
        "Approval",
        &[
            ("kind", "string"),
            ("owner", "hex"),
            ("spender", "hex"),
            ("token_address", "hex"),
            ("token_id", "decimal?"),
            ("unlimited", "boolean"),
            ("amount", "decimal?"),
            ("at_risk", "decimal?"),
            ("expires_timestamp", "integer?"),
            ("last_timestamp", "integer"),
            ("last_block", "integer"),
            ("transaction_hash", "hex"),
        ],
    ),
    (
        "AssetBalance",
        &[
            ("token_address", "hex?"),
            ("token_standard", "string"),
            ("token_id", "decimal?"),
            ("opening", "decimal?"),
            ("received", "decimal"),
            ("sent", "decimal"),
            ("unexplained_received", "decimal?"),
            ("unexplained_sent", "decimal?"),
            ("closing", "decimal?"),
        ],
    ),
    ("Balance", &[("token", "Token"), ("amount", "decimal?")]),
    (
        "BlockTransaction",
        &[
            ("hash", "hex"),
            ("from", "hex"),
            ("to", "hex?"),
            ("value", "decimal"),
            ("status", "boolean?"),
        ],
    ),
    (
        "BlockWithdrawal",
        &[
            ("index", "integer"),
            ("validator", "integer"),
            ("to", "hex"),
            ("value", "decimal"),
        ],
    ),
    ("Coin", &[("symbol", "string"), ("decimals", "integer")]),
    (
        "CommonAddress",
        &[
            ("address", "hex"),
            ("depths", "integer[]"),
            ("counterparties", "integer?"),
            ("label", "Label?"),
        ],
    ),
    (
        "Creator",
        &[
            ("address", "hex?"),
            ("sender", "hex?"),
            ("transaction", "hex?"),
            ("block", "integer"),
        ],
    ),
    (
        "Edge",
        &[
            ("from", "hex"),
            ("to", "hex"),
            ("token", "string"),
            ("kind", "string"),
            ("count", "integer"),
            ("amount", "decimal"),
            ("first", "Position"),
            ("last", "Position"),
            ("from_label", "Label?"),
            ("to_label", "Label?"),
            ("from_contract", "boolean?"),
            ("to_contract", "boolean?"),
        ],
    ),
    (
        "Contract",
        &[
            ("implementation", "hex?"),
            ("token", "Token?"),
            ("total_supply", "decimal?"),
            ("pool", "Token[]"),
            ("owner", "hex?"),
            ("signers", "hex[]"),
            ("threshold", "decimal?"),
        ],
    ),
    ("Error", &[("error", "Reason")]),
    (
        "Flow",
        &[
            ("token_address", "hex?"),
            ("token_id", "decimal?"),
            ("at_most", "decimal"),
            ("cut", "WrittenTransfer[]"),
            ("parts", "FlowPart[]"),
        ],
    ),
    (
        "FlowPart",
        &[("amount", "decimal"), ("transfer", "WrittenTransfer")],
    ),
    (
        "Holder",
        &[
            ("address", "hex"),
            ("amount", "decimal"),
            ("label", "Label?"),
        ],
    ),
    (
        "Label",
        &[
            ("name", "string"),
            ("category", "string?"),
            ("kind", "string?"),
            ("source", "string?"),
        ],
    ),
    (
        "Log",
        &[
            ("index", "integer"),
            ("address", "hex"),
            ("topics", "hex[]"),
            ("data", "hex"),
            ("event", "string?"),
        ],
    ),
    (
        "Movement",
        &[
            ("timestamp", "integer?"),
            ("block_number", "integer"),
            ("transaction_index", "integer?"),
            ("kind", "string"),
            ("counterparty", "hex?"),
            ("received", "decimal?"),
            ("sent", "decimal?"),
            ("balance", "decimal?"),
            ("token_address", "hex?"),
            ("token_standard", "string"),
            ("token_id", "decimal?"),
            ("log_index", "integer?"),
            ("transaction_hash", "hex?"),
        ],
    ),
    (
        "Position",
        &[
            ("block", "integer"),
            ("time", "integer?"),
            ("transaction", "hex?"),
            ("index", "integer"),
        ],
    ),
    (
        "Reason",
        &[
            ("code", "string"),
            ("message", "string"),
            ("hint", "string?"),
        ],
    ),
    (
        "Route",
        &[("transfers", "Transfer[]"), ("hints", "string[]")],
    ),
    (
        "SearchResult",
        &[("kind", "string"), ("value", "string"), ("text", "string")],
    ),
    (
        "SlotChange",
        &[("slot", "hex"), ("before", "hex"), ("after", "hex")],
    ),
    (
        "StateChange",
        &[
            ("address", "hex"),
            ("balance", "decimal[]?"),
            ("nonce", "integer[]?"),
            ("created", "boolean"),
            ("destroyed", "boolean"),
            ("slots", "SlotChange[]"),
        ],
    ),
    (
        "Swap",
        &[
            ("address", "hex"),
            ("to", "hex"),
            ("given_token", "string"),
            ("given", "decimal"),
            ("got_token", "string"),
            ("got", "decimal"),
        ],
    ),
    (
        "Tip",
        &[("number", "integer"), ("hash", "hex"), ("time", "integer")],
    ),
    (
        "Token",
        &[
            ("address", "hex?"),
            ("symbol", "string?"),
            ("decimals", "integer?"),
            ("name", "string?"),
            ("is_claim", "boolean"),
        ],
    ),
    (
        "Transfer",
        &[
            ("block", "integer"),
            ("time", "integer?"),
            ("transaction", "hex?"),
            ("index", "integer"),
            ("log_index", "integer?"),
            ("kind", "string"),
            ("standard", "string"),
            ("from", "hex"),
            ("to", "hex"),
            ("token", "string"),
            ("amount", "decimal"),
            ("id", "decimal?"),
        ],
    ),
    (
        "Vertex",
        &[
            ("address", "hex"),
            ("column", "integer"),
            ("row", "integer"),
            ("depth", "integer"),
            ("label", "Label?"),
            ("is_contract", "boolean?"),
            ("marks", "string[]"),
        ],
    ),
    (
        "WrittenTransfer",
        &[
            ("log_index", "integer?"),
            ("sub_index", "integer"),
            ("token_address", "hex?"),
            ("from_address", "hex"),
            ("to_address", "hex"),
            ("value", "decimal"),
            ("token_id", "decimal?"),
            ("token_standard", "string"),
            ("kind", "string"),
            ("block_number", "integer"),
            ("block_timestamp", "integer?"),
            ("transaction_index", "integer"),
            ("transaction_hash", "hex?"),
        ],
    ),
];
