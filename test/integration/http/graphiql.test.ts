/**
 * A newcomer's way through GraphiQL in a browser: every tab from the left, unchanged.
 */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createGraphiqlPage, nameOf } from '../../../src/http/pages/graphiql.ts';
import { ROLES } from '../../../src/identity/roles.ts';
import { watchRetirements } from '../../../src/resolvers/operations/watchRetirements.ts';
import { GRAPHIQL_EXAMPLES } from '../../../src/schema/examples.ts';
import { DEVELOPMENT_SUBJECTS } from '../../../src/startup/developmentTokens.ts';
import { chromiumPath, openBrowser } from '../../support/http/browser.ts';
import { startMarketplace, tokenOf, type Marketplace } from '../../support/http/marketplace.ts';

/** The expected text in each tab's answer; a subscription's tab is left once the text is there. */
const ANSWERS: Readonly<Record<string, RegExp>> = {
  ProjectUpdated: /"state": "OPEN"/,
  PurchaseForAnother: /"code": "FORBIDDEN"/,
  RetirementUpdated: /"state": "RETIRED"/,
  RetirementFeed: /"beneficiary": "Acme Airlines"/,
  Registry: /"tonnes": "250"/,
  Reconciliation: /"agrees": true/,
  ReceiptUpdated: /"state": "ACTIVE"/,
  OffRampSessionUpdated: /"state": "AWAITING_PAYOUT"/,
  ApiKeys: /"code": "FORBIDDEN"/,
};

describe.skipIf(chromiumPath === undefined)('GraphiQL in a browser', () => {
  let marketplace: Marketplace;
  let browser: Browser;
  let page: Page;
  const violations: string[] = [];

  beforeAll(async () => {
    const tokens = Object.fromEntries(
      await Promise.all(
        ROLES.map(async (role) => [role, await tokenOf({ role, subject: DEVELOPMENT_SUBJECTS[role] })]),
      ),
    ) as Record<string, string>;
    [browser, marketplace] = await Promise.all([
      openBrowser(),
      startMarketplace({ graphiql: createGraphiqlPage({ examples: GRAPHIQL_EXAMPLES, tokens }) }),
    ]);
    await watchRetirements(marketplace.app.dependencies);
    page = await browser.newPage();
    page.on('console', (message) => {
      if (/Content Security Policy/.test(message.text())) violations.push(message.text());
    });
    page.on('pageerror', (error) => violations.push(error.message));
  });
  afterAll(async () => {
    await browser?.close();
    await marketplace?.stop();
  });

  const textOf = (file: string) =>
    page.evaluate(
      (name) =>
        (
          globalThis as unknown as {
            monaco?: { editor: { getModels(): { uri: { path: string }; getValue(): string }[] } };
          }
        ).monaco?.editor
          .getModels()
          .find(({ uri }) => uri.path.endsWith(`-${name}`))
          ?.getValue() ?? '',
      file,
    );

  async function open(name: string): Promise<void> {
    await page.locator(`.graphiql-tab-button[title="${name}"]`).dispatchEvent('click');
    await expect.poll(() => textOf('operation.graphql')).toContain(` ${name}`);
    await expect.poll(() => textOf('variables.json')).not.toContain('run the tab');
  }

  /** Runs the open tab, and waits for the expected answer. */
  async function run(name: string, expected: RegExp): Promise<void> {
    const execute = page.getByRole('button', { name: /^Execute query/ });
    await execute.dispatchEvent('click');
    const answer = async () => {
      const text = await textOf('response.json');
      // After a change of tabs, GraphiQL takes some moments to notice the operation in the new tab.
      if (text.includes('Cannot infer operation')) await execute.dispatchEvent('click');
      return text;
    };
    await expect.poll(answer, { message: name }).toMatch(expected);
    // An operation that has already ended can't be stopped.
    const stop = page.getByRole('button', { name: /^Stop query/ });
    if (await stop.isVisible())
      await stop.dispatchEvent('click', {}, { timeout: 1_000 }).catch(() => undefined);
  }

  it('runs every tab from the left, with nothing pasted', async () => {
    await page.goto(marketplace.url);
    await page.locator('#role').waitFor();
    expect(await page.locator('.graphiql-tab-button').allTextContents()).toEqual(
      GRAPHIQL_EXAMPLES.map(({ document }) => nameOf(document)),
    );
    for (const { document } of GRAPHIQL_EXAMPLES) {
      const name = nameOf(document);
      await open(name);
      await run(name, ANSWERS[name] ?? /"data": \{\s+"\w+": \{/);
      expect(await textOf('response.json').then((text) => text.includes('"errors"')), name).toBe(
        ANSWERS[name]?.source.includes('FORBIDDEN') ?? false,
      );
    }
  }, 240_000);

  it('has the administrator’s token once its user chooses it, and keeps answers over a reload', async () => {
    expect(await page.content()).not.toContain(await tokenOf({ role: 'admin', subject: 'admin' }));
    const ofOperator = await textOf('request-headers.json');
    await page.locator('#role').selectOption('admin');
    await expect.poll(() => textOf('request-headers.json')).not.toBe(ofOperator);
    expect(await textOf('request-headers.json')).toContain('Bearer');
    await run('ApiKeys', /"totalCount"/);
    await page.reload();
    await page.locator('#role').waitFor();
    await open('Registry');
    await run('Registry', /"tonnes": "250"/);
    await page.locator('.graphiql-tab-button[title=Purchase]').click();
    await expect.poll(() => page.locator('#role').inputValue()).toBe('buyer');
  });

  it('shows the editors, the whole answer and the last button on a phone', async () => {
    await page.setViewportSize({ width: 390, height: 844 });
    await page.goto(marketplace.url);
    await page.locator('#role').waitFor();
    const [editors, answer, lastButton] = await Promise.all(
      ['.graphiql-editors', '.graphiql-response', '.graphiql-sidebar button:last-child'].map((selector) =>
        page.locator(selector).boundingBox(),
      ),
    );
    expect(editors?.width).toBeGreaterThan(280);
    expect(answer?.width).toBeGreaterThan(280);
    expect(answer?.height).toBeGreaterThan(200);
    expect((lastButton?.y ?? Infinity) + (lastButton?.height ?? 0)).toBeLessThanOrEqual(844);
  });

  it('has a content security policy that its own scripts keep', () => {
    expect(violations).toEqual([]);
  });
});
