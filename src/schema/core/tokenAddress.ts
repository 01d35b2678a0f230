/**
 * The argument or field that names a token: `tokenAddress: t.arg(TOKEN_ADDRESS)`, `tokenAddress:
 * t.field(PROJECT_TOKEN)`.
 */
export const TOKEN_ADDRESS = {
  type: 'Address',
  required: true,
  description: "The token's address on the ledger network.",
} as const;

export const PROJECT_TOKEN = {
  ...TOKEN_ADDRESS,
  description: "The address of the project's token.",
} as const;
export const RECEIPT_TOKEN = {
  ...TOKEN_ADDRESS,
  description: "The address of the receipt's token.",
} as const;
