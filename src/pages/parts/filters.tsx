/**
 * The filter of a list, as a form that works without a script.
 */
import { countryName, shown } from '../text.ts';

const LABELS: Readonly<Record<string, string>> = { country: 'Country', vintage: 'Vintage', type: 'Type' };

export function Filters({
  action,
  query,
  choices,
}: {
  action: string;
  query: URLSearchParams;
  choices: Readonly<Record<string, readonly string[]>>;
}) {
  const isSet = Object.keys(choices).some((name) => query.get(name));
  return (
    <form class="filters" action={action} aria-label="Filter the list">
      {Object.entries(choices).map(([name, values]) => (
        <label>
          <span>{LABELS[name] ?? name}</span>
          <select name={name}>
            <option value="">All</option>
            {/* An address that was written by hand may have another value. */}
            {[...new Set([...values, query.get(name) || []].flat())].map((value) => (
              <option value={value} selected={query.get(name) === value}>
                {name === 'country' ? countryName(value) : shown(value, 60)}
              </option>
            ))}
          </select>
        </label>
      ))}
      <button type="submit">Apply</button>
      {isSet ? <a href={action}>Show all</a> : null}
    </form>
  );
}

export interface PlaceFilter {
  countryCodes?: string[];
  vintageYears?: number[];
}

/**
 * The filter as the address has it; the API refuses a wrong country or year. Without it, the list would not
 * match the form's filter.
 */
export function placeFilter(query: URLSearchParams): PlaceFilter {
  const country = query.get('country');
  const vintage = query.get('vintage');
  return {
    ...(country ? { countryCodes: [country] } : {}),
    ...(vintage ? { vintageYears: [Number(vintage)] } : {}),
  };
}
