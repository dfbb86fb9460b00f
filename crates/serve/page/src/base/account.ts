// Answers about an account, as docs/serve-own-api.md describes them.

import type { Address, Answer, Label, Tokens } from "./types.ts";

/** What `spender` may take of the tokens of `owner`. */
export interface Approval {
  kind: string;
  owner: Address;
  spender: Address;
  token_address: Address;
  token_id: string | null;
  unlimited: boolean;
  amount: string | null;
  at_risk: string | null;
  expires_timestamp: number | null;
  last_timestamp: number;
  last_block: number;
  transaction_hash: string;
}

export interface ApprovalsAnswer extends Answer {
  address: Address;
  approvals: Approval[];
  block: number;
  labels: Record<Address, Label>;
  tokens: Tokens;
}

/** An asset of an account, before and after some blocks. */
export interface AssetBalance {
  token_address: Address | null;
  token_standard: string;
  token_id: string | null;
  opening: string | null;
  received: string;
  sent: string;
  unexplained_received: string | null;
  unexplained_sent: string | null;
  closing: string | null;
}

/** A change of a balance. */
export interface Movement {
  timestamp: number | null;
  block_number: number;
  kind: string;
  counterparty: Address | null;
  received: string | null;
  sent: string | null;
  balance: string | null;
  token_address: Address | null;
  token_standard: string;
  token_id: string | null;
  transaction_hash: string | null;
}

export interface StatementAnswer extends Answer {
  address: Address;
  metadata: { requested: { first: number; last: number }[] };
  balances: AssetBalance[];
  movements: Movement[];
  labels: Record<Address, Label>;
  tokens: Tokens;
}
