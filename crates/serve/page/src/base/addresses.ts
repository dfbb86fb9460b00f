// Addresses that a user types. Mixed case is a checksum (EIP-55), which shows typing errors.

import { keccak256 } from "./keccak.ts";

const ADDRESS = /^0x[0-9a-f]{40}$/;

/** Whether a text is an address in lower case, as answers have them. */
export const isAddress = (text: string): boolean => ADDRESS.test(text);

/** An address in the case that EIP-55 requires. */
export function checksummed(address: string): string {
  const digits = address.slice(2).toLowerCase();
  const hash = keccak256(digits);
  const isUpper = (at: number): boolean => Number.parseInt(hash[at] ?? "0", 16) >= 8;
  return `0x${[...digits].map((digit, at) => (isUpper(at) ? digit.toUpperCase() : digit)).join("")}`;
}

/** The address that a text names, in lower case; null if it names none. A wrong checksum is an error. */
export function addressOf(text: string): string | null {
  const written = text.trim();
  const address = written.toLowerCase();
  if (!isAddress(address)) return null;
  const digits = written.slice(2);
  const isMixed = /[a-f]/.test(digits) && /[A-F]/.test(digits);
  if (isMixed && checksummed(address).slice(2) !== digits) {
    throw new Error(`\`${written}\` has a wrong checksum; with these digits it is \`${checksummed(address)}\``);
  }
  return address;
}
