/**
 * The operator's console for operators and others; a part of the pages' test, with its server and browser.
 */
import { eq, sql } from 'drizzle-orm';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { expect, it, vi } from 'vitest';
import { offRampSessions, retirements, signingAccounts, submissions } from '../../../src/db/tables/index.ts';
import { NetworkUnavailable } from '../../../src/ledger/network/port.ts';
import { changePastRules } from '../../support/database/database.ts';
import { burnOutside } from '../../support/burnOutside.ts';
import { buy, buyer, mutate, newToken, operator, payloadOf } from '../../support/http/creditTrade.ts';
import { tokenOf, type Marketplace, type TestCaller } from '../../support/http/marketplace.ts';
import { depositedCashOut, sessionOf } from '../../support/warehouse.ts';

interface ConsoleStage {
  market(): Marketplace;
  withPage(
    options: Parameters<Browser['newContext']>[0],
    work: (page: Page, context: BrowserContext) => Promise<void>,
    allowed?: RegExp,
  ): Promise<void>;
  /** The violations that axe finds. */
  violations(page: Page, options: string): Promise<string[]>;
  addAxe(page: Page): Promise<unknown>;
  /** The server's policy; a test may change whether approvals need a second person. */
  approvalPolicy: { isRequired: boolean };
  slowMs: number;
}

export function testConsole({
  market,
  withPage,
  violations,
  addAxe,
  approvalPolicy,
  slowMs,
}: ConsoleStage): void {
  async function signIn(page: Page, caller: TestCaller): Promise<string> {
    const token = await tokenOf(caller);
    await page.goto('/console');
    await page.getByLabel('Bearer token').fill(token);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('Read 0 s ago').or(page.getByText('Read 1 s ago')).first().waitFor();
    return token;
  }

  it(
    'says plainly that a token is wrong, and keeps none of it',
    async () => {
      await withPage(
        {},
        async (page) => {
          await page.goto('/console');
          await page.getByLabel('Bearer token').fill('no.such.token');
          await page.keyboard.press('Enter');
          await page.getByText(/UNAUTHENTICATED: /).waitFor();
          expect(await page.getByLabel('Bearer token').inputValue()).toBe('');
          expect(await page.getByRole('button', { name: 'Forget the token' }).isVisible()).toBe(false);
        },
        // Chromium logs a line about the answer 401.
        /401/,
      );
    },
    slowMs,
  );

  it(
    'shows a caller without the role what is public, and no button that decides',
    async () => {
      await withPage({}, async (page) => {
        await signIn(page, buyer('acme'));
        await page.getByRole('heading', { name: 'Signing works' }).waitFor();
        expect(await page.locator('button:visible').allInnerTexts()).toEqual(['Forget the token']);
        expect(await page.getByText('Submissions under review').isVisible()).toBe(false);
        expect(await page.locator('#work-problems li').count()).toBe(0);
      });
    },
    slowMs,
  );

  it(
    'says that the network could not be asked, and still whether signing works',
    async () => {
      const silent = vi.spyOn(market().network, 'status').mockRejectedValue(new NetworkUnavailable('silent'));
      await withPage({}, async (page) => {
        await signIn(page, buyer('acme'));
        await page.getByRole('heading', { name: 'The network could not be asked' }).waitFor();
        expect(await page.getByRole('heading', { name: 'Signing works' }).isVisible()).toBe(true);
      }).finally(() => silent.mockRestore());
    },
    slowMs,
  );

  it(
    'lets an operator adopt what the network shows, and shows it settled',
    async () => {
      const { db } = market().app.dependencies;
      const tokenAddress = await newToken(market(), { quantityCO2e: 10 });
      await buy(market(), 'acme', tokenAddress, 10);
      await burnOutside(market().network, { tokenAddress }, 4n);
      const input = { buyerId: 'acme', buyerName: 'Acme Ltd', tokenAddress, amountCO2e: 4, note: 'flights' };
      const asked = ['retire', 'RetireInput', 'retirement { state }'] as const;
      const { retirement } = payloadOf(
        await mutate<{ retirement: { state: string } }>(market(), asked, input, buyer('acme')),
      );
      expect(retirement.state).toBe('NEEDS_REVIEW');

      await withPage({}, async (page, context) => {
        const token = await signIn(page, operator);
        await page.getByRole('button', { name: 'Adopt …' }).click();
        const dialog = page.getByRole('dialog');
        await dialog.getByText('Yes: it can be adopted.').waitFor();
        expect(await dialog.innerText()).toContain('It can’t be taken back.');
        await dialog.getByRole('button', { name: 'Adopt' }).click();
        await dialog.getByText('A reason is needed').waitFor();
        await dialog.getByLabel(/^Reason/).fill('the other system burned it');
        await dialog.getByRole('button', { name: 'Adopt' }).click();
        await page.getByText('Decided: the submission is SUCCEEDED now.').waitFor();
        await page.locator('#review:empty').waitFor({ state: 'attached' });
        expect(
          await db
            .select({ state: retirements.state })
            .from(retirements)
            .where(eq(retirements.state, 'NEEDS_REVIEW')),
        ).toEqual([]);
        const decided = await db.select().from(submissions).where(eq(submissions.state, 'NEEDS_REVIEW'));
        expect(decided).toEqual([]);

        // The token is kept only in memory.
        const kept = await page.evaluate<string>(
          `JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href, document.body.innerHTML,
          [...document.querySelectorAll('input')].map(({ value }) => value), performance.getEntries().map(({ name }) => name)])`,
        );
        expect(kept).not.toContain(token);
        expect(JSON.stringify(await context.storageState({ indexedDB: true }))).not.toContain(token);
        await page.getByRole('button', { name: 'Forget the token' }).click();
        await page.getByText('The token is forgotten.').waitFor();
        expect(await page.locator('#console').innerText()).not.toContain('ops');
      });
    },
    slowMs,
  );

  it(
    'forgets the token when the page is left, also on the way back',
    async () => {
      await withPage({}, async (page) => {
        await signIn(page, operator);
        await page.goto('/projects');
        await page.goBack();
        await page.getByRole('button', { name: 'Sign in' }).waitFor();
        expect(await page.getByRole('button', { name: 'Forget the token' }).isVisible()).toBe(false);
      });
    },
    slowMs,
  );

  it(
    'shows a halt of signing while it lasts, and ends it',
    async () => {
      const { db } = market().app.dependencies;
      // The embedded network has no signing order.
      const halt = { address: 'custody', nextSequence: 0n, haltedBecause: 'a test <b>says</b> so' };
      await withPage({}, async (page) => {
        await signIn(page, operator);
        await db
          .insert(signingAccounts)
          .values(halt)
          .onConflictDoUpdate({ target: signingAccounts.address, set: halt });
        await page.getByRole('heading', { name: 'Signing is halted' }).waitFor();
        // The page shows the reason as text, not as HTML.
        await page.getByText('a test <b>says</b> so').waitFor();
        await page.getByRole('button', { name: 'Let signing go on …' }).press('Enter');
        await page
          .getByRole('dialog')
          .getByLabel(/^Reason/)
          .fill('looked at it');
        await page.getByRole('dialog').getByRole('button', { name: 'Let signing go on' }).click();
        await page.getByText('Signing goes on.', { exact: true }).waitFor();
        await page.getByRole('heading', { name: 'Signing works' }).waitFor();
        expect(await db.select().from(signingAccounts)).toMatchObject([{ haltedBecause: null }]);
      });
    },
    slowMs,
  );

  it(
    'lets another person approve what one has asked for, and not the same one',
    async () => {
      const { db } = market().app.dependencies;
      const halt = { address: 'custody', nextSequence: 0n, haltedBecause: 'a test of two people' };
      await db
        .insert(signingAccounts)
        .values(halt)
        .onConflictDoUpdate({ target: signingAccounts.address, set: halt });
      approvalPolicy.isRequired = true;
      try {
        await withPage({}, async (page) => {
          await signIn(page, operator);
          await page.getByRole('button', { name: 'Let signing go on …' }).click();
          await page
            .getByRole('dialog')
            .getByLabel(/^Reason/)
            .fill('looked at it');
          await page.getByRole('dialog').getByRole('button', { name: 'Let signing go on' }).click();
          await page.getByText('Not done yet: another person has to approve it.').waitFor();
          await page.locator('#approvals').getByText('(you: another person has to approve it)').waitFor();
          const buttons = page.locator('#approvals').getByRole('button');
          expect(await buttons.allInnerTexts()).toEqual(['Withdraw …']);
          await page.getByRole('button', { name: 'Withdraw …' }).click();
          await page.getByRole('dialog').getByRole('button', { name: 'End the request' }).click();
          await page.getByRole('dialog').getByText('A reason is needed').waitFor();
          await page.getByRole('dialog').getByRole('button', { name: 'Do nothing' }).click();
        });
        await withPage({}, async (page) => {
          await signIn(page, { role: 'operator', subject: 'second' });
          await page.getByRole('button', { name: 'Approve …' }).click();
          await page.getByRole('dialog').getByText('looked at it').waitFor();
          await page.getByRole('dialog').getByRole('button', { name: 'Approve' }).click();
          await page.getByText('Approved and done.').waitFor();
          await page.getByRole('heading', { name: 'Signing works' }).waitFor();
        });
      } finally {
        approvalPolicy.isRequired = false;
      }
      expect(await db.select().from(signingAccounts)).toMatchObject([{ haltedBecause: null }]);
    },
    slowMs,
  );

  it(
    'reads off-ramp sessions when it is asked to, and shows the refusal of a decision in the words of the API',
    async () => {
      const { app } = market();
      const session = await depositedCashOut(app);
      // The session's provider is no longer configured, so an operator decides.
      const stranded = sql`UPDATE ${offRampSessions} SET provider_name = 'old-ramp' WHERE id = ${session.id}`;
      await changePastRules(market().database, stranded);
      await withPage({}, async (page) => {
        await signIn(page, operator);
        await page.getByRole('button', { name: 'Read them now' }).click();
        await page.getByText('HTTP old-ramp, PENDING').waitFor();
        await page.getByRole('button', { name: 'Accept what the network shows …' }).click();
        const dialog = page.getByRole('dialog');
        await dialog.getByLabel(/^Reason/).fill('looked at it');
        await dialog.getByRole('button', { name: /^Accept/ }).click();
        await dialog.getByText(/CONFLICT: /).waitFor();
        await dialog.getByRole('button', { name: 'Do nothing' }).click();
        await page.getByRole('button', { name: 'Refund …' }).click();
        await dialog.getByLabel(/^Reason/).fill('the provider says no');
        await dialog.getByRole('button', { name: /^Refund/ }).click();
        await page.getByText(/^Decided: the session is /).waitFor();
        await expect.poll(async () => (await sessionOf(app, session.receiptId)).state).toBe('REFUNDED');
      });
    },
    slowMs,
  );

  it(
    'says that the connection is lost, how old what it shows is, and when it is back',
    async () => {
      await withPage(
        {},
        async (page) => {
          await signIn(page, operator);
          await page.route('**/graphql', (route) => route.abort());
          await page.getByText(/No answer came .* What is shown is old\./).waitFor();
          // The last reading stays on the page, with its age.
          expect(await page.getByRole('heading', { name: 'Signing works' }).isVisible()).toBe(true);
          await page.unroute('**/graphql');
          await page.locator('#connection:not(.lost)').waitFor();
        },
        /ERR_FAILED/,
      );
    },
    slowMs,
  );

  it(
    'has no violation that axe finds, on a phone and a desktop, light and dark',
    async () => {
      for (const [width, scheme, other] of [
        [320, 'dark', 'light'],
        [1280, 'light', 'dark'],
      ] as const) {
        const options = { viewport: { width, height: 800 }, colorScheme: scheme, bypassCSP: true };
        await withPage(options, async (page) => {
          await page.goto('/console');
          await addAxe(page);
          const found = await violations(page, '{}');
          await signIn(page, operator);
          await page.getByText('I15:').waitFor();
          await addAxe(page);
          found.push(...(await violations(page, '{}')));
          await page.emulateMedia({ colorScheme: other });
          found.push(...(await violations(page, "{ runOnly: ['color-contrast'] }")));
          expect([width, found]).toEqual([width, []]);
          expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width);
        });
      }
    },
    slowMs,
  );
}
