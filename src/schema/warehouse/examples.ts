/**
 * GraphiQL's ready-made operations for receipts: from a deposit to a pledge and a payout.
 */
import type { GraphiqlExample } from '../core/example.ts';

export const WAREHOUSE_EXAMPLES: readonly GraphiqlExample[] = [
  {
    role: null,
    document: `# 11. The network, and the address of custody on it: the
# platform holds the tokens of farmers without a wallet.
query LedgerNetwork {
  ledgerNetwork {
    name
    custodyAddress
  }
}`,
  },
  {
    role: 'warehouse',
    document: `# 12. A warehouse confirms a deposit: a receipt token for a
# farmer, kept in custody. A farmer with a wallet gives the
# wallet's own address instead, and signs (docs/wallets.md).
mutation CreateDeposit($custodyAddress: Address!) {
  createDeposit(
    input: {
      farmerAddress: $custodyAddress
      farmerId: "farmer-1"
      commodityType: "Maize"
      quantityKg: 5000
      warehouseId: "warehouse-1"
      gradeClassification: "Grade 1"
      valuationUSD: 2000
      idempotencyKey: "deposit-1"
    }
  ) {
    receipt {
      id
      state
      assetId
      expiryDate
    }
  }
}`,
    variables: { custodyAddress: 'LedgerNetwork.ledgerNetwork.custodyAddress' },
  },
  {
    role: 'warehouse',
    document: `# 13. This shows the receipt as it changes, until it expires.
# Stop it once the state is ACTIVE.
subscription ReceiptUpdated($id: ID!) {
  receiptUpdated(id: $id) {
    state
    tokenAddress
    expiryDate
  }
}`,
    variables: { id: 'CreateDeposit.createDeposit.receipt.id' },
  },
  {
    role: 'farmer',
    document: `# 14. The farmer pledges the receipt for a loan. Nothing of it
# can be cashed out meanwhile.
mutation PledgeReceipt($receiptTokenAddress: Address!) {
  pledgeReceipt(
    input: {
      receiptTokenAddress: $receiptTokenAddress
      lenderId: "lender-1"
      lenderName: "Savings Cooperative"
      loanReference: "loan-1"
      idempotencyKey: "pledge-1"
    }
  ) {
    receiptPledge {
      lenderName
      loanReference
      pledgedAt
    }
  }
}`,
    variables: { receiptTokenAddress: 'ReceiptUpdated.receiptUpdated.tokenAddress' },
  },
  {
    role: 'lender',
    document: `# 15. The loan is paid back: the lender releases the pledge.
mutation ReleasePledge($receiptTokenAddress: Address!) {
  releasePledge(
    input: { receiptTokenAddress: $receiptTokenAddress, loanReference: "loan-1", idempotencyKey: "release-1" }
  ) {
    receiptPledge {
      loanReference
      releasedAt
    }
  }
}`,
    variables: { receiptTokenAddress: 'ReceiptUpdated.receiptUpdated.tokenAddress' },
  },
  {
    role: 'farmer',
    document: `# 16. What would a cash-out pay?
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
  },
  {
    role: 'farmer',
    document: `# 17. The farmer cashes out: the tokens go into the settlement
# contract, then the provider pays.
mutation CashOut($receiptTokenAddress: Address!) {
  cashOut(
    input: {
      receiptTokenAddress: $receiptTokenAddress
      tokenAmount: 1000
      fiatCurrency: "KES"
      countryCode: "KE"
      payoutAccount: { type: MOBILE_MONEY, accountNumber: "+254700123456", provider: "Airtel" }
      idempotencyKey: "cash-out-1"
    }
  ) {
    offRampSession {
      id
      state
      payout {
        amount
        currency
      }
    }
  }
}`,
    variables: { receiptTokenAddress: 'ReceiptUpdated.receiptUpdated.tokenAddress' },
  },
  {
    role: 'farmer',
    document: `# 18. This shows the cash-out as it changes, until it is
# settled. Stop it once the state is AWAITING_PAYOUT.
subscription OffRampSessionUpdated($id: ID!) {
  offRampSessionUpdated(id: $id) {
    state
    sessionId
    depositTxHash
  }
}`,
    variables: { id: 'CashOut.cashOut.offRampSession.id' },
  },
  {
    role: 'operator',
    document: `# 19. The person who pays, an operator here, says that it is
# paid; the webhook does the rest.
mutation Paid($sessionId: String!) {
  setManualSessionStatus(input: { sessionId: $sessionId, status: SETTLED }) {
    status
  }
}`,
    variables: { sessionId: 'OffRampSessionUpdated.offRampSessionUpdated.sessionId' },
  },
  {
    role: 'farmer',
    document: `# 20. The farmer's cash-outs, with what the provider and the
# network said of them.
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
          kind
          state
          txHash
        }
      }
    }
  }
}`,
  },
];
