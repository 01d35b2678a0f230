/* eslint-disable */
/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import type { TypedDocumentNode as DocumentNode } from '@graphql-typed-document-node/core';
/** An amount of fiat money with its currency. */
export type MoneyInput = {
  /** The exact amount, in units of the currency. */
  amount: string;
  /** The currency. */
  currency: string;
};

/** The state of a project's issuance. */
export type ProjectState =
  /** The token is being deployed. */
  | 'DEPLOYING'
  /** The token is deployed, and the verified quantity is being minted into custody. */
  | 'MINTING'
  /** An operator has to decide. Nothing is for sale. */
  | 'NEEDS_REVIEW'
  /** The whole quantity is minted and for sale. */
  | 'OPEN'
  /** The network refused the token, or an operator ended the issuance. Nothing was issued, and the reference can be used again. */
  | 'REFUSED';

/** The credits to buy, and the buyer. */
export type PurchaseInput = {
  /** The amount to buy, in whole tonnes CO2e. */
  amountCO2e: number | string;
  /** The buyer: the subject of the buyer's token. Defaults to the caller, who then needs role buyer. */
  buyerId?: string | null | undefined;
  /** Whether to make every check and change nothing. The response describes the effect that the mutation would have, or contains the error that it would return. The `idempotencyKey` is neither checked nor used up. Concurrent changes can still alter the outcome of the real mutation. */
  dryRun?: boolean;
  /** The price of a tonne that the buyer expects. When another price or no price is in force, nothing is booked (PRICE_CHANGED). When omitted, the purchase is booked at the price in force. */
  expectedPricePerTonne?: MoneyInput | null | undefined;
  /** A key chosen by the client, such as a UUID: 1 to 255 printable ASCII characters. The same key with the same input returns the same result without a second effect. The same key with a different input returns IDEMPOTENCY_CONFLICT. A key whose request had an effect is kept permanently. */
  idempotencyKey: string;
  /** The address of the project's token. */
  tokenAddress: string;
};

/** The credits to retire, the buyer and the beneficiary. */
export type RetireInput = {
  /** The amount to retire, in whole tonnes CO2e. */
  amountCO2e: number | string;
  /** The beneficiary's id in a public register, such as an LEI or a company number: 1 to 128 bytes of UTF-8. Public. */
  beneficiaryId?: string | null | undefined;
  /** The buyer: the subject of the buyer's token. Defaults to the caller, who then needs role buyer. */
  buyerId?: string | null | undefined;
  /** The beneficiary on the public record: a text label, not an address. 1 to 256 bytes of UTF-8, without control, bidirectional, invisible or unassigned characters. Stored in NFC and without leading and trailing white space; filters also find the text as it was sent. */
  buyerName: string;
  /** Whether to make every check and change nothing. The response describes the effect that the mutation would have, or contains the error that it would return. The `idempotencyKey` is neither checked nor used up. Concurrent changes can still alter the outcome of the real mutation. The network is not asked. */
  dryRun?: boolean;
  /** A key chosen by the client, such as a UUID: 1 to 255 printable ASCII characters. The same key with the same input returns the same result without a second effect. The same key with a different input returns IDEMPOTENCY_CONFLICT. A key whose request had an effect is kept permanently. */
  idempotencyKey: string;
  /** The country under whose rules the credits are claimed. Required with reason COMPLIANCE. Public. */
  jurisdiction?: string | null | undefined;
  /** A remark on the public record: at most 1024 bytes of UTF-8, without control, bidirectional, invisible or unassigned characters, and therefore in one line. May be empty; null means the empty text. Stored in NFC and without leading and trailing white space. */
  note?: string | null | undefined;
  /** The period whose emissions the credits stand for. Public. */
  period?: RetirementPeriodInput | null | undefined;
  /** The reason for the retirement. Public. */
  reason?: RetirementReason | null | undefined;
  /** The address of the project's token. */
  tokenAddress: string;
};

/** The period whose emissions a retirement stands for. */
export type RetirementPeriodInput = {
  /** The first day of the period. */
  from: string;
  /** The day after the last day of the period. */
  until: string;
};

/** The reason for retiring credits, as registries record it. */
export type RetirementReason =
  /** Towards another country's nationally determined contribution, or other international mitigation, under Article 6 of the Paris Agreement. */
  | 'ARTICLE_6'
  /** To meet an obligation under the law of the `jurisdiction`, which it requires, such as a carbon tax or an emissions trading system. */
  | 'COMPLIANCE'
  /** To contribute to climate action, without claiming to have compensated for emissions; also called environmental benefit. */
  | 'CONTRIBUTION'
  /** To meet an airline's obligation under CORSIA, the ICAO's scheme for international aviation. */
  | 'CORSIA'
  /** To compensate for the beneficiary's own emissions, voluntarily. */
  | 'VOLUNTARY_OFFSET';

/** The state of a retirement. */
export type RetirementState =
  /** No rule can decide whether the burn landed. The credits are held until an operator decides. */
  | 'NEEDS_REVIEW'
  /** The credits are held, and the burn is in progress in the background. */
  | 'PENDING'
  /** The network refused the burn, or an operator ended the retirement. Nothing was burned, and the credits were returned to the buyer. */
  | 'REFUSED'
  /** The credits are permanently burned. */
  | 'RETIRED';

export type OpenProjectsQueryVariables = Exact<{
  first: number;
}>;


export type OpenProjectsQuery = { projects: { __typename: 'ProjectConnection', edges: Array<{ __typename: 'ProjectEdge', node: { __typename: 'Project', id: string, assetId: string, state: ProjectState, tokenAddress: string | null, unsoldTonnes: string } }> } | null };

export type PurchaseMutationVariables = Exact<{
  input: PurchaseInput;
}>;


export type PurchaseMutation = { purchase: { __typename: 'PurchasePayload', purchase: { __typename: 'Purchase', id: string, tonnes: string } | null } | null };

export type RetireMutationVariables = Exact<{
  input: RetireInput;
}>;


export type RetireMutation = { retire: { __typename: 'RetirePayload', retirement: { __typename: 'Retirement', id: string, state: RetirementState, tonnes: string } | null } | null };

export type RetirementStateQueryVariables = Exact<{
  id: string | number;
}>;


export type RetirementStateQuery = { node:
    | { __typename: 'ApiKey' }
    | { __typename: 'ApprovalRequest' }
    | { __typename: 'AuditEntry' }
    | { __typename: 'BuyerAccount' }
    | { __typename: 'CreditTransfer' }
    | { __typename: 'ExpiryRun' }
    | { __typename: 'HolderAct' }
    | { __typename: 'IssuanceCap' }
    | { __typename: 'OffRampSession' }
    | { __typename: 'Project' }
    | { __typename: 'Purchase' }
    | { __typename: 'Receipt' }
    | { __typename: 'ReceiptPledge' }
    | { __typename: 'Retirement', id: string, state: RetirementState, txHash: string | null }
    | { __typename: 'RetirementRecord' }
    | { __typename: 'Submission' }
    | { __typename: 'TokenRevocation' }
   | null };

export type LiveRetirementsSubscriptionVariables = Exact<{
  after?: string | null | undefined;
}>;


export type LiveRetirementsSubscription = { retirementFeed: { __typename: 'RetirementFeedEvent', cursor: string, record: { __typename: 'RetirementRecord', index: number, tokenAddress: string, beneficiary: string, tonnes: string } } };


export const OpenProjectsDocument = {"__meta__":{"hash":"sha256:43e5b48c9bcae0cd59f29dfd0fa92c201d30ab587d61f99454113a1818ef2c9a"},"kind":"Document","definitions":[{"kind":"OperationDefinition","operation":"query","name":{"kind":"Name","value":"OpenProjects"},"variableDefinitions":[{"kind":"VariableDefinition","variable":{"kind":"Variable","name":{"kind":"Name","value":"first"}},"type":{"kind":"NonNullType","type":{"kind":"NamedType","name":{"kind":"Name","value":"Int"}}}}],"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"projects"},"arguments":[{"kind":"Argument","name":{"kind":"Name","value":"first"},"value":{"kind":"Variable","name":{"kind":"Name","value":"first"}}}],"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"edges"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"node"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"id"}},{"kind":"Field","name":{"kind":"Name","value":"assetId"}},{"kind":"Field","name":{"kind":"Name","value":"state"}},{"kind":"Field","name":{"kind":"Name","value":"tokenAddress"}},{"kind":"Field","name":{"kind":"Name","value":"unsoldTonnes"}},{"kind":"Field","name":{"kind":"Name","value":"__typename"}}]}},{"kind":"Field","name":{"kind":"Name","value":"__typename"}}]}},{"kind":"Field","name":{"kind":"Name","value":"__typename"}}]}}]}}]} as unknown as DocumentNode<OpenProjectsQuery, OpenProjectsQueryVariables>;
export const PurchaseDocument = {"__meta__":{"hash":"sha256:5ca13cbd857855fbfd7c8a4a66500082ff3525b28b43d7a3e511c70f114516be"},"kind":"Document","definitions":[{"kind":"OperationDefinition","operation":"mutation","name":{"kind":"Name","value":"Purchase"},"variableDefinitions":[{"kind":"VariableDefinition","variable":{"kind":"Variable","name":{"kind":"Name","value":"input"}},"type":{"kind":"NonNullType","type":{"kind":"NamedType","name":{"kind":"Name","value":"PurchaseInput"}}}}],"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"purchase"},"arguments":[{"kind":"Argument","name":{"kind":"Name","value":"input"},"value":{"kind":"Variable","name":{"kind":"Name","value":"input"}}}],"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"purchase"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"id"}},{"kind":"Field","name":{"kind":"Name","value":"tonnes"}},{"kind":"Field","name":{"kind":"Name","value":"__typename"}}]}},{"kind":"Field","name":{"kind":"Name","value":"__typename"}}]}}]}}]} as unknown as DocumentNode<PurchaseMutation, PurchaseMutationVariables>;
export const RetireDocument = {"__meta__":{"hash":"sha256:02206915ba6f583afdfbe0c8fd1eb6f2ed04301ce667f14c84eb6777c17190d0"},"kind":"Document","definitions":[{"kind":"OperationDefinition","operation":"mutation","name":{"kind":"Name","value":"Retire"},"variableDefinitions":[{"kind":"VariableDefinition","variable":{"kind":"Variable","name":{"kind":"Name","value":"input"}},"type":{"kind":"NonNullType","type":{"kind":"NamedType","name":{"kind":"Name","value":"RetireInput"}}}}],"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"retire"},"arguments":[{"kind":"Argument","name":{"kind":"Name","value":"input"},"value":{"kind":"Variable","name":{"kind":"Name","value":"input"}}}],"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"retirement"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"id"}},{"kind":"Field","name":{"kind":"Name","value":"state"}},{"kind":"Field","name":{"kind":"Name","value":"tonnes"}},{"kind":"Field","name":{"kind":"Name","value":"__typename"}}]}},{"kind":"Field","name":{"kind":"Name","value":"__typename"}}]}}]}}]} as unknown as DocumentNode<RetireMutation, RetireMutationVariables>;
export const RetirementStateDocument = {"__meta__":{"hash":"sha256:6faf2a28fbc22ec20e31140e27775e7bac521520c2f8d30f2a79258bbd9535b8"},"kind":"Document","definitions":[{"kind":"OperationDefinition","operation":"query","name":{"kind":"Name","value":"RetirementState"},"variableDefinitions":[{"kind":"VariableDefinition","variable":{"kind":"Variable","name":{"kind":"Name","value":"id"}},"type":{"kind":"NonNullType","type":{"kind":"NamedType","name":{"kind":"Name","value":"ID"}}}}],"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"node"},"arguments":[{"kind":"Argument","name":{"kind":"Name","value":"id"},"value":{"kind":"Variable","name":{"kind":"Name","value":"id"}}}],"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"InlineFragment","typeCondition":{"kind":"NamedType","name":{"kind":"Name","value":"Retirement"}},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"id"}},{"kind":"Field","name":{"kind":"Name","value":"state"}},{"kind":"Field","name":{"kind":"Name","value":"txHash"}},{"kind":"Field","name":{"kind":"Name","value":"__typename"}}]}},{"kind":"Field","name":{"kind":"Name","value":"__typename"}}]}}]}}]} as unknown as DocumentNode<RetirementStateQuery, RetirementStateQueryVariables>;
export const LiveRetirementsDocument = {"__meta__":{"hash":"sha256:36fe4fc1c2f3bbfafa446c09b3d45a5867f9fb8adcb20b4bfce70c55ea758907"},"kind":"Document","definitions":[{"kind":"OperationDefinition","operation":"subscription","name":{"kind":"Name","value":"LiveRetirements"},"variableDefinitions":[{"kind":"VariableDefinition","variable":{"kind":"Variable","name":{"kind":"Name","value":"after"}},"type":{"kind":"NamedType","name":{"kind":"Name","value":"String"}}}],"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"retirementFeed"},"arguments":[{"kind":"Argument","name":{"kind":"Name","value":"after"},"value":{"kind":"Variable","name":{"kind":"Name","value":"after"}}}],"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"cursor"}},{"kind":"Field","name":{"kind":"Name","value":"record"},"selectionSet":{"kind":"SelectionSet","selections":[{"kind":"Field","name":{"kind":"Name","value":"index"}},{"kind":"Field","name":{"kind":"Name","value":"tokenAddress"}},{"kind":"Field","name":{"kind":"Name","value":"beneficiary"}},{"kind":"Field","name":{"kind":"Name","value":"tonnes"}},{"kind":"Field","name":{"kind":"Name","value":"__typename"}}]}},{"kind":"Field","name":{"kind":"Name","value":"__typename"}}]}}]}}]} as unknown as DocumentNode<LiveRetirementsSubscription, LiveRetirementsSubscriptionVariables>;