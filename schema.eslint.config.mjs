/**
 * graphql-eslint's recommended and Relay rules for the contract (`npm run lint:schema`), with exceptions.
 */
import graphql from '@graphql-eslint/eslint-plugin';

export default [
  {
    files: ['schema.graphql'],
    plugins: { '@graphql-eslint': graphql },
    languageOptions: {
      parser: graphql.parser,
      parserOptions: { graphQLConfig: { schema: './schema.graphql' } },
    },
    rules: {
      ...graphql.configs['flat/schema-recommended'].rules,
      ...graphql.configs['flat/schema-relay'].rules,
      // What has an identity implements Node. Payloads, pages, edges and values (money, a balance, a verdict)
      // have none: clients' caches keep them within what they are part of.
      '@graphql-eslint/strict-id-in-types': 'off',
      '@graphql-eslint/relay-edge-types': [
        'error',
        {
          // Connections also have `nodes`, as GitHub's do; and short lists of values are plain lists.
          listTypeCanWrapOnlyEdgeType: false,
          // Entries of the audit log, of statements and of balances are values: none is requested by its id.
          shouldImplementNode: false,
        },
      ],
      // `Project.projectLocation` and `projectType` are the specification's names, in input and answer.
      '@graphql-eslint/no-typename-prefix': 'off',
    },
  },
];
