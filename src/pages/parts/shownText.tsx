/**
 * Texts, places, hashes and times as elements.
 */
import { isoOf, MAX_NAME, placeOf, shortened, shown, shownName, timeOf } from '../text.ts';

/** Text that strangers wrote: the direction of its letters does not affect the text around it. */
export function Foreign({ text, max = MAX_NAME }: { text: string; max?: number }) {
  return <bdi class="foreign">{shown(text, max)}</bdi>;
}

/** A beneficiary's name, which may have no visible character. */
export function Name({ name, max = MAX_NAME }: { name: string; max?: number }) {
  return <bdi class="foreign">{shownName(name, max)}</bdi>;
}

/** The place of a project: its location, and its country unless the location names it. */
export function Place({ project }: { project: Parameters<typeof placeOf>[0] }) {
  const { location, country } = placeOf(project);
  return (
    <>
      <Foreign text={location} />
      {country === null ? null : `, ${country}`}
    </>
  );
}

export function Moment({ seconds }: { seconds: number }) {
  return <time datetime={isoOf(seconds)}>{timeOf(seconds)}</time>;
}

/** Hashes and addresses in full, to be copied and compared. */
export function Code({ text }: { text: string }) {
  return <code class="hash">{text}</code>;
}

export function ShortCode({ text }: { text: string }) {
  return (
    <code class="hash" title={text}>
      {shortened(text)}
    </code>
  );
}
