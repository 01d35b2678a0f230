/**
 * GraphiQL's ready-made operations for credits: from a project to a retirement, and the proof.
 */
export const CARBON_EXAMPLES: readonly string[] = [
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
];
