/**
 * What Relay's compiler reads. In a bundled application babel-plugin-relay replaces each of these with its
 * artifact; this program imports the artifacts itself, so this file is never run.
 */
import { graphql } from 'relay-runtime';

graphql`
  fragment operations_project on Project @refetchable(queryName: "operationsProjectRefetchQuery") {
    assetId
    state
    tokenAddress
    unsoldTonnes
  }
`;

graphql`
  fragment operations_projects on Query
  @argumentDefinitions(count: { type: "Int", defaultValue: 10 }, cursor: { type: "String" })
  @refetchable(queryName: "operationsProjectsPageQuery") {
    projects(first: $count, after: $cursor) @connection(key: "operations_projects") {
      edges {
        node {
          id
          ...operations_project
        }
      }
    }
  }
`;

graphql`
  query operationsProjectsQuery {
    ...operations_projects
  }
`;

graphql`
  mutation operationsPurchaseMutation($input: PurchaseInput!) {
    purchase(input: $input) {
      purchase {
        id
        tonnes
        project {
          id
          ...operations_project
        }
      }
    }
  }
`;

graphql`
  mutation operationsRetireMutation($input: RetireInput!) {
    retire(input: $input) {
      retirement {
        id
        state
      }
    }
  }
`;

graphql`
  subscription operationsLiveSubscription($after: String) {
    retirementFeed(after: $after) {
      cursor
      record {
        tokenAddress
        beneficiary
        tonnes
      }
    }
  }
`;
