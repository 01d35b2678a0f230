/**
 * The first module of the nodes' thread. Node 20 reads no TypeScript, and a thread has no loader but its own.
 */
import { register } from 'tsx/esm/api';

register();
await import('./nodesThread.ts');
