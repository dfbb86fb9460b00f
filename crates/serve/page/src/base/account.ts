// Answers about an account, as docs/serve.md describes them.

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
