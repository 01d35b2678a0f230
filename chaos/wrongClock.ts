/**
 * Sets this process's clock wrong by CLOCK_AHEAD_MS, as on a machine without a time service; SIGUSR2 makes it
 * jump by as much to the other side. It is imported first, so that no other module has seen the right time.
 */
let aheadMs = Number(process.env['CLOCK_AHEAD_MS'] ?? 0);
const RightDate = Date;
const now = () => RightDate.now() + aheadMs;

// Not a class: objects that Node itself creates, such as a file's times, must stay instances of it.
const WrongDate = new Proxy(RightDate, {
  construct: (target, values, newTarget) =>
    Reflect.construct(target, values.length === 0 ? [now()] : values, newTarget) as Date,
  apply: () => new RightDate(now()).toString(),
  get: (target, name) => (name === 'now' ? now : (Reflect.get(target, name) as unknown)),
});
RightDate.prototype.constructor = WrongDate;
globalThis.Date = WrongDate;

process.on('SIGUSR2', () => {
  aheadMs = -aheadMs;
});
