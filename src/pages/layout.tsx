/**
 * The frame of every page (head, masthead, main, footer), and its answer with the content security policy.
 */
import type { Child } from 'hono/jsx';
import type { PageAnswer } from '../http/server/pages.ts';
import { assetPath, type Script } from './assets.ts';
import { absolute, type Site } from './site.ts';

/**
 * No inline code or style, and nothing from other origins; the websocket of the live list has the page's
 * origin.
 */
const PAGE_POLICY = [
  "default-src 'none'",
  "style-src 'self'",
  "script-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');

interface PageHead {
  /** The title of window and previews; strangers' text in it is already shortened. */
  title: string;
  description: string;
  /** The canonical address of the page, from the root. */
  path: string;
  script?: Script;
  /** In the navigation. */
  section?: 'registry' | 'projects' | 'verify';
  /** Hides results of a search, forms and errors from search engines. */
  isUnlisted?: boolean;
}

const SECTIONS = [
  ['registry', '/', 'Retirements'],
  ['projects', '/projects', 'Projects'],
  ['verify', '/verify', 'Verify'],
] as const;

export function htmlAnswer(site: Site, head: PageHead, content: Child, status = 200): PageAnswer {
  const page = (
    <html lang="en">
      <Head site={site} head={head} />
      <body>
        <a class="skip" href="#content">
          Skip to the content
        </a>
        <Masthead section={head.section} />
        <main id="content" class="frame" tabindex={-1}>
          {content}
        </main>
        <Footer networkName={site.network.name} />
      </body>
    </html>
  );
  return {
    status,
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': PAGE_POLICY,
      'cache-control': 'no-cache',
    },
    body: `<!doctype html>${rendered(page)}`,
  };
}

/** As text. No component of the pages is asynchronous: a page asks for its data before it is rendered. */
export function rendered(element: unknown): string {
  return String(element);
}

function Head({ site, head }: { site: Site; head: PageHead }) {
  return (
    <head>
      <meta charset="utf-8" />
      <meta name="viewport" content="width=device-width, initial-scale=1" />
      <meta name="color-scheme" content="light dark" />
      <title>{`${head.title} · Carbon credit registry`}</title>
      <meta name="description" content={head.description} />
      {head.isUnlisted ? <meta name="robots" content="noindex" /> : null}
      <meta property="og:type" content="website" />
      <meta property="og:site_name" content="Carbon credit registry" />
      <meta property="og:title" content={head.title} />
      <meta property="og:description" content={head.description} />
      <meta property="og:url" content={absolute(site, head.path)} />
      <meta name="twitter:card" content="summary" />
      <link rel="canonical" href={absolute(site, head.path)} />
      <link rel="stylesheet" href={assetPath('site.css')} />
      <link rel="icon" href={assetPath('icon.svg')} type="image/svg+xml" />
      {head.script === undefined ? null : <script type="module" src={assetPath(head.script)}></script>}
    </head>
  );
}

function Masthead({ section: current }: Pick<PageHead, 'section'>) {
  return (
    <header class="masthead">
      <div class="frame">
        <a class="name" href="/">
          <span class="seal" aria-hidden="true"></span>
          Carbon credit registry
        </a>
        <nav aria-label="Registry">
          <ul>
            {SECTIONS.map(([section, href, label]) => (
              <li>
                <a href={href} {...(section === current ? { 'aria-current': 'page' } : {})}>
                  {label}
                </a>
              </li>
            ))}
          </ul>
        </nav>
      </div>
    </header>
  );
}

function Footer({ networkName }: { networkName: string }) {
  return (
    <footer class="foot">
      <div class="frame">
        <p>
          Every retirement listed here is a record of its token on the ledger network{' '}
          <strong>{networkName}</strong>, which this registry reads and can't change.{' '}
          <a href="/verify">Check one yourself.</a>
        </p>
        <p>
          Times are UTC; retirements have those of the network's clock. Credits are tonnes of CO₂ equivalent.
        </p>
      </div>
    </footer>
  );
}

export function redirect(path: string): PageAnswer {
  return { status: 308, headers: { location: path, 'cache-control': 'no-cache' }, body: '' };
}
