/**
 * Mutations that wait for the network occupy their places: one caller leaves some to everyone else.
 */
import { expect, it } from 'vitest';
import { ROLES } from '../../../src/identity/roles.ts';
import { createBuilder } from '../../../src/schema/core/createBuilder.ts';
import { startServer, testLimits, token, until } from '../../support/http/httpServer.ts';

it('are at most half of all for one caller, whatever it repeats', async () => {
  let running = 0;
  let goOn = () => {};
  const held = new Promise<void>((resolve) => (goOn = resolve));
  const builder = createBuilder<object>();
  builder.queryType({
    fields: (t) => ({ hello: t.string({ authScopes: { public: true }, resolve: () => 'world' }) }),
  });
  builder.mutationType({
    fields: (t) => ({
      write: t.string({
        authScopes: { role: ROLES },
        recordedInput: {},
        safeWithoutKey: 'it does nothing',
        resolve: async (_root, _args, { caller }) => {
          running += 1;
          if (caller?.subject === 'slow') await held;
          return 'written';
        },
      }),
    }),
  });
  const limits = { ...testLimits(), MAX_MUTATIONS_IN_FLIGHT: 4 };
  const server = await startServer({ schema: builder.toSchema(), limits });
  const write = async (subject: string) => {
    const authorization = `Bearer ${await token(['buyer'], { subject })}`;
    const response = await server.post({ query: 'mutation { write }' }, { authorization });
    return response.json();
  };
  const slow = Array.from({ length: 4 }, () => write('slow'));
  await until(() => running >= 2);
  expect(await write('quick')).toMatchObject({ data: { write: 'written' } });
  expect(running).toBe(3);
  goOn();
  expect(await Promise.all(slow)).toMatchObject(slow.map(() => ({ data: { write: 'written' } })));
  await server.close(0);
});
