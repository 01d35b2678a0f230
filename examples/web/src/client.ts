/**
 * Apollo Client for this API: operations go by their id, as trusted documents (the server's TRUSTED_DOCUMENTS
 * is src/graphql/persisted-documents.json), and subscriptions over the same HTTP connection, in parts.
 */
import { ApolloClient, ApolloLink, HttpLink, InMemoryCache } from '@apollo/client';
import { PersistedQueryLink } from '@apollo/client/link/persisted-queries';
import type { DocumentNode } from 'graphql';

/** Where codegen has left an operation's id. */
interface WithId {
  __meta__?: { hash?: string };
}

export function createWebClient(url: string, token: string): ApolloClient {
  const byId = new PersistedQueryLink({
    generateHash: (document: DocumentNode & WithId) => document.__meta__?.hash ?? '',
  });
  const http = new HttpLink({ uri: url, headers: { authorization: `Bearer ${token}` } });
  return new ApolloClient({
    link: ApolloLink.from([byId, http]),
    cache: new InMemoryCache(),
    clientAwareness: { name: 'web-example', version: '1.0.0' },
  });
}
