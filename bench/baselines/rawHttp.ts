/**
 * The minimal server in Node.js: node:http reads the request as JSON and responds with JSON that it already
 * has, or that one SELECT returns.
 *
 * Leaves out: GraphQL, tokens, limits, logs, security headers, errors.
 */
import postgres from 'postgres';
import { readJson, serveBaseline } from './baselineServer.ts';

const POOL_SIZE = 20;

const sql = postgres(process.env['PRODUCT_DATABASE_URL'] ?? '', { max: POOL_SIZE });

let kept = '';

/** Each returns the text of its response. */
const answers: Readonly<Record<string, (body: never) => string | Promise<string>>> = {
  '/query': () => '{"data":{"__typename":"Query"}}',
  '/mutation': ({ variables: { input } }: { variables: { input: { amountCO2e: number } } }) =>
    JSON.stringify({ data: { retire: `${input.amountCO2e} tonnes` } }),
  '/project': async ({ variables }: { variables: { tokenAddress: string } }) =>
    JSON.stringify({ data: { project: await project(variables.tokenAddress) } }),
  '/keep': (body) => {
    kept = JSON.stringify(body);
    return '';
  },
  '/kept': () => kept,
};

serveBaseline((request, response) => {
  readJson(request, async (body) => {
    const text = await (answers[request.url ?? '']?.(body as never) ?? '');
    response.writeHead(200, {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(text),
    });
    response.end(text);
  });
});

async function project(tokenAddress: string) {
  const [found] = await sql`
    SELECT p.asset_id AS "assetId", p.state, p.credit_type AS "creditType", p.vintage_year AS "vintageYear",
      p.quantity_tonnes AS "quantityCO2e", p.project_location AS "projectLocation", p.token_address AS "tokenAddress"
    FROM projects p WHERE p.token_address = ${tokenAddress}`;
  return found ?? null;
}
