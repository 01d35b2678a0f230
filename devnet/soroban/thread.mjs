/**
 * The first module of the nodes' thread. Node 20 does not read TypeScript, and a thread has only its own
 * loader.
 */
import { register } from 'tsx/esm/api';

register();
await import('./nodesThread.ts');
