/**
 * Values of which the last write holds: a price, a cap, a pledge. Clients write them at the same time and
 * lose answers, so that several values may be the right one.
 */
interface Write {
  value: string | null;
  askedAt: number;
  /** Infinity while it is not known whether, or when, the write took effect. */
  answeredAt: number;
}

export interface Registers {
  names(): readonly string[];
  /** Call it before the write is sent. */
  begin(name: string, value: string | null): { accepted(): void; refused(): void };
  /** Whether the register can have had the value at any time since then. */
  couldBe(name: string, value: string | null, sinceMs: number): boolean;
  /** A restored copy lost the later writes, but not those that were sent again. */
  doubtSince(ms: number): void;
}

/** @param initial values other than null */
export function createRegisters(initial: Readonly<Record<string, string>>): Registers {
  const writes = new Map<string, Write[]>();
  const writesOf = (name: string): Write[] => {
    const all = writes.get(name) ?? [{ value: initial[name] ?? null, askedAt: 0, answeredAt: 0 }];
    writes.set(name, all);
    return all;
  };
  return {
    names: () => [...writes.keys()],
    begin(name, value) {
      const all = writesOf(name);
      const write = { value, askedAt: Date.now(), answeredAt: Infinity };
      all.push(write);
      return {
        accepted: () => void (write.answeredAt = Date.now()),
        refused: () => void all.splice(all.indexOf(write), 1),
      };
    },
    couldBe(name, value, sinceMs) {
      const all = writesOf(name);
      const isOverwritten = ({ answeredAt }: Write) =>
        all.some((later) => later.askedAt > answeredAt && later.answeredAt < sinceMs);
      return all.some((write) => write.value === value && !isOverwritten(write));
    },
    doubtSince(ms) {
      for (const write of [...writes.values()].flat()) {
        if (write.answeredAt >= ms) write.answeredAt = Infinity;
      }
    },
  };
}
