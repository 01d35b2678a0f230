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
}`,
  `# 2. What is for sale? (A tokenAddress can be copied from here, too.)
query Projects {
  projects(first: 10, filter: { available: true }) {
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
      tokenAddress: "paste the tokenAddress here"
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
      tokenAddress: "paste the tokenAddress here"
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
}`,
  `# 6. The public registry: the token's own retirement history.
query Registry {
  registry(tokenAddress: "paste the tokenAddress here") {
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
  reconciliation(tokenAddress: "paste the tokenAddress here") {
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
      farmerAddress: "paste the custodyAddress here"
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
}`,
  `# 9. What would a cash-out pay?
query Quote {
  offRampQuote(tokenAmount: 1000, fiatCurrency: "KES") {
    fiatAmount
    feeFiat
    exchangeRate
    expiresAt
  }
}`,
  `# 10. The farmer cashes out: the tokens go into custody, the provider pays.
mutation CashOut {
  cashOut(
    input: {
      receiptTokenAddress: "paste the tokenAddress of the receipt here"
      tokenAmount: 1000
      fiatCurrency: "KES"
      countryCode: "KE"
      payoutAccount: { type: MOBILE_MONEY, accountNumber: "+254700123456", provider: "Airtel" }
      idempotencyKey: "cash-out-1"
    }
  ) {
    sessionId
    txHash
    session {
      id
      state
      fiatAmount
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
query CashOuts {
  cashOutSessions(first: 10) {
    edges {
      node {
        state
        fiatAmount
        providerHistory {
          status
          observedAt
        }
        networkHistory {
          kind
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
      receiptTokenAddress: "paste the tokenAddress of the receipt here"
      holder: "paste the address of the wallet here"
      tokenAmount: 1000
      fiatCurrency: "KES"
      countryCode: "KE"
      payoutAccount: { type: MOBILE_MONEY, accountNumber: "+254700123456", provider: "Airtel" }
      idempotencyKey: "wallet-cash-out-1"
    }
  ) {
    session {
      id
      state
      signUntil
      fiatAmount
    }
    act {
      id
      kind
      state
      unsigned {
        format
        payload
        validUntil
      }
    }
  }
}`,
  `# 14. A holder of credits retires them with a wallet: this gives what to sign.
mutation PrepareRetirement {
  prepareRetirement(
    input: {
      tokenAddress: "paste the tokenAddress here"
      amountCO2e: 5
      holder: "paste the address of the wallet here"
      beneficiary: "Acme Airlines"
      note: "Business travel 2025"
      idempotencyKey: "wallet-retirement-1"
    }
  ) {
    act {
      id
      unsigned {
        format
        payload
        validUntil
      }
    }
  }
}`,
  `# 15. What the wallet signed comes back, and goes to the network.
mutation SubmitSigned {
  submitSigned(input: { id: "paste the id of the act here", signed: "paste what the wallet gave here" }) {
    act {
      state
      txHash
      recordIndex
    }
  }
}`,
];
