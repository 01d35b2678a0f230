/**
 * The operations that GraphiQL opens with, in the order in which a newcomer would try them.
 */
export const GRAPHIQL_EXAMPLES: readonly string[] = [
  `# 1. Submit a verified project: its credits are issued on the ledger network.
# Copy the tokenAddress of the answer into the other tabs.
mutation CreateProject {
  createProject(
    input: {
      creditType: "VCU"
      verificationBodyRef: "VCS-1748"
      vintageYear: 2024
      quantityCO2e: 1000
      projectLocation: "Kasigau Corridor, Kenya"
      projectType: "REDD+"
      countryCode: "KE"
      idempotencyKey: "project-1"
    }
  ) {
    tokenAddress
    txHash
    project {
      id
      state
      assetId
      quantityCO2e
      unsoldTonnes
    }
  }
}

# No tokenAddress yet? The network takes longer than a mutation waits: ask again, by the id of the answer.
query CreatedProject {
  node(id: "paste the id of the project here") {
    ... on Project {
      state
      tokenAddress
    }
  }
}`,
  `# 2. What is for sale? (A tokenAddress can be copied from here, too.)
query Projects {
  projects(first: 10, filter: { buyable: true }) {
    edges {
      node {
        tokenAddress
        assetId
        projectLocation
        vintageYear
        unsoldTonnes
      }
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}`,
  `# 3. A buyer purchases. Only the platform's books change.
mutation Purchase {
  purchase(
    input: {
      buyerId: "acme"
      tokenAddress: "PASTE-THE-TOKEN-ADDRESS-HERE"
      amountCO2e: 600
      idempotencyKey: "purchase-1"
    }
  ) {
    purchase {
      id
      tonnes
      project {
        unsoldTonnes
      }
    }
  }
}`,
  `# 4. Watch retirements live. GraphiQL ends this when you change tabs: start it here,
# and retire from a second browser window, or with npm run demo.
subscription RetirementFeed {
  retirementFeed(after: "0") {
    cursor
    record {
      tokenAddress
      index
      beneficiary
      tonnes
      note
      txHash
    }
  }
}`,
  `# 5. The buyer retires. The credits are burned on the network.
mutation Retire {
  retire(
    input: {
      buyerId: "acme"
      buyerName: "Acme Airlines"
      tokenAddress: "PASTE-THE-TOKEN-ADDRESS-HERE"
      amountCO2e: 250
      note: "Business travel 2025"
      idempotencyKey: "retirement-1"
    }
  ) {
    txHash
    retirement {
      id
      state
      tonnes
      recordIndex
    }
  }
}

# Still PENDING? The network takes longer than a mutation waits: ask again, by the id of the answer.
query MadeRetirement {
  node(id: "paste the id of the retirement here") {
    ... on Retirement {
      state
      txHash
      recordIndex
    }
  }
}`,
  `# 6. The public registry: the token's own retirement history.
query Registry {
  registry(tokenAddress: "PASTE-THE-TOKEN-ADDRESS-HERE") {
    totalRetired
    totalRetirements
    records {
      index
      beneficiary
      note
      tonnes
      timestamp
      retiredBy
      txHash
    }
  }
}`,
  `# 7. Do books and network agree?
query Reconciliation {
  reconciliation(tokenAddress: "PASTE-THE-TOKEN-ADDRESS-HERE") {
    agrees
    books {
      issued
      inventory
      heldByBuyers
      retiring
      retired
    }
    network {
      totalSupply
      totalRetired
      custodyBalance
    }
    findings {
      invariant
      message
    }
  }
}`,
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
