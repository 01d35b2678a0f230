/**
 * GraphiQL's ready-made operations for receipts: from a deposit to a payout.
 */
export const WAREHOUSE_EXAMPLES: readonly string[] = [
  `# 8. A warehouse confirms a deposit: a receipt token for a farmer.
# cashOut deposits what custody holds: query { ledgerNetwork { custodyAddress } }. A farmer with a wallet gives the
# wallet's own address instead, and cashes out with prepareCashOutDeposit (13.)
mutation CreateDeposit {
  createDeposit(
    input: {
      farmerAddress: "PASTE-THE-CUSTODY-ADDRESS-HERE"
      farmerId: "wanjiku"
      commodityType: "Maize"
      quantityKg: 5000
      warehouseId: "NBO-7"
      gradeClassification: "Grade 1"
      valuationUSD: 2000
      idempotencyKey: "deposit-1"
    }
  ) {
    tokenAddress
    txHash
    receipt {
      id
      state
      assetId
      expiryDate
    }
  }
}

# No tokenAddress yet? The network takes longer than a mutation waits: ask again, by the id of the answer.
query CreatedReceipt {
  node(id: "paste the id of the receipt here") {
    ... on Receipt {
      state
      tokenAddress
    }
  }
}`,
  `# 9. What would a cash-out pay?
query Quote {
  offRampQuote(tokenAmount: 1000, fiatCurrency: "KES") {
    payout {
      amount
      currency
    }
    fee {
      amount
      currency
    }
    exchangeRate
    expiresAt
  }
}`,
  `# 10. The farmer cashes out: the tokens go into custody, the provider pays.
mutation OffRampSession {
  cashOut(
    input: {
      receiptTokenAddress: "PASTE-THE-TOKEN-ADDRESS-OF-THE-RECEIPT-HERE"
      tokenAmount: 1000
      fiatCurrency: "KES"
      countryCode: "KE"
      payoutAccount: { type: MOBILE_MONEY, accountNumber: "+254700123456", provider: "Airtel" }
      idempotencyKey: "cash-out-1"
    }
  ) {
    sessionId
    txHash
    offRampSession {
      id
      state
      payout {
        amount
        currency
      }
    }
  }
}

# Pay when the state is AWAITING_PAYOUT: until then ask again, by the id of the answer.
query OpenedSession {
  node(id: "paste the id of the session here") {
    ... on OffRampSession {
      state
      sessionId
      depositTxHash
    }
  }
}`,
  `# 11. The person who pays says that it is paid; the webhook does the rest.
mutation Paid {
  setManualSessionStatus(input: { sessionId: "paste the sessionId here", status: SETTLED }) {
    status
  }
}`,
  `# 12. Every cash-out, with what the provider and the network said of it.
query OffRampSessions {
  offRampSessions(first: 10) {
    edges {
      node {
        state
        payout {
          amount
          currency
        }
        providerHistory {
          status
          observedAt
        }
        transactions {
          call
          state
          txHash
        }
      }
    }
  }
}`,
];
