/**
 * GraphiQL's ready-made operations for credits: from a project to a retirement, and the proof.
 */
import type { GraphiqlExample } from '../core/example.ts';

export const CARBON_EXAMPLES: readonly GraphiqlExample[] = [
  {
    role: 'developer',
    document: `# 1. A developer submits a verified project: its credits are
# issued on the ledger network. Run the tabs from the left:
# each is given what it needs of the answers before it.
mutation CreateProject {
  createProject(
    input: {
      creditType: "VCU"
      verificationBodyRef: "VCS-1748"
      vintageYear: 2024
      quantityCO2e: 1000
      projectLocation: "Kasigau Corridor"
      projectType: "REDD+"
      countryCode: "KE"
      idempotencyKey: "project-1"
    }
  ) {
    project {
      id
      state
      assetId
      quantityCO2e
    }
  }
}`,
  },
  {
    role: null,
    document: `# 2. The network may take longer than a mutation waits. This
# waits for the end: the state OPEN.
subscription ProjectUpdated($id: ID!) {
  projectUpdated(id: $id) {
    state
    assetId
    tokenAddress
    unsoldTonnes
  }
}`,
    variables: { id: 'CreateProject.createProject.project.id' },
  },
  {
    role: null,
    document: `# 3. What is for sale? Projects are public: this tab has no
# token.
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
  },
  {
    role: 'buyer',
    document: `# 4. A buyer purchases. Only the platform's books change.
mutation Purchase($tokenAddress: Address!) {
  purchase(
    input: { buyerId: "acme", tokenAddress: $tokenAddress, amountCO2e: 600, idempotencyKey: "purchase-1" }
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
    variables: { tokenAddress: 'ProjectUpdated.projectUpdated.tokenAddress' },
  },
  {
    role: 'buyer',
    document: `# 5. FORBIDDEN is the right answer here: the token is of the
# buyer acme, and a buyer acts under the buyerId that equals
# the subject of its token. A buyer named globex, or an
# operator, could do this: choose another token above.
mutation PurchaseForAnother($tokenAddress: Address!) {
  purchase(
    input: { buyerId: "globex", tokenAddress: $tokenAddress, amountCO2e: 10, idempotencyKey: "purchase-2" }
  ) {
    purchase {
      id
    }
  }
}`,
    variables: { tokenAddress: 'ProjectUpdated.projectUpdated.tokenAddress' },
  },
  {
    role: 'buyer',
    document: `# 6. The buyer retires. The credits are burned on the network.
mutation Retire($tokenAddress: Address!) {
  retire(
    input: {
      buyerId: "acme"
      buyerName: "Acme Airlines"
      tokenAddress: $tokenAddress
      amountCO2e: 250
      note: "Business travel 2025"
      idempotencyKey: "retirement-1"
    }
  ) {
    retirement {
      id
      state
      tonnes
    }
  }
}`,
    variables: { tokenAddress: 'ProjectUpdated.projectUpdated.tokenAddress' },
  },
  {
    role: 'buyer',
    document: `# 7. It ends as RETIRED. Its certificate is on the page that
# this server shows at /.
subscription RetirementUpdated($id: ID!) {
  retirementUpdated(id: $id) {
    state
    txHash
    recordIndex
  }
}`,
    variables: { id: 'Retire.retire.retirement.id' },
  },
  {
    role: null,
    document: `# 8. All retirements from the first one on, then each as it
# happens, until you stop it. GraphiQL also stops it when you
# change tabs: to watch one happen, run npm run demo in a
# terminal.
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
    role: null,
    document: `# 9. The public registry: the token's own retirement history.
query Registry($tokenAddress: Address!) {
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
    variables: { tokenAddress: 'ProjectUpdated.projectUpdated.tokenAddress' },
  },
  {
    role: 'operator',
    document: `# 10. An operator asks whether books and network agree.
query Reconciliation($tokenAddress: Address!) {
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
    variables: { tokenAddress: 'ProjectUpdated.projectUpdated.tokenAddress' },
  },
];
