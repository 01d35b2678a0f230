/**
 * GraphiQL's ready-made operations for administrators.
 */
import type { GraphiqlExample } from '../core/example.ts';

export const ACCESS_EXAMPLES: readonly GraphiqlExample[] = [
  {
    role: 'operator',
    document: `# 21. API keys are for administrators alone: with the
# operator's token this is FORBIDDEN. No tab begins with the
# administrator's token, which may do everything: choose it
# above, then run this again.
query ApiKeys {
  apiKeys(first: 10) {
    nodes {
      name
      subject
      roles
      expiresAt
    }
    totalCount
  }
}`,
  },
];
