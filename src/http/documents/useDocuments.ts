/**
 * Finds documents by id for HTTP and SSE, and keeps persisted queries of every transport.
 */
import type { Plugin } from 'graphql-yoga';
import type { TransportContext } from '../graphql/transportContext.ts';
import type { DocumentSource } from './documentSource.ts';
import type { TakeDocument } from './documentTurns.ts';

export function useDocuments(
  source: Pick<DocumentSource, 'keep'>,
  takeDocument: TakeDocument,
): Plugin<object, TransportContext> {
  return {
    async onParams({ params, setParams, context, request }) {
      // The pipeline refuses parameters that are not an object.
      if (typeof params !== 'object' || params === null) return;
      const asked = { ...idInAddress(request), ...params };
      const document = await takeDocument(asked, context.remoteAddress);
      if (document === null) return;
      const { documentId: _documentId, ...others } = params as typeof params & { documentId?: unknown };
      setParams({ ...others, query: document.text });
      context.document = document;
    },
    // Only valid documents are kept, so that invalid ones can't evict documents that clients use.
    onValidate: ({ context }) => {
      const { document } = context as Partial<TransportContext>;
      if (document?.hash === undefined) return undefined;
      const { hash, text } = document;
      return ({ valid }) => {
        if (valid) source.keep(hash, text);
      };
    },
  };
}

/** yoga takes only the parameters that it knows from a URL. */
function idInAddress({ method, url }: Request): { documentId?: string | null } {
  return method === 'GET' ? { documentId: new URL(url).searchParams.get('documentId') } : {};
}
