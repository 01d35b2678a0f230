/**
 * The argument that names a token: `tokenAddress: t.arg(TOKEN_ADDRESS)`.
 */
export const TOKEN_ADDRESS = {
  type: 'Address',
  required: true,
  description: "The token's address on the ledger network.",
} as const;
