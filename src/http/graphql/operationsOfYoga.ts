/**
 * Has yoga check and run the operations of HTTP and SSE by the rules of all transports: yoga itself reads the
 * requests and writes the answers.
 */
import type { GraphQLParams, Plugin } from 'graphql-yoga';
import { ownText } from '../../lib/ownText.ts';
import type { CheckedDocuments } from '../documents/checkedDocuments.ts';
import type { DocumentParams } from '../documents/documentSource.ts';
import type { TakeDocument } from '../documents/documentTurns.ts';
import type { Operations } from './operations.ts';
import type { TransportContext } from './transportContext.ts';

export function useOperations(options: {
  takeDocument: TakeDocument;
  checked: Pick<CheckedDocuments, 'check'>;
  operations: Pick<Operations, 'execute' | 'subscribe' | 'refuse'>;
}): Plugin<TransportContext, TransportContext> {
  const { takeDocument, checked, operations } = options;
  return {
    async onParams({ params, setParams, context, request }) {
      const document = await takeDocument(
        { ...params, ...textsInAddress(request, params) },
        context.remoteAddress,
      );
      if (document === null) return;
      const { documentId: _documentId, ...others } = params as typeof params & { documentId?: unknown };
      setParams({ ...others, query: document.text });
      context.document = document;
    },
    // Between the two steps, yoga refuses a mutation by GET, and a document without the named operation.
    onParse: ({ context, extendContext, params, setParseFn }) =>
      setParseFn(() => {
        const named = context.document ?? { text: String(params.source) };
        const { document, problems } = checked.check(named, context.remoteAddress);
        extendContext({ problems });
        return document;
      }),
    onValidate({ context: { problems }, setResult }) {
      if (problems === undefined) throw new Error('a document is validated that was not checked');
      setResult([...problems]);
    },
    onExecute: ({ setExecuteFn }) => setExecuteFn(operations.execute),
    onSubscribe: ({ setSubscribeFn }) => setSubscribeFn(operations.subscribe),
    // For requests that did not become an operation. yoga's maskError has mapped their errors, without the
    // request id.
    onResultProcess({ result, serverContext }) {
      if ('errors' in result) operations.refuse(result.errors ?? [], serverContext);
    },
  };
}

/**
 * What yoga does not give of a URL's parameters as it is needed: it drops those that it does not know, and the
 * query would keep the whole URL in memory for as long as a cache keeps the query.
 */
function textsInAddress({ method, url }: Request, { query }: GraphQLParams): DocumentParams {
  if (method !== 'GET') return {};
  const documentId = new URL(url).searchParams.get('documentId');
  return { documentId, query: query === undefined ? query : ownText(query) };
}
