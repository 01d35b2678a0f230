import { describe, expect, it } from 'vitest';
import { MANUAL_PROVIDER, nameOfHttpProvider, readProviderName } from '../../../src/ramp/providerName.ts';

describe('the stored name of a ramp provider', () => {
  it.each([
    ['https://ramp.example/v1/', 'ramp.example/v1'],
    ['http://localhost:8080', 'localhost:8080'],
  ])('tells that %s is behind HTTP, and where', (url, address) => {
    expect(readProviderName(nameOfHttpProvider(url))).toEqual({ kind: 'HTTP', address });
  });

  it('of the manual one has no address', () => {
    expect(readProviderName(MANUAL_PROVIDER)).toEqual({ kind: 'MANUAL', address: null });
  });
});
