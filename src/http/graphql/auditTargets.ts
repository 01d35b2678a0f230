/**
 * The targets of audit entries: ids and addresses. Other characters could hide or imitate text where the
 * audit log is read.
 */
const TARGET = /^[\x21-\x7e]{1,128}$/;

export function isSafeTarget(id: string): boolean {
  return TARGET.test(id);
}
