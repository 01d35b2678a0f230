/**
 * GraphiQL's ready-made operations for wallets: what holders sign themselves.
 */
export const WALLET_EXAMPLES: readonly string[] = [
  `# 13. A farmer with a wallet cashes out what lies at the wallet's own address: this gives what to sign.
mutation PrepareCashOutDeposit {
  prepareCashOutDeposit(
    input: {
      receiptTokenAddress: "PASTE-THE-TOKEN-ADDRESS-OF-THE-RECEIPT-HERE"
      holderAddress: "PASTE-THE-ADDRESS-OF-THE-WALLET-HERE"
      tokenAmount: 1000
      fiatCurrency: "KES"
      countryCode: "KE"
      payoutAccount: { type: MOBILE_MONEY, accountNumber: "+254700123456", provider: "Airtel" }
      idempotencyKey: "wallet-cash-out-1"
    }
  ) {
    offRampSession {
      id
      state
      signatureDueAt
      payout {
        amount
        currency
      }
    }
    holderAct {
      id
      kind
      state
      unsigned {
        format
        payload
        expiresAt
      }
    }
  }
}`,
  `# 14. A holder of credits retires them with a wallet: this gives what to sign.
mutation PrepareRetirement {
  prepareRetirement(
    input: {
      tokenAddress: "PASTE-THE-TOKEN-ADDRESS-HERE"
      amountCO2e: 5
      holderAddress: "PASTE-THE-ADDRESS-OF-THE-WALLET-HERE"
      beneficiary: "Acme Airlines"
      note: "Business travel 2025"
      idempotencyKey: "wallet-retirement-1"
    }
  ) {
    holderAct {
      id
      unsigned {
        format
        payload
        expiresAt
      }
    }
  }
}`,
  `# 15. What the wallet signed comes back, and goes to the network.
mutation SubmitSigned {
  submitSigned(input: { holderActId: "paste the id of the act here", signed: "paste what the wallet gave here" }) {
    holderAct {
      state
      txHash
      recordIndex
    }
  }
}`,
];
