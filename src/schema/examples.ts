/**
 * The operations that GraphiQL opens with, in the order in which a newcomer would try them.
 */
interface Example {
  query: string;
  variables?: Readonly<Record<string, unknown>>;
}

export const GRAPHIQL_EXAMPLES: readonly Example[] = [
  {
    query: `# 1. Submit a verified project. Its credits are issued on the ledger network.
# Copy the tokenAddress from the answer into the other tabs' variables.
mutation CreateProject($input: CreateProjectInput!) {
  createProject(input: $input) {
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
    variables: {
      input: {
        creditType: 'VCU',
        verificationBodyRef: 'VCS-1748',
        vintageYear: 2024,
        quantityCO2e: 1000,
        projectLocation: 'Kasigau Corridor, Kenya',
        projectType: 'REDD+',
        countryCode: 'KE',
        idempotencyKey: 'project-1',
      },
    },
  },
  {
    query: `# 2. What is for sale? (Copy a tokenAddress from here, too.)
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
  },
  {
    query: `# 3. A buyer purchases. Only the platform's books change.
mutation Purchase($input: PurchaseInput!) {
  purchase(input: $input) {
    purchase {
      id
      tonnes
      project {
        unsoldTonnes
      }
    }
  }
}`,
    variables: {
      input: {
        buyerId: 'acme',
        tokenAddress: 'paste the tokenAddress here',
        amountCO2e: 600,
        idempotencyKey: 'purchase-1',
      },
    },
  },
  {
    query: `# 4. Watch retirements live. Start this, then retire in the next tab.
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
  },
  {
    query: `# 5. The buyer retires. The credits are burned on the network.
mutation Retire($input: RetireInput!) {
  retire(input: $input) {
    txHash
    retirement {
      id
      state
      tonnes
      recordIndex
    }
  }
}`,
    variables: {
      input: {
        buyerId: 'acme',
        buyerName: 'Acme Airlines',
        tokenAddress: 'paste the tokenAddress here',
        amountCO2e: 250,
        note: 'Business travel 2025',
        idempotencyKey: 'retirement-1',
      },
    },
  },
  {
    query: `# 6. The public registry: the token's own retirement history.
query Registry($tokenAddress: String!) {
  registry(tokenAddress: $tokenAddress) {
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
    variables: { tokenAddress: 'paste the tokenAddress here' },
  },
  {
    query: `# 7. Do books and network agree?
query Reconciliation($tokenAddress: String!) {
  reconciliation(tokenAddress: $tokenAddress) {
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
    variables: { tokenAddress: 'paste the tokenAddress here' },
  },
];
