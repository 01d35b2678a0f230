/**
 * Elements as text. No component of the pages is asynchronous: what a page needs is asked for before it is rendered.
 */
export function rendered(element: unknown): string {
  return String(element);
}
