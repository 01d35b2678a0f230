/**
 * Where a project is: its location, and its country unless the location names that.
 */
import { placeOf } from '../text.ts';
import { Foreign } from './shownText.tsx';

export function Place({ project }: { project: { projectLocation: string; countryCode: string } }) {
  const { location, country } = placeOf(project);
  return (
    <>
      <Foreign text={location} />
      {country === null ? null : `, ${country}`}
    </>
  );
}
