// Answers of the server, as docs/serve-own-api.md describes them.

export type Address = string;
export type TokenId = string;

export interface Label {
  name: string;
  /** The word of its file. */
  category: string | null;
  /** The kind of that word, which has a color and a shape. */
  kind?: string | null;
  source?: string | null;
}

export interface Token {
  address: string | null;
  symbol: string | null;
  decimals: number | null;
  name: string | null;
}

export interface Position {
  block: number;
  time: number | null;
  transaction: string | null;
  index: number;
}

export type Tokens = Record<TokenId, Token>;

/** All transfers of a token from one address to another. */
export interface Edge {
  from: Address;
  to: Address;
  token: TokenId;
  kind: string;
  count: number;
  amount: string;
  first: Position;
  last: Position;
  from_label?: Label | null;
  to_label?: Label | null;
  from_contract?: boolean | null;
  to_contract?: boolean | null;
  /** That of its answer. */
  as_of?: number | null;
  /** What a transaction exchanges by this arrow. */
  swap?: Swap;
}

export interface Transfer {
  block: number;
  time: number | null;
  transaction: string | null;
  index: number;
  log_index: number | null;
  kind: string;
  /** The standard of the token: `native`, `erc20`, `erc721`, `erc1155`. */
  standard: string;
  from: Address;
  to: Address;
  token: TokenId;
  amount: string;
  id: string | null;
}

/** Parts that every answer has. */
export interface Answer {
  command: string | null;
  incomplete: string[];
  /** The sentences of `incomplete` about rows beyond those that were asked for. */
  beyond: string[];
  /** The newest block when the server answered: its header `X-Txgraph-Block`. */
  as_of: number | null;
}

export interface Info extends Answer {
  version: string;
  chain_id: number;
  chain: string | null;
  coin: { symbol: string; decimals: number };
  tip: { number: number; hash: string; time: number | null };
  has_index: boolean;
  has_state: boolean;
  has_internal: boolean;
  /** Whether the index has the transfers inside of transactions. */
  index_has_internal: boolean;
  blocks: number[];
}

export interface Found {
  kind: "address" | "transaction" | "block" | "token";
  value: string;
  text: string;
}

export interface SearchAnswer extends Answer {
  results: Found[];
}

/** What a contract is, as far as its code, its storage and its own answers say. */
export interface Contract {
  implementation: Address | null;
  token: Token | null;
  total_supply: string | null;
  pool: Token[];
  owner: Address | null;
  signers: Address[];
  threshold: string | null;
}

export interface AddressAnswer extends Answer {
  address: Address;
  label: Label | null;
  is_contract: boolean | null;
  contract: Contract | null;
  nonce: number | null;
  balance: string | null;
  balances: { token: Token; amount: string | null }[];
  creator: { address: Address | null; transaction: string | null } | null;
  first: Position | null;
  last: Position | null;
  transfers: number | null;
}

export interface NeighborsAnswer extends Answer {
  address: Address;
  direction: "in" | "out";
  edges: Edge[];
  more: number;
  tokens: Tokens;
}

export interface TransfersAnswer extends Answer {
  transfers: Transfer[];
  more: boolean;
  tokens: Tokens;
  labels?: Record<Address, Label>;
}

export interface GraphVertex {
  address: Address;
  column: number;
  row: number;
  depth: number;
  label: Label | null;
  is_contract: boolean | null;
  marks: string[];
}

export interface GraphAnswer extends Answer {
  vertices: GraphVertex[];
  edges: Edge[];
  tokens: Tokens;
}

/** A transfer as the command line writes it. */
export interface WrittenTransfer {
  from_address: Address;
  to_address: Address;
  token_address: Address | null;
  token_id: string | null;
  token_standard: string;
  value: string;
  block_timestamp: number | null;
  block_number: number;
  transaction_hash: string | null;
}

/** The most of an asset that can have gone from one address to another. */
export interface Flow {
  token_address: Address | null;
  token_id: string | null;
  at_most: string;
  cut: WrittenTransfer[];
  parts: { amount: string; transfer: WrittenTransfer }[];
}

export interface PathAnswer extends Answer {
  found: boolean;
  transfers: Transfer[];
  hints: string[];
  tokens: Tokens;
  flows: Flow[] | null;
}

export interface LabelsAnswer extends Answer {
  labels: Record<Address, Label>;
}

export interface Call {
  type: string;
  from: Address;
  to?: Address | null;
  value?: string | null;
  gas?: string;
  gasUsed?: string;
  input?: string;
  output?: string;
  error?: string | null;
  revertReason?: string | null;
  method?: string | null;
  calls?: Call[];
}

export interface LogRow {
  index: number;
  address: Address;
  topics: string[];
  data: string;
  event: string | null;
}

export interface StateChange {
  address: Address;
  balance: [string, string] | null;
  nonce: [number | string, number | string] | null;
  created: boolean;
  destroyed: boolean;
  slots: { slot: string; before: string; after: string }[];
}

/** What `address` gave in a transaction, and what `to` got for it. */
export interface Swap {
  address: Address;
  to: Address;
  given_token: string;
  given: string;
  got_token: string;
  got: string;
}

export interface TransactionAnswer extends Answer {
  hash: string;
  block: number;
  index: number;
  time: number | null;
  from: Address;
  to: Address | null;
  value: string;
  gas_used: number | string | null;
  gas_price: number | string | null;
  fee: string | null;
  status: number | boolean | null;
  input: string;
  method: string | null;
  created: Address | null;
  transfers: Transfer[];
  swaps: Swap[];
  unresolved: Address[];
  tokens: Tokens;
  logs: LogRow[];
  calls: Call | null;
  state: StateChange[] | null;
  labels?: Record<Address, Label>;
  reason?: string | null;
}

export interface BlockAnswer extends Answer {
  number: number;
  hash: string;
  parent: string;
  time: number | null;
  miner: Address;
  gas_used: number | string;
  gas_limit: number | string;
  base_fee: number | string | null;
  transactions: {
    hash: string;
    from: Address;
    to: Address | null;
    value: string;
    status: number | boolean | null;
  }[];
  withdrawals: { index: number; validator: number; to: Address; value: string }[];
}

export interface TokenAnswer extends Answer {
  token: Token;
  transfers: number | null;
  holders: { address: Address; amount: string; label: Label | null }[];
  more: number;
}
