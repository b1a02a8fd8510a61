// The module that wrangler deploys if this Worker exports the class of the Sandbox SDK 0.12. It also exports the class for the
// runtime `container`, so that a deployment can have both.

export { ContainerProxy, Sandbox } from '@cloudflare/sandbox';

export { SnapshotSandbox } from '../client/src/container/index.ts';
export * from './worker.mjs';
export { default } from './worker.mjs';
