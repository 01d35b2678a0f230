/**
 * What proves that a retirement is in the public log, with how to check it without this server.
 */
import { originOf, type Inclusion, type InclusionProof } from '../inclusion.ts';
import { grouped } from '../text.ts';
import { Facts } from './facts.tsx';
import { Code } from './shownText.tsx';

export function InPublicLog({ inclusion }: { inclusion: Inclusion }) {
  return (
    <section aria-labelledby="log-title">
      <h2 id="log-title">In the public log</h2>
      {inclusion.outcome === 'PROVED' ? (
        <Proved proof={inclusion.proof} />
      ) : (
        <p>{TEXTS[inclusion.outcome]}</p>
      )}
    </section>
  );
}

const TEXTS = {
  NOT_YET:
    'It is not in the log yet, which is a few seconds behind. Reload this page in a moment; the record of the network does not wait for it.',
  NO_ANSWER:
    'The log could not be read. Reload this page in a moment; the record of the network does not depend on it.',
} as const;

function Proved({ proof }: { proof: InclusionProof }) {
  const { leafIndex, leafCount, rootHash, hashes, checkpoint } = proof;
  return (
    <>
      <p>
        Every retirement is a leaf of a log that can only grow, whose head is signed. The hashes of the proof
        lead from this leaf to the signed root. If the retirement were changed or taken out later, they would
        not any more: keep the JSON file or the PDF, and you can prove that it was here.
      </p>
      <Facts
        facts={[
          ['Log', <Code text={originOf(proof)} />],
          ['Leaf', `${grouped(String(leafIndex))} of ${grouped(String(leafCount))}, from 0`],
          ['Signed root', <Code text={rootHash} />],
        ]}
      />
      <details>
        <summary>The proof, and how to check it without this server</summary>
        <p>
          Get the log’s key once, from a place that you trust (it is at{' '}
          <a href="/logs/retirements/key">/logs/retirements/key</a>), and run the program of this platform’s
          source with the JSON file. It needs Node.js and nothing else, and asks no server:
        </p>
        <pre tabindex={0} aria-label="Command that checks the proof">
          <code>{COMMAND}</code>
        </pre>
        <p class="fine">The hashes from the leaf to the root (RFC 9162, SHA-256)</p>
        <pre tabindex={0} aria-label="Hashes from the leaf to the root">
          <code>{hashes.length === 0 ? 'none: the leaf is the only one' : hashes.join('\n')}</code>
        </pre>
        <p class="fine">The signed head</p>
        <pre tabindex={0} aria-label="Signed head of the log">
          <code>{checkpoint}</code>
        </pre>
      </details>
    </>
  );
}

const COMMAND = 'node examples/verify-retirement/verifyCertificate.mjs certificate.json "$KEY"';
