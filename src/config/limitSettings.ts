/**
 * The settings that limit the requests of callers and addresses, and the work under way at a time
 * (src/limits).
 */
import { setting, wholeNumber } from '../lib/settingRules.ts';

export const LIMIT_SETTINGS = {
  RATE_LIMIT_ADDRESS_PER_MINUTE: setting(
    wholeNumber(1, 1_000_000_000),
    '30000',
    'Requests, sockets and socket operations that one address may begin in a minute.',
  ),
  RATE_LIMIT_CALLER_PER_MINUTE: setting(
    wholeNumber(1, 1_000_000_000),
    '12000',
    'The same for one caller, from whichever address.',
  ),
  RATE_LIMIT_MUTATIONS_PER_MINUTE: setting(
    wholeNumber(1, 1_000_000_000),
    '6000',
    'Mutations that one caller, or one address without a token, may send in a minute.',
  ),
  RATE_LIMIT_REFUSED_CREDENTIALS_PER_MINUTE: setting(
    wholeNumber(1, 1_000_000_000),
    '60',
    'Refused tokens and API keys in a minute, after which an address has to wait.',
  ),
  MAX_CPU_PERCENT_PER_ADDRESS: setting(
    wholeNumber(1, 1_000_000),
    '20',
    'Percent of one processor that one address may make the server compute, over 2.5 s. docs/security.md says what counts.',
  ),
  MAX_OPERATION_COST: setting(
    // The minimum lets the pages and the console work: reading all records of a token costs 4,081.
    wholeNumber(5_000, 1_000_000),
    '10000',
    'The most that one operation may cost, about its number of objects, known from its text before it runs.',
  ),
  MAX_OPERATION_DEPTH: setting(
    wholeNumber(5, 100),
    '12',
    'How deep the fields of an operation may be nested.',
  ),
  MAX_CONNECTIONS: setting(
    wholeNumber(10, 1_000_000),
    '10000',
    'Connections of any kind that one instance holds.',
  ),
  MAX_CONNECTIONS_PER_ADDRESS: setting(
    wholeNumber(1, 1_000_000),
    '500',
    'The same from one address; behind trusted proxies, its unfinished requests alone.',
  ),
  MAX_SOCKETS_PER_ADDRESS: setting(wholeNumber(1, 1_000_000), '200', 'Websockets from one address.'),
  MAX_SUBSCRIPTIONS: setting(wholeNumber(1, 1_000_000), '20000', 'Subscriptions that one instance serves.'),
  MAX_SUBSCRIPTIONS_PER_ADDRESS: setting(
    wholeNumber(1, 1_000_000),
    '2000',
    'The same from one address, over all its sockets and streams.',
  ),
  MAX_QUERIES_IN_FLIGHT: setting(
    wholeNumber(1, 100_000),
    '200',
    'Queries that run at a time; as many again wait for a moment, the rest is OVERLOADED.',
  ),
  MAX_MUTATIONS_IN_FLIGHT: setting(
    wholeNumber(1, 100_000),
    '1000',
    'The same for mutations, most of which only wait for the network. One caller has at most half of them.',
  ),
} as const;
